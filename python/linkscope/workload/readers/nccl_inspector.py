"""NCCL's Inspector plugin (its README in plugins/profiler/inspector, format v4): a line of JSON for each collective.

A file is one rank's. Of its communicators those with the most ranks count, whose ranks are taken for the job's; each
collective goes around a ring. In an all-gather and a reduce-scatter the plugin counts one rank's block. Where it was
told to be verbose (NCCL_INSPECTOR_DUMP_VERBOSE=1) it says when each collective began: they keep their order and the
gaps between them; else those of one kind and size are one phase that repeats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from linkscope.escaped import escaped
from linkscope.workload.pattern_text import LARGEST, LONGEST_S, MOST_RANKS, PatternText
from linkscope.workload.ring import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER, ring
from linkscope.workload.schedule import Phase

KINDS = {
    **{"AllReduce": ALL_REDUCE, "AllGather": ALL_GATHER, "ReduceScatter": REDUCE_SCATTER},
    **{"Broadcast": BROADCAST, "Reduce": REDUCE, "AlltoAll": ALL_TO_ALL},
}
_BY_BLOCK = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


class _Header(msgspec.Struct):
    n_ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)]


class _Times(msgspec.Struct):
    coll_start_ts: Annotated[int, Meta(ge=0, lt=1 << 62)]


class _Perf(msgspec.Struct):
    coll: str
    coll_msg_size_bytes: Annotated[int, Meta(ge=0, le=LARGEST)]
    coll_exec_time_us: Annotated[int, Meta(ge=0, lt=1 << 62)] = 0
    event_trace_ts: _Times | None = None


class _Record(msgspec.Struct):
    header: _Header
    coll_perf: _Perf


def recognises(source: PatternText) -> bool:
    """Whether its first line is the plugin's."""
    return re.match(r'\s*\{\s*"header"', source.text) is not None and '"coll_perf"' in source.text


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError."""
    records = list(_records(source))
    most = max((record.header.n_ranks for record in records), default=0)
    found = [one.coll_perf for one in records if one.header.n_ranks == most and one.coll_perf.coll in KINDS]
    timed = [(one.event_trace_ts.coll_start_ts, one) for one in found if one.event_trace_ts is not None]
    if len(timed) < len(found):
        for (name, size), repeats in Counter((one.coll, one.coll_msg_size_bytes) for one in found).items():
            yield from _phase(name, size, most, repeats, 0.0)
        return
    end_us: int | None = None
    for start_us, one in sorted(timed, key=lambda pair: pair[0]):
        gap_us = 0 if end_us is None else max(0, start_us - end_us)
        yield from _phase(one.coll, one.coll_msg_size_bytes, most, 1, min(LONGEST_S, gap_us * 1e-6))
        end_us = max(end_us or 0, start_us + one.coll_exec_time_us)


def _records(source: PatternText) -> Iterator[_Record]:
    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        try:
            yield msgspec.json.decode(line, type=_Record)
        except (msgspec.DecodeError, RecursionError) as error:
            raise source.wrong(number, escaped(" ".join(str(error).split())[:160])) from error


def _phase(name: str, size: int, ranks: int, repeats: int, gap_s: float) -> Iterator[Phase]:
    """Of one collective, where it has messages."""
    messages = tuple(one for one in ring(KINDS[name], _whole(KINDS[name], size, ranks), range(ranks)) if one.size)
    if messages:
        yield Phase(f"{name} of {size} B", messages, repeats, gap_s=gap_s)


def _whole(kind: str, size: int, ranks: int) -> int:
    return min(size * ranks if kind in _BY_BLOCK else size, LARGEST)
