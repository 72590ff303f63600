"""nixl: lists of pieces from one process's memory to another's by NVIDIA's NIXL over UCX, pushed or pulled."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from typing import Any

import torch

from linkscope.torch_child import groups, installation, memory, rotation
from linkscope.torch_child.faults import ChildError, Fault, unsupported
from linkscope.torch_child.flow import Flow, Regime, Site
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.memory import Arena
from linkscope.torch_child.method import Method
from linkscope.torch_child.part import Part, Vote
from linkscope.torch_child.stopwatch import Enqueue, stopwatch
from linkscope.torch_child.transfer import Transfer

Json = dict[str, Any]

_MOST_PIECES = 131072
_LAID_AT_ONCE = 1 << 26
"""Bytes that are copied to lay pieces in another order."""


class ListTransfer(Transfer):
    """One process's part: the one that drives has a prepared transfer in ``handle``, the other has memory alone.
    ``laid``: of a source whose pieces lie in shuffled order, the piece of the pattern that each place holds.
    """

    def __init__(self, agent: Any, registered: Any, arena: Arena, vote: Vote, gpu: int | None, fills: bool) -> None:
        self._agent, self._registered, self._arena, self._vote = agent, registered, arena, vote
        self._gpu, self._fills = gpu, fills
        self.handle: Any = None
        self.laid: list[int] = []
        self.remarks: list[str] = []
        self._calls = 0

    def arm(self, seed: int) -> None:
        """See Transfer.arm. Nobody goes on before both have: poison would come after a push."""
        if self._fills:
            self._arena.fill(seed)
            if self.laid:
                pieces = self._arena.pieces[0].view(len(self.laid), -1)
                for part in pieces.split(_LAID_AT_ONCE // len(self.laid), 1):
                    part.copy_(part[self.laid])
        else:
            self._arena.poison()
        if self._gpu is not None:
            torch.cuda.synchronize(self._gpu)
        self._calls = 0
        self.meet()

    def call(self) -> None:
        """See Transfer.call: posts the list and waits until all of it is there."""
        self._calls += 1
        state = "DONE" if self.handle is None else self._agent.transfer(self.handle)
        while state == "PROC":
            state = self._agent.check_xfer_state(self.handle)
        if state != "DONE":
            raise ChildError(Fault.BROKEN, f"NIXL ended a transfer with {state}")

    def meet(self) -> None:
        """See Transfer.meet."""
        self._vote(1)

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
        return None if self._fills else self._arena.compare(seed, self._calls)

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return 0 if self._fills else self._arena.verified_bytes(self._calls)

    def release(self) -> None:
        """See Transfer.release."""
        if self.handle is not None:
            self._agent.release_xfer_handle(self.handle)
        self._agent.deregister_memory(self._registered)

    def notes(self) -> list[str]:
        """See Transfer.notes."""
        return self.remarks


class Nixl(Method):
    """The source pushes (WRITE), or the destination pulls (READ): whichever is the executor, whose part is timed.
    Registration and descriptors come before the measured span."""

    def __init__(self, communicators: Groups) -> None:
        self._groups, self._agents = communicators, 0
        self._told: Json | None = None
        self._others: list[Json] = []

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        if flow.source is None or flow.destination is None or flow.source.rank == flow.destination.rank:
            raise unsupported("nixl goes between two processes")
        if (flow.rank, flow.executor) not in [(end.rank, end.device) for end in flow.ends]:
            raise unsupported("nixl is driven by the source, which pushes, or by the destination, which pulls")
        if regime.clock == "device":
            raise unsupported("the host waits for NIXL's transfers: no device clock, host or batch")
        if flow.bytes == 0 or flow.bytes % _pieces(flow):
            raise unsupported(f"{flow.bytes} bytes are not {_pieces(flow)} pieces of one size")

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """See Method.hold: an agent, its registration, the arena and remarks."""
        own = flow.own_end(site.rank)
        memory.supports(own)
        kind, device = ("DRAM", 0) if groups.use(own) is None else ("VRAM", own.device.index)
        slots, _ = rotation.slots(regime, flow.bytes, (own.device,))
        arena = Arena(own, flow.bytes, 1, site.memory_limit_bytes)
        api = installation.load("nixl")
        self._agents += 1
        agent = api.nixl_agent(f"rank-{site.rank}-{self._agents}", api.nixl_agent_config(backends=["UCX"]))
        at = arena.pieces[0].data_ptr()
        registered = agent.register_memory([(at, flow.bytes, device, "")], kind)
        told = base64.b64encode(agent.get_agent_metadata()).decode()
        self._told = {"agent": told, "at": at, "kind": kind, "device": device}
        return agent, registered, arena, self._told, [rotation.ONE_SLOT] if slots > 1 else []

    def export_handles(self, site: Site) -> Json:
        """See Method.export_handles."""
        told, self._told = self._told, None
        return {**self._groups.export(site), "nixl": told}

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        self._groups.join(flow.ranks, "gloo", exports, site)
        self._others = [one["nixl"] for one in exports]

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        agent, registered, arena, here, remarks = held
        own = flow.own_end(site.rank)
        pushes, vote = own is flow.source, self._groups.vote(flow.ranks)
        transfer = ListTransfer(agent, registered, arena, vote, groups.use(own), pushes)
        transfer.remarks = remarks
        orders = _orders(flow)
        if _scattered(flow):
            transfer.laid = [piece for _, piece in sorted(zip(*orders, strict=True))]
        if site.rank == flow.rank:
            there = self._others[next(end.rank for end in flow.ends if end is not own)]
            name = agent.add_remote_agent(base64.b64decode(there["agent"]))
            ends = zip((here, there), orders if pushes else reversed(orders), strict=True)
            lists = (_descriptors(flow, agent, end, order) for end, order in ends)
            name = name.decode() if isinstance(name, bytes) else name
            transfer.handle = agent.initialize_xfer("WRITE" if pushes else "READ", *lists, name, b"")
            transfer.remarks = [f"by {agent.query_xfer_backend(transfer.handle)} of NIXL", *remarks]
        return Part(transfer, stopwatch(regime.clock, None, Enqueue.BLOCKS), vote=vote)


def _orders(flow: Flow) -> list[list[int]]:
    """Return the places that the list goes to, at the source and at the destination."""
    orders = [list(range(_pieces(flow))) for _ in range(2)]
    if _scattered(flow):
        for side, order in enumerate(orders):
            random.Random(side).shuffle(order)
    return orders


def _scattered(flow: Flow) -> bool:
    return flow.word("scatter", ("no", "yes"), "no") == "yes"


def _descriptors(flow: Flow, agent: Any, end: Json, order: list[int]) -> Any:
    each = flow.bytes // len(order)
    return agent.get_xfer_descs([(end["at"] + piece * each, each, end["device"]) for piece in order], end["kind"])


def _pieces(flow: Flow) -> int:
    return flow.number("count", 1, _MOST_PIECES, 1)
