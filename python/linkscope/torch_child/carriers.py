"""Carriers: what takes a tensor from one process to another: torch.distributed, or MPI by mpi4py."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist

from linkscope.torch_child.faults import unsupported

Tensor = Any
# What is asked, and in which order, is as in engine/backend/mpi/gpu_awareness.cpp.
_GPU_KINDS = ("cuda", "rocm")
_QUERIES = ("MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support")
_MPICH_QUERY = "MPIX_GPU_query_support"
_KINDS_OF_MPICH = (0, 2)  # MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_HIP
_BUILT_WITH = ("opal_built_with_cuda_support", "opal_built_with_rocm_support")


class Carrier(Protocol):
    """Blocking calls with one partner."""

    def send(self, tensor: Tensor) -> Any:
        """To the partner."""

    def receive(self, tensor: Tensor) -> Any:
        """From the partner."""

    def signal(self) -> Any:
        """An empty message to the partner, or one of a byte where there are no empty ones."""

    def await_signal(self) -> Any:
        """The partner's."""


class Distributed:
    """dist.send and dist.recv within a group. On GPUs they return when they are enqueued. ``device``: whose memory the
    backend takes.
    """

    def __init__(self, group: Any, partner: int, device: Any) -> None:
        self._group = group
        self._partner = partner
        self._token = torch.zeros(1, dtype=torch.uint8, device=device)

    def send(self, tensor: Tensor) -> Any:
        """See Carrier.send."""
        dist.send(tensor, self._partner, self._group)

    def receive(self, tensor: Tensor) -> Any:
        """See Carrier.receive."""
        dist.recv(tensor, self._partner, self._group)

    def signal(self) -> Any:
        """See Carrier.signal."""
        self.send(self._token)

    def await_signal(self) -> Any:
        """See Carrier.await_signal."""
        self.receive(self._token)


class Mpi:
    """mpi4py's Send and Recv, which are handed tensors as they are."""

    def __init__(self, library: Library, partner: int) -> None:
        self._send, self._receive = library.communicator.Send, library.communicator.Recv
        self._partner = library.rank_of(partner)
        self._nothing = bytearray()

    def send(self, tensor: Tensor) -> Any:
        """See Carrier.send."""
        self._send(tensor, self._partner)

    def receive(self, tensor: Tensor) -> Any:
        """See Carrier.receive."""
        self._receive(tensor, self._partner)

    def signal(self) -> Any:
        """See Carrier.signal."""
        self._send(self._nothing, self._partner)

    def await_signal(self) -> Any:
        """See Carrier.await_signal."""
        self._receive(self._nothing, self._partner)


class Library:
    """The MPI library that mpi4py loads, begun once. Raises ChildError where it cannot be."""

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError, OSError) as error:
            raise unsupported(not_loaded(error)) from error
        self._mpi: Any = MPI
        self._ranks: list[int] = []
        self.communicator = self._mpi.COMM_WORLD

    @property
    def place(self) -> list[int]:
        """Rank and size, as MPI has them."""
        return [self.communicator.Get_rank(), self.communicator.Get_size()]

    def meet(self, places: Sequence[Sequence[int]]) -> None:
        """``places``: of all processes of the run, by its ranks. Raises ChildError where MPI's processes are others."""
        sizes = {size for _, size in places}
        self._ranks = [rank for rank, _ in places]
        if sizes != {len(places)} or len(set(self._ranks)) != len(places):
            seen = ", ".join(str(size) for size in sorted(sizes))
            raise unsupported(
                f"MPI sees {seen} processes, this run has {len(places)}: start them by this MPI's mpiexec"
            )

    def rank_of(self, rank: int) -> int:
        """The run's rank as MPI counts."""
        return self._ranks[rank]

    @property
    def version(self) -> str:
        """Return the library's own version, in the words of rows by MPI itself: "MPICH Version: 5.0.2", "Open MPI
        v5.0.11".
        """
        line = str(self._mpi.Get_library_version()).partition("\0")[0].partition("\n")[0]
        return " ".join(line.partition(",")[0].split())  # Open MPI goes on with who built it

    @property
    def threads(self) -> str:
        """The level that it was started at, where that is more than MPI_THREAD_SINGLE; mpi4py asks for the highest."""
        mpi = self._mpi
        names = {mpi.THREAD_FUNNELED: "FUNNELED", mpi.THREAD_SERIALIZED: "SERIALIZED", mpi.THREAD_MULTIPLE: "MULTIPLE"}
        name = names.get(mpi.Query_thread())
        return f"MPI_THREAD_{name}" if name else ""

    def require_gpu_support(self) -> None:
        """Raises ChildError unless the library itself says that it takes memory of GPUs."""
        library = ctypes.CDLL(self._mpi.__file__)  # finds what the extension is linked with
        problem = gpu_problem(library, self._memory_kinds())
        if problem:
            raise unsupported(f"{self.version}: {problem}")

    def _memory_kinds(self) -> str:
        """Return what MPI 4.1's info key mpi_memory_alloc_kinds says ("system,mpi,cuda"); empty where there is none."""
        try:
            info = self._mpi.COMM_WORLD.Get_info()
            kinds = info.Get("mpi_memory_alloc_kinds")
            info.Free()
        except (self._mpi.Exception, NotImplementedError):
            return ""
        return str(kinds or "")


def gpu_problem(library: Any, memory_kinds: str) -> str | None:
    """Return why the MPI ``library`` takes no memory of GPUs, with what was asked; None where it says that it does."""
    if any(
        kind.partition(":")[0] in _GPU_KINDS for kind in memory_kinds.split(",")
    ):  # "cuda:device": a restricted kind
        return None
    asked = [name for name in _QUERIES if hasattr(library, name)]
    if any(getattr(library, name)() == 1 for name in asked):
        return None
    if hasattr(library, _MPICH_QUERY):
        if any(_mpich_takes(library, kind) for kind in _KINDS_OF_MPICH):
            return None
        asked.append(_MPICH_QUERY)
    if not asked:  # an Open MPI without its extensions
        asked = [name for name in _BUILT_WITH if hasattr(library, name)]
        if any(ctypes.c_bool.in_dll(library, name) for name in asked):
            return None
    return (
        f"it takes no GPU memory, says {', '.join(asked)}"
        if asked
        else "it offers no way to ask whether it takes GPU memory"
    )


def _mpich_takes(library: Any, kind: int) -> bool:
    answer = ctypes.c_int(0)
    return getattr(library, _MPICH_QUERY)(ctypes.c_int(kind), ctypes.byref(answer)) == 0 and answer.value != 0


def not_loaded(error: Exception) -> str:
    """In one line: of a library that is nowhere mpi4py lists every name that it tried."""
    if "cannot load MPI library" in str(error):
        return "mpi4py finds no MPI library (pip install mpich, or name one in MPI4PY_LIBMPI)"
    return f"mpi4py does not load: {error}"
