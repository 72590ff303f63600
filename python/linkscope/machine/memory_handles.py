"""Memory handles: which memory of a GPU another process can map, by which handle, tried on this machine.

A program of its own, as a driver may crash or hang the process that calls it:
`python -m linkscope.machine.memory_handles cuda|hip [NCCL...]` prints one JSON line for each memory and handle. It
starts a second process, which opens every handle and looks for the word that the first one wrote. `NCCL...`: files of
NCCL or RCCL, of which the first that can be loaded allocates the memory `xccl`. Layouts and numbers are those of cuda.h
and hip_runtime_api.h, which agree in all that is used here.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from ctypes import CDLL, Structure, addressof, byref, c_char, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from typing import Any, NamedTuple

BYTES = 2 << 20
WORD = 0x5EED1E55
IPC, POSIX_FD, FABRIC, DMA_BUF = "ipc", "posix-fd", "fabric", "dma-buf"
INTERFACES = (IPC, POSIX_FD, FABRIC, DMA_BUF)
_TYPES = {POSIX_FD: 1, FABRIC: 8}
"""CUmemAllocationHandleType."""
_LIBRARIES = {"cuda": ("libcuda.so.1",), "hip": ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")}
_NAMES = {
    "MemAlloc": ("cuMemAlloc_v2", "hipMalloc"),
    "MallocManaged": ("cuMemAllocManaged", "hipMallocManaged"),
    "HostMalloc": ("cuMemHostAlloc", "hipHostMalloc"),
    "HostRegister": ("cuMemHostRegister_v2", "hipHostRegister"),
    "MallocFromPoolAsync": ("cuMemAllocFromPoolAsync", "hipMallocFromPoolAsync"),
    "MemcpyDtoH": ("cuMemcpyDtoH_v2", "hipMemcpyDtoH"),
    "MemsetD32": ("cuMemsetD32_v2", "hipMemsetD32"),
    "IpcOpenMemHandle": ("cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle"),
    "GetDeviceCount": ("cuDeviceGetCount", "hipGetDeviceCount"),
    "Synchronize": ("cuCtxSynchronize", "hipDeviceSynchronize"),
}
"""Functions whose names differ by more than their prefix."""
_PORTABLE_MAPPED = 3


class RefusedError(Exception):
    """The driver refused; the text has its own words: "invalid value"."""


class Opaque(Structure):
    """A handle of 64 bytes that only the driver reads."""

    _fields_ = (("bytes", c_char * 64),)


def _properties(interface: str) -> Any:
    """Return CUmemAllocationProp and CUmemPoolProps: pinned memory of the first GPU for an interface's handles."""
    return byref((c_int * 40)(1, _TYPES.get(interface, 0), 1, 0))


def _access(device: int) -> Any:
    """Return CUmemAccessDesc: a device may read and write."""
    return byref((c_int * 3)(1, device, 3))


class Driver:
    """A vendor's driver. Raises OSError where its library is not there, RefusedError where it has no device."""

    def __init__(self, vendor: str, library: Any = None) -> None:
        self._is_hip = vendor == "hip"
        self._library = library if library is not None else _loaded(_LIBRARIES[vendor])
        self.call("Init", 0)
        count = c_int()
        self.call("GetDeviceCount", byref(count))
        self.devices = count.value

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function by both vendors' name; whole numbers are passed in 64 bits. Raises RefusedError."""
        symbol = _NAMES.get(name, (f"cu{name}", f"hip{name}"))[self._is_hip]
        function = getattr(self._library, symbol, None)
        if function is None:
            raise RefusedError("not in this driver")
        code = function(*(c_uint64(one) if isinstance(one, int) else one for one in arguments))
        if code:
            raise RefusedError(self._words(code))

    def use(self, device: int) -> None:
        """Let the calls that follow be on a device. Raises RefusedError."""
        if self._is_hip:
            self.call("SetDevice", device)
        else:
            context = c_void_p()
            self.call("DevicePrimaryCtxRetain", byref(context), device)
            self.call("CtxSetCurrent", context)

    def _words(self, code: int) -> str:
        name = c_char_p()
        if self._is_hip:
            self._library.hipGetErrorName.restype = c_char_p
            name.value = self._library.hipGetErrorName(code)
        else:
            self._library.cuGetErrorName(code, byref(name))
        words = re.sub("^(CUDA_ERROR_|hipError)", "", (name.value or b"").decode(errors="replace"))
        return re.sub("_|(?<=[a-z])(?=[A-Z])", " ", words).lower() or f"error {code}"


