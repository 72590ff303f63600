"""PyTorch's profiler (Kineto): the collectives that a trace of one rank records, ``record_param_comms``, as rings.

Only NCCL's process groups leave sizes. A trace knows the groups of its own rank; of the others it says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import LARGEST, MOST_RANKS, PatternText
from linkscope.workload.ring import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER, ring
from linkscope.workload.schedule import Message, Phase

WIDTHS = {
    **{"Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Short": 2},
    **{"Byte": 1, "Char": 1, "Bool": 1, "Float8_e4m3fn": 1, "Float8_e5m2": 1},
}
"""Bytes of an element, by PyTorch's names."""
KINDS = {
    **{"allreduce": ALL_REDUCE, "allgather": ALL_GATHER, "reducescatter": REDUCE_SCATTER},
    **{"alltoall": ALL_TO_ALL, "broadcast": BROADCAST, "reduce": REDUCE},
}
_NAME = re.compile(r"_|base|tensor|coalesced|into|v$")
Count = Annotated[int, Meta(ge=0, le=LARGEST)]


class _Event(msgspec.Struct):
    name: str = ""
    args: dict[str, Any] = {}


class _Trace(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")


class _Comms(msgspec.Struct):
    kind: str = msgspec.field(name="Collective name")
    sent: Count = msgspec.field(name="In msg nelems")
    received: Count = msgspec.field(name="Out msg nelems")
    element: str = msgspec.field(name="dtype")
    ranks: str = msgspec.field(name="Process Group Ranks")
    size: Annotated[int, Meta(ge=1, le=MOST_RANKS)] = msgspec.field(name="Group size")
    first: Annotated[int, Meta(ge=-1, lt=MOST_RANKS)] = msgspec.field(name="Global rank start", default=-1)
    stride: Annotated[int, Meta(ge=-1, lt=MOST_RANKS)] = msgspec.field(name="Global rank stride", default=-1)


def recognises(source: PatternText) -> bool:
    """Whether it is a trace with events."""
    return source.text.lstrip().startswith("{") and '"traceEvents"' in source.text


def read(source: PatternText) -> Iterator[Phase]:
    """A phase for each collective. Raises LinkscopeError."""
    try:
        trace = msgspec.json.decode(source.text, type=_Trace)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LinkscopeError(f"{source.path} is no trace: {' '.join(str(error).split())[:160]}") from error
    for number, event in enumerate(trace.events):
        if event.name == "record_param_comms" and (messages := _messages(source, number, event.args)):
            yield Phase(str(event.args["Collective name"])[:80], messages)


def _messages(source: PatternText, number: int, arguments: dict[str, Any]) -> tuple[Message, ...]:
    try:
        comms = msgspec.convert(arguments, _Comms)
        ranks = _ranks(comms)
    except msgspec.ValidationError as error:
        raise LinkscopeError(f"{source.path}: traceEvents[{number}].args: {error}") from error
    kind = KINDS.get(_NAME.sub("", comms.kind))
    if kind is None or comms.element not in WIDTHS or len(set(ranks)) != len(ranks):
        return ()
    count = comms.received if kind == ALL_GATHER else comms.sent
    return ring(kind, min(count * WIDTHS[comms.element], LARGEST), ranks)


def _ranks(comms: _Comms) -> Sequence[int]:
    """As the trace lists them; of a large group it has the first one and the stride. Raises msgspec.ValidationError."""
    try:
        return msgspec.json.decode(comms.ranks, type=list[Annotated[int, Meta(ge=0, lt=MOST_RANKS)]])
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise
    if comms.first < 0 or comms.stride < 1 or comms.first + comms.stride * (comms.size - 1) >= MOST_RANKS:
        return ()
    return range(comms.first, comms.first + comms.stride * comms.size, comms.stride)
