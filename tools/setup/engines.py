"""The engines: which of them this machine can use, configured by CMake and compiled by Ninja."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import cuda
import hip
from environment import Environment
from shell import SetupError, capture, logged, say

NAMES = ("host", "cuda", "hip")
STAMP = "configured"
"""File of the last command line of CMake, a word a line."""
_MPICC = "-DLINKSCOPE_MPICC="
MPI_ADAPTER = "liblinkscope-mpi-site.so"
"""Of an MPI without the standard ABI."""


@dataclass(frozen=True)
class Wish:
    """What to build and where. ``engines`` empty: whatever this machine can use. ``mpicc``: of the MPI whose adapter is
    built; None: of none. ``until``: "configured" compiles nothing: the commands are wanted.
    """

    folder: Path
    engines: tuple[str, ...] = ()
    cuda_architectures: str = ""
    hip_architectures: str = ""
    unit_tests: str = "OFF"
    until: str = "compiled"
    build_type: str = "Release"
    mpicc: Path | None = None


def build(root: Path, environment: Environment, wish: Wish) -> list[str]:
    """Builds the engines of `wish` and returns their names.

    A GPU engine that was tried because this machine seems able to is no failure of the whole: one line says why
    it is missing and the host engine measures without it.
    """
    if wish.engines:
        flags = {name: gpu_flags(name, environment, wish) for name in wish.engines}
        compile_engines(root, environment, wish, flags)
        return list(flags)
    flags = {"host": []}
    for name in detected():
        try:
            flags[name] = gpu_flags(name, environment, wish)
            compile_engines(root, environment, wish, flags)
        except SetupError as failure:
            flags.pop(name, None)
            say(f"no {name} engine: {failure}")
    compile_engines(root, environment, wish, flags)
    return list(flags)


def gpus(folder: Path, names: list[str]) -> list[str]:
    """The GPUs that the engines built in `folder` can use."""
    found = []
    for name in names:
        answer = capture([str(folder / f"linkscope-engine-{name}"), "describe"])
        if answer.returncode == 0:
            found += [device["id"] for device in json.loads(answer.stdout)["devices"]]
    return [device for device in found if device.startswith("gpu:")]


def configured_mpicc(folder: Path) -> Path | None:
    """Of the adapter that ``folder`` was configured for; None where it was for none."""
    stamp = folder / STAMP
    words = stamp.read_text().splitlines() if stamp.exists() else []
    return next((Path(word.removeprefix(_MPICC)) for word in words if word.startswith(_MPICC)), None)


def detected() -> list[str]:
    """The GPU engines this machine can use: those of the GPUs found here. A compiler alone is no reason for one."""
    return [name for name, found in (("cuda", cuda.architectures()), ("hip", hip.architectures())) if found]


def gpu_flags(name: str, environment: Environment, wish: Wish) -> list[str]:
    """What CMake must be told of a GPU engine's compiler. Raises SetupError where there is none."""
    if name == "cuda":
        return [*cuda.cmake_flags(cuda.compiler(environment)), *cuda.architecture_flags(wish.cuda_architectures)]
    return hip.cmake_flags(wish.hip_architectures) if name == "hip" else []


def compile_engines(root: Path, environment: Environment, wish: Wish, flags: dict[str, list[str]]) -> None:
    """Runs CMake where its command line changed, and Ninja, which knows what is old."""
    wish.folder.mkdir(parents=True, exist_ok=True)
    log = wish.folder / "setup.log"
    stamp = wish.folder / STAMP
    variables = {**os.environ, "PATH": f"{environment.bin}{os.pathsep}{os.environ.get('PATH', '')}"}
    configure = ["cmake", "-S", str(root), "-B", str(wish.folder), "-G", "Ninja"]
    configure += [f"-DCMAKE_BUILD_TYPE={wish.build_type}"]
    configure += [f"-DCMAKE_UNITY_BUILD={'ON' if wish.until == 'compiled' else 'OFF'}"]
    configure += [f"-DCMAKE_PREFIX_PATH={environment.site_packages}", f"-DBUILD_TESTING={wish.unit_tests}"]
    configure += [f"-DLINKSCOPE_{name.upper()}={'ON' if name in flags else 'OFF'}" for name in NAMES]
    configure += [f"{_MPICC}{wish.mpicc}", "-DLINKSCOPE_MPI=ON"] if wish.mpicc else ["-DLINKSCOPE_MPI=OFF"]
    configure += [flag for name in flags for flag in flags[name]]
    names = " and ".join(flags)
    engines = f"the {names} engine{'s' if len(flags) > 1 else ''}"
    if not stamp.exists() or stamp.read_text() != "\n".join(configure):
        (wish.folder / MPI_ADAPTER).unlink(missing_ok=True)
        if wish.mpicc:
            say(f"the adapter of the site's MPI is compiled by {wish.mpicc}")
        logged(configure, variables, log, f"configuring {engines}")
        stamp.write_text("\n".join(configure))
    if wish.until == "compiled":
        logged(["ninja", "-C", str(wish.folder)], variables, log, f"compiling {engines}")