def _loaded(names: Sequence[str]) -> CDLL:
    for name in names[:-1]:
        with suppress(OSError):
            return CDLL(name)
    return CDLL(names[-1])


class Memory(NamedTuple):
    """Memory of the first GPU, or of the host for it. ``pool``, ``handle``: what it is a part of, where it is."""

    address: c_void_p
    pool: c_void_p | None = None
    handle: c_void_p | None = None


Make = Callable[[Driver, str], Memory]
"""Allocates memory that an interface is to export. Raises RefusedError."""


def _by(function: str, *flags: int) -> Make:
    def make(driver: Driver, interface: str) -> Memory:
        memory = Memory(c_void_p())
        driver.call(function, byref(memory.address), BYTES, *flags)
        return memory

    return make


def _registered(driver: Driver, interface: str) -> Memory:
    pages = mmap.mmap(-1, BYTES)
    _KEPT.append(pages)
    memory = Memory(c_void_p(addressof(c_char.from_buffer(pages))))
    driver.call("HostRegister", memory.address, BYTES, _PORTABLE_MAPPED)
    return memory


def _pool(driver: Driver, interface: str) -> Memory:
    address, pool = c_void_p(), c_void_p()
    driver.call("MemPoolCreate", byref(pool), _properties(interface))
    driver.call("MallocFromPoolAsync", byref(address), BYTES, pool, None)
    return Memory(address, pool)


def _vmm(driver: Driver, interface: str) -> Memory:
    handle = c_void_p()
    driver.call("MemCreate", byref(handle), BYTES, _properties(interface), 0)
    return Memory(_mapped(driver, handle, 0), handle=handle)


def _xccl(files: Sequence[str]) -> Make:
    def make(driver: Driver, interface: str) -> Memory:
        memory = Memory(c_void_p())
        try:
            code = _loaded(files).ncclMemAlloc(byref(memory.address), c_uint64(BYTES))
        except (OSError, AttributeError):
            raise RefusedError("no ncclMemAlloc") from None
        if code:
            raise RefusedError(f"nccl error {code}")
        return memory

    return make


_KEPT: list[mmap.mmap] = []
MEMORIES: dict[str, Make] = {
    "device": _by("MemAlloc"),
    "pool": _pool,
    "managed": _by("MallocManaged", 1),
    "vmm": _vmm,
    "pinned": _by("HostMalloc", _PORTABLE_MAPPED),
    "registered": _registered,
}


def _mapped(driver: Driver, handle: c_void_p, device: int) -> c_void_p:
    address = c_void_p()
    driver.call("MemAddressReserve", byref(address), BYTES, 0, None, 0)
    driver.call("MemMap", address, BYTES, 0, handle, 0)
    driver.call("MemSetAccess", address, BYTES, _access(device), 1)
    return address


def export(driver: Driver, memory: Memory, interface: str) -> tuple[bytes, int | None]:
    """Return a handle as bytes, with the descriptor that goes with it. Raises RefusedError."""
    opaque, number, pointer = Opaque(), c_int(-1), Opaque()
    if interface == IPC:
        driver.call("IpcGetMemHandle", byref(opaque), memory.address)
    elif interface == DMA_BUF:
        driver.call("MemGetHandleForAddressRange", byref(number), memory.address, BYTES, 1, 0)
    else:
        target, kind = byref(number if interface == POSIX_FD else opaque), _TYPES[interface]
        if memory.pool is not None:
            driver.call("MemPoolExportToShareableHandle", target, memory.pool, kind, 0)
            driver.call("MemPoolExportPointer", byref(pointer), memory.address)
        else:
            handle = memory.handle or c_void_p()
            if memory.handle is None:
                driver.call("MemRetainAllocationHandle", byref(handle), memory.address)
            driver.call("MemExportToShareableHandle", target, handle, kind, 0)
    return bytes(opaque) + bytes(pointer), number.value if number.value >= 0 else None


