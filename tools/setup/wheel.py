"""The wheel: the engines asked, else all that there is a compiler for, for any machine with glibc 2.28 or later."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import cuda
import hip
import mpi
from engines import NAMES, Wish
from environment import Environment
from shell import SetupError, isolated, logged, say

TOOLS = ("scikit-build-core>=0.10", "nlohmann-json>=3.11", "ziglang", "wheel")
"""zig brings the stubs of each glibc, and a linker for them (engine/cmake/Portable.cmake)."""
PLATFORM = f"manylinux_2_28_{platform.machine()}"


def build(root: Path, environment: Environment, folder: Path, wish: Wish) -> Path:
    """Compiles the engines, and returns the wheel in ``folder``. Raises SetupError."""
    environment.ensure("")  # completion and the manual page are made by the command line itself
    environment.pip("install", "--prefer-binary", *TOOLS)
    compilers = {"cuda": cuda.toolkit_nvcc(), "hip": hip.hipcc()}
    names = wish.engines or ("host", *(name for name, compiler in compilers.items() if compiler))
    flags = ["-DCMAKE_UNITY_BUILD=ON", f"-DLINKSCOPE_ZIG={environment.site_packages / 'ziglang' / 'zig'}"]
    flags += [f"-DCMAKE_PREFIX_PATH={environment.site_packages}"]
    flags += [f"-DLINKSCOPE_{name.upper()}={'ON' if name in names else 'OFF'}" for name in NAMES]
    mpicc = mpi.site_compiler(environment)
    flags += [f"-DLINKSCOPE_MPICC={mpicc}"] if mpicc else []
    if "cuda" in names and compilers["cuda"]:
        flags += cuda.cmake_flags(compilers["cuda"])
    flags += [f"-DCMAKE_CUDA_ARCHITECTURES={wish.cuda_architectures}"] if wish.cuda_architectures else []
    flags += [f"-DCMAKE_HIP_ARCHITECTURES={wish.hip_architectures}"] if wish.hip_architectures else []
    variables = {
        **os.environ,
        "PATH": f"{environment.bin}{os.pathsep}{os.environ.get('PATH', '')}",
        "CMAKE_ARGS": " ".join(flags),
        "ZIG_GLOBAL_CACHE_DIR": str(root / "build" / "zig"),
        "ZIG_LOCAL_CACHE_DIR": str(root / "build" / "zig"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("linkscope-*.whl"):
        old.unlink()
    log = folder / "wheel.log"
    pip = [*isolated(environment.python), "-m", "pip", "--disable-pip-version-check", "--verbose", "wheel"]
    pip += ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(root)]
    logged(pip, variables, log, f"compiling the wheel's engines: {', '.join(names)}")
    made = single(folder)
    tags = ["tags", "--remove", "--python-tag", "py3", "--abi-tag", "none", "--platform-tag", PLATFORM, str(made)]
    logged([*isolated(environment.python), "-m", "wheel", *tags], variables, log, "naming the wheel's platform")
    wheel = single(folder)
    say(f"{wheel}: {', '.join(names)}; pip install it where it shall run")
    return wheel


def single(folder: Path) -> Path:
    """The wheel there."""
    found = list(folder.glob("linkscope-*.whl"))
    if len(found) != 1:
        raise SetupError(f"{len(found)} wheels in {folder} where one was made")
    return found[0]
