"""A CUDA compiler for this machine: the toolkit's nvcc, or the one from PyPI where there is only a driver."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

from environment import Environment
from shell import SetupError, capture, find_program, say

# nvcc knows C++20 from 12.0 on. PyPI has the whole compiler (not only ptxas) from 13.0 on.
OLDEST_TOOLKIT = (12, 0)
OLDEST_ON_PYPI = (13, 0)
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76
"""As cuda.h numbers the attributes."""
PYPI_PACKAGES = ("nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime", "nvidia-cuda-cccl")


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA version the NVIDIA driver supports; None without a driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(number)) == 0:
            return number.value // 1000, number.value % 1000 // 10
    except (OSError, AttributeError):
        pass
    return None


def architectures() -> list[str]:
    """The GPUs found here, as CMake names them ("90"), each once: by nvidia-smi, else by the driver itself."""
    asked = capture(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"])
    if asked.returncode == 0:
        found = re.findall(r"^(\d+)\.(\d+)$", asked.stdout, re.MULTILINE)
    else:
        found = driver_capabilities()
    return sorted({f"{major}{minor}" for major, minor in found}, key=int)


def driver_capabilities() -> list[tuple[int, int]]:
    """The compute capability of each GPU, by the driver; none without one."""
    count, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
            return []
        found = []
        for device in range(count.value):
            for value, attribute in ((major, COMPUTE_CAPABILITY_MAJOR), (minor, COMPUTE_CAPABILITY_MINOR)):
                driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            found.append((major.value, minor.value))
        return found
    except (OSError, AttributeError):
        return []


def toolkit_nvcc() -> Path | None:
    """nvcc of an installed toolkit that is new enough: on PATH, in CUDA_HOME or in /usr/local/cuda."""
    homes = [Path(home) for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]
    candidates = [find_program("nvcc"), *(home / "bin" / "nvcc" for home in homes)]
    return next((nvcc for nvcc in candidates if nvcc and nvcc_version(nvcc) >= OLDEST_TOOLKIT), None)


def nvcc_version(nvcc: Path) -> tuple[int, int]:
    """(0, 0) for anything that is no nvcc."""
    match = re.search(r"release (\d+)\.(\d+)", capture([str(nvcc), "--version"]).stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def pypi_nvcc(environment: Environment) -> Path:
    """nvcc from PyPI in the virtual environment, of the version the driver supports. Raises SetupError."""
    version = driver_version() or OLDEST_ON_PYPI
    if version < OLDEST_ON_PYPI:
        raise SetupError(
            f"this driver supports CUDA {version[0]}.{version[1]} and PyPI's compiler starts at 13.0: "
            "install a driver from 580 on, or CUDA toolkit 12, then run this again"
        )
    home = environment.site_packages / "nvidia" / f"cu{version[0]}"
    nvcc = home / "bin" / "nvcc"
    if nvcc_version(nvcc) == (0, 0):
        say("no nvcc here: installing the CUDA compiler from PyPI into .venv (about 270 MB)")
        install_from_pypi(environment, version)
    complete(home)
    return nvcc


def install_from_pypi(environment: Environment, version: tuple[int, int]) -> None:
    """The compiler packages of `version`, or the newest minor version before it that PyPI has them of."""
    for minor in range(version[1], -1, -1):
        try:
            environment.pip("install", *(f"{name}=={version[0]}.{minor}.*" for name in PYPI_PACKAGES))
            return
        except SetupError as failure:
            reason = failure
    raise reason


def complete(home: Path) -> None:
    """Adds the two names that nvcc and CMake look for and the packages leave out."""
    lib64 = home / "lib64"
    if not lib64.exists():
        lib64.symlink_to("lib")
    for runtime in (home / "lib").glob("libcudart.so.*"):
        unversioned = home / "lib" / "libcudart.so"
        if not unversioned.exists():
            unversioned.symlink_to(runtime.name)


def cmake_flags(nvcc: Path, asked: str) -> list[str]:
    """What CMake must be told to use this compiler and nothing else of another toolkit; of the architectures, those
    asked, else those found here, else nothing: CMakeLists.txt names some.
    """
    names = asked or ";".join(f"{name}-real" for name in architectures())
    return [
        f"-DCMAKE_CUDA_COMPILER={nvcc}",
        f"-DCUDAToolkit_ROOT={nvcc.parent.parent}",
        *([f"-DCMAKE_CUDA_ARCHITECTURES={names}"] if names else []),
    ]
