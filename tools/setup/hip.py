"""A HIP compiler for this machine, and the AMD GPUs that it would compile for."""

from __future__ import annotations

import re
from pathlib import Path

from shell import SetupError, find_program

NODES = Path("/sys/class/kfd/kfd/topology/nodes")
"""Where the kernel's driver lists CPUs and GPUs."""


def hipcc() -> Path | None:
    """The compiler, on PATH or where ROCm has it."""
    return find_program("hipcc", Path("/opt/rocm/bin"))


def architectures(nodes: Path = NODES) -> list[str]:
    """The GPUs found here, as hipcc names them ("gfx90a"), each once."""
    found = set()
    for properties in nodes.glob("*/properties"):
        version = re.search(r"^gfx_target_version (\d+)$", properties.read_text(), re.MULTILINE)
        number = int(version[1]) if version else 0  # 0: a CPU
        if number:
            found.add(f"gfx{number // 10000}{number // 100 % 100:x}{number % 100:x}")
    return sorted(found)


def cmake_flags(asked: str) -> list[str]:
    """What CMake must be told of the architectures: those asked, else those found here. Raises SetupError."""
    if not hipcc():
        raise SetupError("no hipcc here: apt-get install hipcc libamdhip64-dev, or ROCm")
    names = asked or ";".join(architectures())
    return [f"-DCMAKE_HIP_ARCHITECTURES={names}"] if names else []
