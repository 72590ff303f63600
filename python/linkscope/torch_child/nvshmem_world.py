"""World: the processes that share a symmetric heap of NVIDIA's NVSHMEM, which the library's Python package brings.

Calls and structures: nvshmem.h and nvshmemx.h of NVSHMEM 3.4. Multicast is left as NVSHMEM_DISABLE_NVLS says.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist

from linkscope.torch_child import installation
from linkscope.torch_child.faults import ChildError, Fault
from linkscope.torch_child.flow import Flow, Site
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.nvshmem_kernels import Kernels

Tensor = Any
Json = dict[str, Any]

_WITH_UNIQUE_ID = 1 << 3
_INITIALIZED = 2  # or more
_ID_BYTES, _ATTRIBUTE_BYTES = 128, 144
_VERSIONED = ((0, _ATTRIBUTE_BYTES), (16, 128), (24, 24))
"""Places and sizes of nvshmemx_init_attr_t and of the structures in it that begin with a version."""
_ALIGNMENT = 256
_TYPES = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "i": ctypes.c_int, "u": ctypes.c_uint64}


class World:
    """One at a time: for other ranks or other GPUs the processes leave it and join anew.

    ``pieces``: this process's part of the heap, uint8 tensors of at least the sizes that join() was given.
    """

    def __init__(self, communicators: Groups) -> None:
        self._groups = communicators
        self._key: Any = None
        self._gpu: int | None = None
        self._heap = 0
        self._kernels: Kernels | None = None
        self.pieces: list[Tensor] = []

    def join(self, flow: Flow, sizes: Sequence[int], exports: Sequence[Json], site: Site) -> None:
        """Make the flow's processes the world, ranks ascending. All processes of the run call it. Raises ChildError."""
        self._groups.join(flow.ranks, "gloo", exports, site)
        gpus = {end.rank: end.device.index for end in flow.ends}
        key = (flow.ranks, sorted(gpus.items()))
        if key != self._key:
            self.leave()
            if site.rank in gpus:
                self._begin(flow.ranks, site.rank, gpus[site.rank])
            self._key = key
        if self._gpu is not None:
            self._lay_out(sizes)

    def leave(self) -> None:
        """End it; all of its processes do so together."""
        self._key, self.pieces = None, []
        if self._gpu is None:
            return
        torch.cuda.set_device(self._gpu)
        torch.cuda.synchronize(self._gpu)
        if self._kernels:
            self._kernels.unload(self.bind("nvshmemx_cumodule_finalize", "p"))
            self._kernels = None
        self._free()
        self._gpu = None
        _library().nvshmemx_hostlib_finalize()

    def bind(self, name: str, types: str, gives: Any = ctypes.c_int) -> Callable[..., Any]:
        """Return the library's function; ``types`` of its arguments: p void*, z size_t, i int, u uint64_t."""
        function = getattr(_library(), name)
        function.argtypes, function.restype = [_TYPES[letter] for letter in types], gives
        return function  # type: ignore[no-any-return]

    def kernels(self) -> Kernels:
        """Return the kernels that call its device functions on this process's GPU. Raises ChildError."""
        if self._kernels is None:
            assert self._gpu is not None
            self._kernels = Kernels(self._gpu, self.bind("nvshmemx_cumodule_init", "p"))
        return self._kernels

    def stream(self) -> int:
        """Return the handle of the stream that calls go to: of a capture its own."""
        return int(torch.cuda.current_stream(self._gpu).cuda_stream)

    def meet(self) -> None:
        """Enqueue a barrier of the world."""
        self.bind("nvshmemx_barrier_all_on_stream", "p")(self.stream())

    def settle(self) -> None:
        """Wait until that stream is done."""
        torch.cuda.current_stream(self._gpu).synchronize()

    def gather(self) -> None:
        """Return when all processes of the world have called it and their GPUs are there."""
        self.meet()
        self.settle()

    def remarks(self) -> list[str]:
        """For rows: the version, and whether the other heaps are mapped."""
        numbers = [ctypes.c_int() for _ in range(3)]
        _library().nvshmemx_vendor_get_version_info(*map(ctypes.byref, numbers))
        version = "by NVSHMEM " + ".".join(str(number.value) for number in numbers)
        mapped = self.bind("nvshmem_ptr", "pi", ctypes.c_void_p)
        near = all(mapped(self._heap, place) for place in range(len(self._key[0])))
        return [version, *([] if near else ["no peer access: through NVSHMEM's transport"])]

    def _begin(self, ranks: tuple[int, ...], rank: int, gpu: int) -> None:
        torch.cuda.set_device(gpu)
        torch.cuda.synchronize(gpu)  # NVSHMEM takes the context that is current
        library = _library()
        unique = ctypes.create_string_buffer(struct.pack("i", _version(_ID_BYTES)), _ID_BYTES)
        status = library.nvshmemx_get_uniqueid(unique) if rank == ranks[0] else 0
        told = torch.tensor([int(status != 0), *unique.raw], dtype=torch.uint8)
        dist.broadcast(told, ranks[0], self._groups.of(ranks, "gloo"))
        failed, *identifier = told.tolist()
        if failed:  # in all processes: those that went on would wait for the first
            raise _not_started(gpu)
        unique.raw = bytes(identifier)
        attributes = ctypes.create_string_buffer(_ATTRIBUTE_BYTES)
        for place, size in _VERSIONED:
            struct.pack_into("i", attributes, place, _version(size))
        status = library.nvshmemx_set_attr_uniqueid_args(ranks.index(rank), len(ranks), unique, attributes)
        status |= library.nvshmemx_hostlib_init_attr(_WITH_UNIQUE_ID, attributes)
        if status or library.nvshmemx_init_status() < _INITIALIZED:
            raise _not_started(gpu)
        self._gpu = gpu

    def _lay_out(self, sizes: Sequence[int]) -> None:
        """Processes have the same sizes, and take and give back memory together."""
        torch.cuda.set_device(self._gpu)
        self._free()
        places = [0]
        for size in sizes:
            places.append(places[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
        self._heap = self.bind("nvshmem_malloc", "z", ctypes.c_void_p)(max(places[-1], _ALIGNMENT)) or 0
        if not self._heap:
            raise ChildError(Fault.NO_MEMORY, f"NVSHMEM's symmetric heap has no room for {places[-1]} B")
        self.pieces = [self._tensor(place, end - place) for place, end in itertools.pairwise(places)]

    def _free(self) -> None:
        if self._heap:
            self.bind("nvshmem_free", "p", None)(self._heap)
        self._heap = 0

    def _tensor(self, place: int, size: int) -> Tensor:
        about = {"shape": (size,), "typestr": "|u1", "data": (self._heap + place, False), "version": 3}
        return torch.as_tensor(SimpleNamespace(__cuda_array_interface__=about), device=f"cuda:{self._gpu}")


def _not_started(gpu: int) -> ChildError:
    return ChildError(Fault.FATAL, f"NVSHMEM does not start on gpu:{gpu}: set NVSHMEM_DEBUG=WARN to see why")


def _version(size: int) -> int:
    """The first version of a structure of that size."""
    return (1 << 16) + size


@cache
def _library() -> Any:
    return ctypes.CDLL(str(installation.nvidia_files(installation.NVSHMEM)[0]))
