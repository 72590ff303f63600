"""NCCL's Inspector plugin (plugins/profiler/inspector of June 2026, format v4): a line of JSON for each operation.

A file is one rank's. Of its communicators those with the most ranks count, whose ranks are taken for the job's; each
collective goes around a ring. In an all-gather, a reduce-scatter and an all-to-all the plugin counts one rank's block.
Of sends and receives it knows those of its own rank. Where it was told to be verbose (NCCL_INSPECTOR_DUMP_VERBOSE=1) it
says when each operation began: they keep their order and the gaps between them; else those of one kind, size and peer
are one phase that repeats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from linkscope.documents.escaped import escaped
from linkscope.workload.pattern_text import LARGEST, LONGEST_S, MOST_RANKS, PatternText
from linkscope.workload.readers.timed import TimedCall
from linkscope.workload.ring import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER, ring
from linkscope.workload.schedule import Message, Phase

KINDS = {
    **{"AllReduce": ALL_REDUCE, "AllGather": ALL_GATHER, "ReduceScatter": REDUCE_SCATTER},
    **{"Broadcast": BROADCAST, "Reduce": REDUCE, "AlltoAll": ALL_TO_ALL, "All2All": ALL_TO_ALL},
}
_BY_BLOCK = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
_MESSAGES = {"Send": "send", "Recv": "receive"}
_ON_GPU = "kernel_gpu"


Size = Annotated[int, Meta(ge=0, le=LARGEST)]
Microseconds = Annotated[int, Meta(ge=0, lt=1 << 62)]
Lasted = Annotated[float, Meta(ge=0, lt=float(1 << 62))]
"""Microseconds; plug-ins made of NCCL's own print parts of them."""


class _Header(msgspec.Struct):
    n_ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)]
    rank: Annotated[int, Meta(ge=0, lt=MOST_RANKS)] = 0
    hosts: Annotated[int, Meta(ge=0, le=MOST_RANKS)] = msgspec.field(name="nnodes", default=0)


class _CollectiveStart(msgspec.Struct):
    us: Microseconds = msgspec.field(name="coll_start_ts")


class _Collective(msgspec.Struct):
    name: str = msgspec.field(name="coll")
    size: Size = msgspec.field(name="coll_msg_size_bytes")
    lasted_us: Lasted = msgspec.field(name="coll_exec_time_us", default=0)
    clock: str = msgspec.field(name="coll_timing_source", default=_ON_GPU)
    start: _CollectiveStart | None = msgspec.field(name="event_trace_ts", default=None)


class _SingleStart(msgspec.Struct):
    us: Microseconds = msgspec.field(name="p2p_start_ts")


class _Single(msgspec.Struct):
    name: str = msgspec.field(name="p2p")
    peer: int = msgspec.field(name="p2p_peer")
    size: Size = msgspec.field(name="p2p_msg_size_bytes")
    lasted_us: Lasted = msgspec.field(name="p2p_exec_time_us", default=0)
    clock: str = msgspec.field(name="p2p_timing_source", default=_ON_GPU)
    start: _SingleStart | None = msgspec.field(name="event_trace_ts", default=None)


class _Record(msgspec.Struct):
    header: _Header
    collective: _Collective | None = msgspec.field(name="coll_perf", default=None)
    single: _Single | None = msgspec.field(name="p2p_perf", default=None)

    @property
    def perf(self) -> _Collective | _Single | None:
        return self.collective or self.single


@dataclass(frozen=True)
class _Carried:
    """Hold what records of one operation have in common. ``peer``: of a send or receive of ``rank``."""

    name: str
    size: int
    ranks: int
    rank: int
    peer: int | None

    @property
    def messages(self) -> tuple[Message, ...]:
        if self.peer is None:
            kind = KINDS.get(self.name)
            return () if kind is None else ring(kind, _whole(kind, self.size, self.ranks), range(self.ranks))
        if self.peer == self.rank or not 0 <= self.peer < self.ranks or self.rank >= self.ranks:
            return ()
        pairs = {"Send": (self.rank, self.peer), "Recv": (self.peer, self.rank)}
        return (Message(*pairs[self.name], self.size),) if self.name in pairs else ()

    def phase(self, repeats: int, gap_s: float) -> Iterator[Phase]:
        """Yield the phase, where there are messages."""
        messages = tuple(one for one in self.messages if one.size)
        if messages:
            yield Phase(f"{self.name} of {self.size} B", messages, repeats, gap_s=gap_s)


def recognises(source: PatternText) -> bool:
    """Return whether its first line is the plugin's."""
    known = '"coll_perf"' in source.text or '"p2p_perf"' in source.text
    return known and re.match(r'\s*\{\s*"header"', source.text) is not None


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError."""
    records = list(_records(source))
    most = max((record.header.n_ranks for record in records), default=0)
    found = [(_carried(record.header, perf), perf) for record in records if (perf := record.perf) is not None]
    found = [(carried, perf) for carried, perf in found if carried.ranks == most and _known(carried)]
    timed = [(perf.start.us, carried, perf.lasted_us) for carried, perf in found if perf.start is not None]
    if len(timed) < len(found):
        for carried, repeats in Counter(carried for carried, _ in found).items():
            yield from carried.phase(repeats, 0.0)
        return
    end_us: int | None = None
    for start_us, carried, lasted_us in sorted(timed, key=lambda one: one[0]):
        gap_us = 0 if end_us is None else max(0, start_us - end_us)
        yield from carried.phase(1, min(LONGEST_S, gap_us * 1e-6))
        end_us = max(end_us or 0, start_us + int(lasted_us))


def timed(source: PatternText) -> Iterator[TimedCall]:
    """Yield each collective and message with its time. Raises LinkscopeError."""
    for record in _records(source):
        header, perf = record.header, record.perf
        if perf is None or not perf.lasted_us or not perf.size:
            continue
        known = KINDS if isinstance(perf, _Collective) else _MESSAGES
        kind = known.get(perf.name)
        if kind is not None:
            size, on_host = _whole(kind, perf.size, header.n_ranks), "gpu" not in perf.clock
            yield TimedCall(kind, size, perf.lasted_us / 1e6, header.n_ranks, hosts=header.hosts, on_host=on_host)


def _carried(header: _Header, perf: _Collective | _Single) -> _Carried:
    peer = perf.peer if isinstance(perf, _Single) else None
    return _Carried(perf.name, perf.size, header.n_ranks, header.rank, peer)


def _known(carried: _Carried) -> bool:
    return carried.name in (KINDS if carried.peer is None else _MESSAGES)


def _records(source: PatternText) -> Iterator[_Record]:
    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line, type=_Record)
        except (msgspec.DecodeError, RecursionError) as error:
            raise source.wrong(number, escaped(" ".join(str(error).split())[:160])) from error


def _whole(kind: str, size: int, ranks: int) -> int:
    return min(size * ranks if kind in _BY_BLOCK else size, LARGEST)
