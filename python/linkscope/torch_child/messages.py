"""torch-send and torch-mpi: a tensor from one process to another."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import torch

from linkscope.torch_child import groups, memory, recorded, rotation
from linkscope.torch_child.carriers import Carrier, Distributed, Library, Mpi
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Endpoint, Flow, FlowDevice, Regime, Site
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.memory import Arena
from linkscope.torch_child.method import Method
from linkscope.torch_child.part import Part, Vote, alone
from linkscope.torch_child.transfer import Transfer

Tensor = Any
Json = dict[str, Any]
CALLS = ("send", "ping-pong")


class _Side(Transfer):
    """Hold what the sender's and the receiver's part have in common."""

    def __init__(self, carrier: Carrier, arena: Arena, gpu: int | None, remarks: list[str]) -> None:
        self._carrier = carrier
        self._arena = arena
        self._gpu = gpu
        self._remarks = remarks
        self._pieces = cycle(arena.pieces)
        self._calls = 0

    def _restart(self) -> None:
        self.settle()
        self._pieces = cycle(self._arena.pieces)
        self._calls = 0

    def count_as_run(self, calls: int) -> None:
        """See Transfer.count_as_run."""
        self._calls = calls

    def settle(self) -> None:
        """See Transfer.settle."""
        if self._gpu is not None:
            torch.cuda.current_stream(self._gpu).synchronize()

    def lead_in(self) -> None:
        """See Transfer.lead_in."""
        self.meet()

    def notes(self) -> list[str]:
        """See Transfer.notes."""
        return self._remarks


class SendingSide(_Side):
    """Sends the source's pieces; what comes back of a ping-pong goes into ``echo``."""

    def __init__(self, carrier: Carrier, arena: Arena, gpu: int | None, remarks: list[str], echo: Arena | None) -> None:
        super().__init__(carrier, arena, gpu, remarks)
        self._echo = echo
        self._echoes = cycle(echo.pieces if echo else [None])
        self.operations = 2 if echo else 1

    def arm(self, seed: int) -> None:
        """See Transfer.arm."""
        self._arena.fill(seed)
        if self._echo:
            self._echo.poison()
            self._echoes = cycle(self._echo.pieces)
        self._restart()

    def call(self) -> None:
        """See Transfer.call."""
        self._carrier.send(next(self._pieces))
        if self._echo:
            self._carrier.receive(next(self._echoes))
        self._calls += 1

    def meet(self) -> None:
        """The receiver is there."""
        self._carrier.await_signal()

    def finish(self) -> None:
        """All has arrived, says the receiver; of a ping-pong what came back has said so."""
        if not self._echo:
            self._carrier.await_signal()

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
        return self._echo.compare(seed, self._calls) if self._echo else None

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return self._echo.verified_bytes(self._calls) if self._echo else 0


class ReceivingSide(_Side):
    """Receives into the destination's pieces, and sends each back in a ping-pong."""

    def __init__(self, carrier: Carrier, arena: Arena, gpu: int | None, remarks: list[str], call: str) -> None:
        super().__init__(carrier, arena, gpu, remarks)
        self._back: Callable[[Tensor], Any] | None = carrier.send if call == "ping-pong" else None
        self.operations = 2 if self._back else 1

    def arm(self, seed: int) -> None:
        """See Transfer.arm."""
        self._arena.poison()
        self._restart()

    def call(self) -> None:
        """See Transfer.call."""
        piece = next(self._pieces)
        self._carrier.receive(piece)
        if self._back:
            self._back(piece)
        self._calls += 1

    def meet(self) -> None:
        """Says that it is there."""
        self._carrier.signal()

    def finish(self) -> None:
        """As SendingSide.finish."""
        if not self._back:
            self._carrier.signal()

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
        return self._arena.compare(seed, self._calls)

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return self._arena.verified_bytes(self._calls)


