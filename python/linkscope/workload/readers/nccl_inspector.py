"""NCCL's Inspector plugin (its README in plugins/profiler/inspector, format v4): a line of JSON for each collective.

A file is one rank's. Of its communicators those with the most ranks count, whose ranks are taken for the job's; each
collective goes around a ring. In an all-gather and a reduce-scatter the plugin counts one rank's block.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from linkscope.workload.pattern_text import LARGEST, MOST_RANKS, PatternText
from linkscope.workload.ring import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER, ring
from linkscope.workload.schedule import Phase

KINDS = {
    **{"AllReduce": ALL_REDUCE, "AllGather": ALL_GATHER, "ReduceScatter": REDUCE_SCATTER},
    **{"Broadcast": BROADCAST, "Reduce": REDUCE, "AlltoAll": ALL_TO_ALL},
}
_BY_BLOCK = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


class _Header(msgspec.Struct):
    n_ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)]


class _Perf(msgspec.Struct):
    coll: str
    coll_msg_size_bytes: Annotated[int, Meta(ge=0, le=LARGEST)]


class _Record(msgspec.Struct):
    header: _Header
    coll_perf: _Perf


def recognises(source: PatternText) -> bool:
    """Whether its first line is the plugin's."""
    return re.match(r'\s*\{\s*"header"', source.text) is not None and '"coll_perf"' in source.text


def read(source: PatternText) -> Iterator[Phase]:
    """A phase for each kind and size of collective. Raises LinkscopeError."""
    counts: Counter[tuple[int, str, int]] = Counter()
    for number, line in enumerate(source.lines, start=1):
        if not line.strip():
            continue
        try:
            record = msgspec.json.decode(line, type=_Record)
        except (msgspec.DecodeError, RecursionError) as error:
            raise source.wrong(number, " ".join(str(error).split())[:160]) from error
        counts[record.header.n_ranks, record.coll_perf.coll, record.coll_perf.coll_msg_size_bytes] += 1
    most = max((ranks for ranks, _, _ in counts), default=0)
    for (ranks, name, size), repeats in counts.items():
        kind = KINDS.get(name)
        if ranks == most and kind is not None and (messages := ring(kind, _whole(kind, size, ranks), range(ranks))):
            yield Phase(f"{name} of {size} B", messages, repeats)


def _whole(kind: str, size: int, ranks: int) -> int:
    return min(size * ranks if kind in _BY_BLOCK else size, LARGEST)
