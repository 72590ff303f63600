"""PyTorch's profiler (Kineto): the collectives that a trace of one rank records, ``record_param_comms``, as rings.

Only NCCL's process groups leave sizes. A trace knows the groups of its own rank; of the others it says nothing, and
traces of several ranks are not put together. From the end of one record to the start of the next the rank computes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import LARGEST, LONGEST_S, MOST_RANKS, PatternText
from linkscope.workload.readers.timed import TimedCall
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
    category: str = msgspec.field(name="cat", default="")
    args: msgspec.Raw = msgspec.Raw(b"{}")
    start_us: float | None = msgspec.field(name="ts", default=None)
    duration_us: float = msgspec.field(name="dur", default=0.0)


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


class _Link(msgspec.Struct):
    """Hold what a kernel and the record of its call have in common."""

    call: int = msgspec.field(name="External id", default=-1)


def recognises(source: PatternText) -> bool:
    """Return whether it is a trace with events."""
    return source.text.lstrip().startswith("{") and '"traceEvents"' in source.text


def read(source: PatternText) -> Iterator[Phase]:
    """A phase for each collective, in the order of their starts where all have one. Raises LinkscopeError."""
    trace = _trace(source)
    records = [(number, event) for number, event in enumerate(trace.events) if event.name == "record_param_comms"]
    if all(event.start_us is not None for _, event in records):
        records.sort(key=lambda record: record[1].start_us or 0.0)
    end_us: float | None = None
    for number, event in records:
        comms = _comms(source, number, event)
        messages = _messages(source, number, comms)
        if not messages:
            continue
        gap_us = 0.0 if event.start_us is None or end_us is None else max(0.0, event.start_us - end_us)
        yield Phase(escaped(comms.kind)[:80], messages, gap_s=min(LONGEST_S, gap_us * 1e-6))
        if event.start_us is not None:
            end_us = max(end_us or 0.0, event.start_us + max(0.0, event.duration_us))


def timed(source: PatternText) -> Iterator[TimedCall]:
    """Yield each collective whose kernel the trace has timed; PyTorch before 2.2 tells a kernel's collective only in
    the record of its call. Raises LinkscopeError."""
    events = _trace(source).events
    kernels = [event for event in events if event.category == "kernel" and event.name.startswith("nccl")]
    records = {link.call: event for event in events if event.name == "record_param_comms" and (link := _link(event))}
    for kernel in kernels:
        link = _link(kernel)
        found = _call(kernel) or (_call(records[link.call]) if link is not None and link.call in records else None)
        if found is not None and kernel.duration_us > 0:
            (kind, size), comms, members = found
            yield TimedCall(kind, size, kernel.duration_us / 1e6, comms.size, members, comms.element)


def _call(event: _Event) -> tuple[tuple[str, int], _Comms, tuple[int, ...]] | None:
    try:
        comms = msgspec.json.decode(event.args, type=_Comms)
        members = tuple(_ranks(comms))
    except (msgspec.DecodeError, RecursionError):
        return None
    measured = _measured(comms)
    return None if measured is None or not measured[1] else (measured, comms, members)


def _link(event: _Event) -> _Link | None:
    try:
        return msgspec.json.decode(event.args, type=_Link)
    except (msgspec.DecodeError, RecursionError):
        return None


def _trace(source: PatternText) -> _Trace:
    try:
        return msgspec.json.decode(source.data, type=_Trace)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LinkscopeError(f"{source.path} is no trace: {_told(error)}") from error


def _comms(source: PatternText, number: int, event: _Event) -> _Comms:
    try:
        return msgspec.json.decode(event.args, type=_Comms)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LinkscopeError(f"{source.path}: traceEvents[{number}].args: {_told(error)}") from error


def _messages(source: PatternText, number: int, comms: _Comms) -> tuple[Message, ...]:
    try:
        ranks = _ranks(comms)
    except msgspec.ValidationError as error:
        raise LinkscopeError(f"{source.path}: traceEvents[{number}].args: {_told(error)}") from error
    measured = _measured(comms)
    if measured is None or len(set(ranks)) != len(ranks):
        return ()
    return tuple(one for one in ring(*measured, ranks) if one.size)


def _measured(comms: _Comms) -> tuple[str, int] | None:
    """Return the kind of collective and the bytes of its whole vector; None of what is none."""
    kind = KINDS.get(_NAME.sub("", comms.kind))
    if kind is None or comms.element not in WIDTHS:
        return None
    count = comms.received if kind == ALL_GATHER else comms.sent
    return kind, min(count * WIDTHS[comms.element], LARGEST)


def _ranks(comms: _Comms) -> Sequence[int]:
    """Return the ranks of a group; of a large group the trace has the first and the stride. Raises
    msgspec.ValidationError.
    """
    try:
        return msgspec.json.decode(comms.ranks, type=list[Annotated[int, Meta(ge=0, lt=MOST_RANKS)]])
    except RecursionError:
        return ()
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError):
            raise
    if comms.first < 0 or comms.stride < 1 or comms.first + comms.stride * (comms.size - 1) >= MOST_RANKS:
        return ()
    return range(comms.first, comms.first + comms.stride * comms.size, comms.stride)


def _told(error: Exception) -> str:
    return escaped(" ".join(str(error).split())[:160])  # type: ignore[no-any-return]