class Messages(Method):
    """The sender's part is timed, until it knows that all has arrived; the receiver's is not. The executor is the
    sender's device.
    """

    name: str

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        if flow.source is None or flow.destination is None:
            raise unsupported(f"{self.name} needs a source and a destination")
        if flow.source.rank == flow.destination.rank:
            raise unsupported(f"{self.name} goes between two processes: torch-copy copies within one")
        if flow.rank != flow.source.rank or flow.executor != flow.source.device:
            raise unsupported(f"{self.name} is driven by the sender, {flow.source.device}")
        flow.word("call", CALLS, "send")

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """See Method.hold: an arena, that for what comes back of a ping-pong, and remarks on them."""
        own = flow.own_end(site.rank)
        memory.supports(own)
        groups.use(own)
        slots, remarks = rotation.slots(regime, flow.bytes, (own.device,))
        if slots > 1 and recorded.recorded_calls(flow):
            slots, remarks = 1, [rotation.ONE_SLOT]
        echoes = own is flow.source and flow.word("call", CALLS, "send") == "ping-pong"
        arenas = [Arena(own, flow.bytes, slots, site.memory_limit_bytes) for _ in range(2 if echoes else 1)]
        return arenas[0], arenas[1] if echoes else None, remarks

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        arena, echo, remarks = held
        own = flow.own_end(site.rank)
        other = next(end for end in flow.ends if end is not own)
        gpu = groups.use(own)
        carrier = self._carrier(flow, own, other.rank)
        remarks = [*self._remarks(), *remarks]
        transfer: Transfer
        if own is flow.source:
            transfer = SendingSide(carrier, arena, gpu, remarks, echo)
        else:
            transfer = ReceivingSide(carrier, arena, gpu, remarks, flow.word("call", CALLS, "send"))
        return recorded.in_its_form(transfer, flow, regime, gpu, self._vote(flow))

    @abstractmethod
    def _carrier(self, flow: Flow, own: Endpoint, partner: int) -> Carrier:
        """Return what carries messages between this process's end and another rank's."""

    def _vote(self, flow: Flow) -> Vote:
        """Among the two processes; of flows that nothing is held back of, and nothing recorded, there is none."""
        return alone

    def _remarks(self) -> list[str]:
        """For the rows: by what, once that is connected."""
        return []


class TorchSend(Messages):
    """Send by torch.distributed."""

    name = "torch-send"

    def __init__(self, communicators: Groups) -> None:
        self._groups = communicators

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        super().check(flow, regime)
        if flow.bytes == 0:
            raise unsupported("torch-send takes one byte or more")
        backend = self._backend(flow)
        if backend == "gloo" and any(end.device.kind == "gpu" for end in flow.ends):
            raise unsupported("Gloo sends no GPU memory")
        recorded.check_form(flow, backend)
        if backend == "gloo" and regime.clock == "device":
            raise unsupported("Gloo's send keeps its caller: no device clock, host or batch")

    def export_handles(self, site: Site) -> Json:
        """See Method.export_handles."""
        return self._groups.export(site)

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        self._groups.join(flow.ranks, self._backend(flow), exports, site)

    def _carrier(self, flow: Flow, own: Endpoint, partner: int) -> Carrier:
        return Distributed(self._groups.of(flow.ranks, self._backend(flow)), partner, memory.torch_device(own))

    def _vote(self, flow: Flow) -> Vote:
        return self._groups.vote(flow.ranks)

    @staticmethod
    def _backend(flow: Flow) -> str:
        return groups.backend_for(flow.word("backend", groups.BACKENDS, "auto"), flow.ends)


class TorchMpi(Messages):
    """Send by MPI. Memory of GPUs only where the library says that it takes it."""

    name = "torch-mpi"

    def __init__(self) -> None:
        self._library: Library | None = None
        self._home: FlowDevice | None = None
        self._away = ""

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        super().check(flow, regime)
        if regime.clock == "device":
            raise unsupported("MPI's calls keep their caller: no device clock, host or batch")

    def export_handles(self, site: Site) -> Json:
        """See Method.export_handles: MPI is started here, in all processes at once."""
        if self._library is None:
            self._library = Library()
        return {"mpi": self._library.place}

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        assert self._library is not None
        self._library.meet([one["mpi"] for one in exports])
        if any(_on_gpu(end) for end in flow.ends):
            self._library.require_gpu_support()

    def _carrier(self, flow: Flow, own: Endpoint, partner: int) -> Carrier:
        assert self._library is not None
        self._visit(own.device)
        return Mpi(self._library, partner)

    def _visit(self, device: FlowDevice) -> None:
        """Before its memory is handed to MPI: the first GPU is its home (engine/backend/mpi/library.cpp)."""
        self._away = ""
        if device.kind != "gpu":
            return
        self._home = self._home or device
        if device != self._home:
            told = "an MPI may keep what it set up for that GPU and be slower with this one"
            self._away = f"this process called MPI with {self._home} before: {told}"

    def _remarks(self) -> list[str]:
        if self._library is None:
            return []
        return [remark for remark in (f"by {self._library.version}", self._library.threads, self._away) if remark]


def _on_gpu(end: Endpoint) -> bool:
    return end.device.kind == "gpu"
