"""A CUDA compiler for this machine: a toolkit's nvcc that its driver can use, or else the one from PyPI."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

from environment import Environment
from shell import SetupError, capture, find_program, say

# nvcc knows C++20 from 12.0 on. PyPI has the whole compiler from 13.0 on: of 12 it has ptxas and libnvvm, and no nvcc.
OLDEST_TOOLKIT = (12, 0)
OLDEST_ON_PYPI = (13, 0)
INSTALLED = (Path("/usr/local"), Path("/opt"))
"""Where toolkits lie side by side, each in a folder cuda or cuda-VERSION."""
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


def toolkit_nvcc(newest: tuple[int, int] | None = None) -> Path | None:
    """nvcc of an installed toolkit that is new enough: in CUDA_HOME, on PATH, or in a usual place, the newest first.

    ``newest``: the CUDA version of the driver that must run what it compiles. A driver runs programs of every minor
    version of its major version, and of older ones.
    """
    return next((nvcc for nvcc in installed_nvccs() if not newest or nvcc_version(nvcc)[0] <= newest[0]), None)


def installed_nvccs() -> list[Path]:
    """All that are new enough for this source, the one to take first."""
    home, on_path = os.environ.get("CUDA_HOME"), find_program("nvcc")
    named = [Path(home) / "bin" / "nvcc"] if home else []
    named += [on_path] if on_path else []
    usual = [nvcc for folder in INSTALLED for nvcc in folder.glob("cuda*/bin/nvcc")]
    usual.sort(key=nvcc_version, reverse=True)
    return [nvcc for nvcc in [*named, *usual] if nvcc_version(nvcc) >= OLDEST_TOOLKIT]


def compiler(environment: Environment) -> Path:
    """nvcc for the driver found here: a toolkit's, else PyPI's. Raises SetupError that says what to install."""
    driver = driver_version()
    nvcc = toolkit_nvcc(driver)
    if nvcc:
        return nvcc
    if not driver or driver >= OLDEST_ON_PYPI:
        return pypi_nvcc(environment, driver or OLDEST_ON_PYPI)
    if driver < OLDEST_TOOLKIT:
        raise SetupError(
            f"this driver supports CUDA {driver[0]}.{driver[1]} and linkscope needs 12.0: install a driver from 525 on"
        )
    too_new = [f"{nvcc} is of CUDA {nvcc_version(nvcc)[0]}, and " for nvcc in installed_nvccs()[:1]]
    raise SetupError(
        f"{''.join(too_new)}this driver supports CUDA {driver[0]}.{driver[1]}: load or install CUDA toolkit 12 "
        "(any 12.x) and set CUDA_HOME to it, or install a driver from 580 on (docs/install.md)"
    )


def nvcc_version(nvcc: Path) -> tuple[int, int]:
    """(0, 0) for anything that is no nvcc."""
    match = re.search(r"release (\d+)\.(\d+)", capture([str(nvcc), "--version"]).stdout)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def pypi_nvcc(environment: Environment, version: tuple[int, int]) -> Path:
    """nvcc from PyPI in the virtual environment, of that version or the one before. Raises SetupError."""
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


def cmake_flags(nvcc: Path) -> list[str]:
    """What CMake must be told to use this compiler and nothing else of another toolkit."""
    return [f"-DCMAKE_CUDA_COMPILER={nvcc}", f"-DCUDAToolkit_ROOT={nvcc.parent.parent}"]


def architecture_flags(asked: str) -> list[str]:
    """The architectures asked, else those found here, else nothing: CudaEngine.cmake names some."""
    names = asked or ";".join(f"{name}-real" for name in architectures())
    return [f"-DCMAKE_CUDA_ARCHITECTURES={names}"] if names else []
