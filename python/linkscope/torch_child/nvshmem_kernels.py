"""Kernels: NVSHMEM's device functions called by thread, warp and block, compiled with the headers of its package."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from linkscope.torch_child import installation
from linkscope.torch_child.faults import ChildError, Fault, unsupported

KINDS = ("put", "get", "put-signal")
"""Numbers of what a kernel `move` does are their places."""
THREADS = 1024
"""Threads of a block."""
_CUBIN, _LIBRARY = 1, 6  # nvJitLinkInputType
_ARCHIVE = "nvshmem/lib/libnvshmem_device.a"
# A group's share is a whole number of 16 bytes. A ping-pong's kernels take turns, and count them in `made`.
_SOURCE = r"""
#include <device/nvshmem_defines.h>
#include <device/nvshmemx_defines.h>
#define SCOPE(scope, groups, group, leader, meet, put, get, put_signal)                                             \
  extern "C" __global__ void __launch_bounds__(1024) move_##scope(                                                  \
      char* to, const char* from, size_t bytes, uint64_t* signals, uint64_t* made, int repeats, int pe, int kind) { \
    const size_t unit = 16 * (size_t)(groups), each = (bytes + unit - 1) / unit * 16, first = each * (group);       \
    if (first >= bytes) return;                                                                                     \
    const size_t count = bytes - first < each ? bytes - first : each;                                               \
    for (int i = 0; i < repeats; ++i) {                                                                             \
      if (kind == 0) put(to + first, from + first, count, pe);                                                      \
      if (kind == 1) get(to + first, from + first, count, pe);                                                      \
      if (kind == 2) put_signal(to + first, from + first, count, signals + (group), 1, NVSHMEM_SIGNAL_SET, pe);     \
      if (leader) nvshmem_quiet();                                                                                \
      meet;                                                                                                         \
      asm volatile("" ::: "memory");                                                                                \
    }                                                                                                               \
  }                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(1024) ping_pong_##scope(                                             \
      char* to, const char* from, size_t bytes, uint64_t* signals, uint64_t* made, int repeats, int pe, int leads) {\
    const uint64_t before = *made;                                                                                  \
    for (int turn = 0; turn < 2 * repeats; ++turn) {                                                                \
      const uint64_t value = before + turn / 2 + 1;                                                                 \
      if (turn % 2 != leads) put_signal(to, from, bytes, signals, value, NVSHMEM_SIGNAL_SET, pe);                   \
      if (turn % 2 == leads && (leader)) nvshmem_signal_wait_until(signals, NVSHMEM_CMP_GE, value);                 \
      meet;                                                                                                         \
    }                                                                                                               \
    if (leader) *made = before + repeats;                                                                           \
  }
#define THREAD (blockIdx.x * blockDim.x + threadIdx.x)
SCOPE(thread, gridDim.x* blockDim.x, THREAD, true, (void)0, nvshmem_putmem, nvshmem_getmem, nvshmem_putmem_signal)
SCOPE(warp, gridDim.x*(blockDim.x / 32), THREAD / 32, threadIdx.x % 32 == 0, __syncwarp(), nvshmemx_putmem_warp,
      nvshmemx_getmem_warp, nvshmemx_putmem_signal_warp)
SCOPE(block, gridDim.x, blockIdx.x, threadIdx.x == 0, __syncthreads(), nvshmemx_putmem_block, nvshmemx_getmem_block,
      nvshmemx_putmem_signal_block)
"""
# HOSTLIB_ONLY: all functions inline and none of InfiniBand's device code, as in libnvshmem_device.bc. Without it those
# of put with signal are looked for under names that libnvshmem_device.a has not: NVRTC's uint64_t is another type.
_OPTIONS = ("-rdc=true", "-std=c++17", "-default-device", "-DNVSHMEM_HOSTLIB_ONLY")


class Kernels:
    """Hold the kernels of one GPU. ``begin``: tells the module where the heaps are. Raises ChildError."""

    def __init__(self, gpu: int, begin: Callable[[Any], int]) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._module = ctypes.c_void_p()
        image = _compiled(*torch.cuda.get_device_capability(gpu))
        _check("cuModuleLoadData", self._driver.cuModuleLoadData(ctypes.byref(self._module), image))
        _check("nvshmemx_cumodule_init", begin(self._module))

    def unload(self, end: Callable[[Any], int]) -> None:
        """``end``: is told that the module goes."""
        end(self._module)
        self._driver.cuModuleUnload(self._module)

    def call(self, name: str, blocks: int, threads: int, arguments: Sequence[Any]) -> Callable[[int], None]:
        """Return what launches a kernel on a stream. ``arguments``: ctypes values, in the kernel's order."""
        function, launch = ctypes.c_void_p(), self._driver.cuLaunchKernel
        found = self._driver.cuModuleGetFunction(ctypes.byref(function), self._module, name.encode())
        _check("cuModuleGetFunction", found)
        places = [ctypes.pointer(value) for value in arguments]  # which keep the values
        told = (ctypes.c_void_p * len(places))(*(ctypes.cast(place, ctypes.c_void_p) for place in places))

        def call(stream: int, kept: Any = places) -> None:
            shape = (blocks, 1, 1, threads, 1, 1, 0)
            _check("cuLaunchKernel", launch(function, *shape, ctypes.c_void_p(stream), told, None))

        return call