def open_handle(driver: Driver, asked: dict[str, Any], number: int | None) -> None:
    """Map a handle of another process on a device, and read the word. Raises RefusedError."""
    driver.use(asked["device"])
    shared, address, made = bytes.fromhex(asked["shared"]), c_void_p(), c_void_p()
    opaque, pointer = Opaque.from_buffer_copy(shared), Opaque.from_buffer_copy(shared, 64)
    given: Any = byref(opaque) if number is None else c_void_p(number)
    if asked["interface"] == IPC:
        driver.call("IpcOpenMemHandle", byref(address), opaque, 1)
    elif asked["of_pool"]:
        driver.call("MemPoolImportFromShareableHandle", byref(made), given, _TYPES[asked["interface"]], 0)
        driver.call("MemPoolSetAccess", made, _access(asked["device"]), 1)
        driver.call("MemPoolImportPointer", byref(address), made, byref(pointer))
    else:
        driver.call("MemImportFromShareableHandle", byref(made), given, _TYPES[asked["interface"]])
        address = _mapped(driver, made, asked["device"])
    found = c_uint32()
    driver.call("MemcpyDtoH", byref(found), address, 4)
    if found.value != WORD:
        raise RefusedError("wrong data")


def tried(driver: Driver, make: Make, interface: str, ask: Callable[[dict[str, Any], int | None], str]) -> Any:
    """Return what became of a memory and an interface: ``exported`` and ``opened``, each "" or the driver's words, and
    the ``gpu`` that opened it: the last one, else the first. ``ask`` has the other process open a handle."""
    try:
        memory = make(driver, interface)
        driver.call("MemsetD32", memory.address, WORD, BYTES // 4)
        driver.call("Synchronize")
    except RefusedError as refusal:
        return {"allocated": str(refusal)}
    try:
        shared, number = export(driver, memory, interface)
    except RefusedError as refusal:
        return {"exported": str(refusal)}
    if interface == DMA_BUF:  # what it is for is another device's driver
        return {"exported": ""}
    asked = {"interface": interface, "of_pool": memory.pool is not None, "shared": shared.hex()}
    words = ""
    for device in dict.fromkeys((driver.devices - 1, 0)):
        words = ask({**asked, "device": device}, number)
        if not words:
            return {"exported": "", "opened": "", "gpu": device}
    return {"exported": "", "opened": words}


def answer(vendor: str, line: socket.socket) -> None:
    """Open what comes over ``line`` until it ends; answer with an empty line, or with the driver's words."""
    driver: Driver | None = None
    while (received := socket.recv_fds(line, 4096, 1))[0]:
        try:
            driver = driver or Driver(vendor)
            open_handle(driver, json.loads(received[0]), received[1][0] if received[1] else None)
            line.send(b"\n")
        except RefusedError as refusal:
            line.send(f"{refusal}\n".encode())


def main(vendor: str, nccl: Sequence[str]) -> int:
    """Try everything; the exit code is 1 where there is no driver or no GPU."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        ours.close()
        answer(vendor, theirs)
        os._exit(0)
    theirs.close()

    def ask(asked: dict[str, Any], number: int | None) -> str:
        try:
            socket.send_fds(ours, [json.dumps(asked).encode()], [] if number is None else [number])
            answered = ours.recv(4096)
        except OSError:
            answered = b""
        return answered.decode(errors="replace").strip() if answered else "the other process ended"

    try:
        driver = Driver(vendor)
        driver.use(0)
    except (OSError, RefusedError) as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for name, make in {**MEMORIES, **({"xccl": _xccl(nccl)} if nccl else {})}.items():
        for interface in INTERFACES:
            found = {"memory": name, "interface": interface, **tried(driver, make, interface, ask)}
            sys.stdout.write(f"{json.dumps(found)}\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