@cache
def _compiled(major: int, minor: int) -> bytes:
    """Return the kernels for a compute capability, linked with NVSHMEM's device library. Raises ChildError."""
    folders = [header.parent for header in installation.nvidia_files("*/include/*.h")]
    folders.append(Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include")
    places = [f"-I{place}" for folder in dict.fromkeys(folders) for place in (folder, folder / "cccl")]
    compiler, linker = _tool("libnvrtc"), _tool("libnvJitLink")
    architecture, program, handle = f"-arch=sm_{major}{minor}", ctypes.c_void_p(), ctypes.c_void_p()
    created = compiler.nvrtcCreateProgram(ctypes.byref(program), _SOURCE.encode(), b"nvshmem.cu", 0, None, None)
    _check("nvrtcCreateProgram", created)
    status = compiler.nvrtcCompileProgram(program, *_told(architecture, *_OPTIONS, *places))
    if status:
        error = _error_in(_kept(compiler, "nvrtcGetProgramLog", program)) or f"NVRTC's status is {status}"
        raise unsupported(f"NVSHMEM's device functions want CUDA's headers (CUDA_HOME, nvidia-cuda-cccl): {error}")
    code = _kept(compiler, "nvrtcGetCUBIN", program)
    archive = next(iter(installation.nvidia_files(_ARCHIVE)), None)
    if archive is None:
        raise unsupported(f"NVSHMEM's device functions want nvidia/{_ARCHIVE}, which no package has brought")
    _check("nvJitLinkCreate", linker.nvJitLinkCreate(ctypes.byref(handle), *_told(architecture)))

    def check(what: str, *arguments: Any) -> None:
        status = getattr(linker, what)(handle, *arguments)
        _check(what, status, _error_in(_kept(linker, "nvJitLinkGetErrorLog", handle)) if status else "")

    check("nvJitLinkAddData", _CUBIN, code, ctypes.c_size_t(len(code)), b"kernels")
    check("nvJitLinkAddFile", _LIBRARY, str(archive).encode())
    check("nvJitLinkComplete")
    return _kept(linker, "nvJitLinkGetLinkedCubin", handle)


def _tool(name: str) -> Any:
    """Load a library of PyTorch's own CUDA version. Raises ChildError."""
    found = installation.nvidia_files(f"*/lib/{name}.so.{str(torch.version.cuda).partition('.')[0]}*")
    if not found:
        raise unsupported(f"NVSHMEM's device functions want {name}, which PyTorch's packages have not")
    return ctypes.CDLL(str(found[0]))


def _told(*options: str) -> tuple[int, Any]:
    return len(options), (ctypes.c_char_p * len(options))(*(option.encode() for option in options))


def _kept(library: Any, name: str, handle: Any) -> bytes:
    """Return what the library keeps; a function of the same name tells its size."""
    size = ctypes.c_size_t()
    getattr(library, f"{name}Size")(handle, ctypes.byref(size))
    kept = ctypes.create_string_buffer(size.value)
    getattr(library, name)(handle, kept)
    return kept.raw


def _error_in(log: bytes) -> str:
    """Return its first line that tells of an error; "" where none does."""
    lines = log.rstrip(b"\0").decode(errors="replace").splitlines()
    return next((line for line in lines if "error" in line.lower()), "")


def _check(what: str, status: int, why: str = "") -> None:
    """Raise ChildError for a status other than 0."""
    if status:
        raise ChildError(Fault.BROKEN, f"{what} failed with {status}" + (f": {why}" if why else ""))
