"""Pattern files: what somebody else's application sends, in any format that a reader knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.readers import chakra, kineto, listing, matrix, nccl_inspector, nixl, nvloom, table
from linkscope.workload.schedule import Phase, Schedule, in_order

MOST_PHASES = 200_000
MOST_SENT = 1 << 62
"""Bytes of all messages, with their repeats."""


@dataclass(frozen=True)
class PatternReader:
    """``recognises``: whether a file looks like the format; ``read`` raises LinkscopeError where it is not.
    ``declared``: ranks that there are though they may send nothing."""

    summary: str
    recognises: Callable[[PatternText], bool]
    read: Callable[[PatternText], Iterator[Phase]]
    declared: Callable[[PatternText], int] = lambda _: 0


READERS = (
    PatternReader("a Chakra execution trace", chakra.recognises, chakra.read),
    PatternReader("CSV with columns source, destination, bytes, phase, gap_s", table.recognises, table.read),
    PatternReader("nvloom's CSV", nvloom.recognises, nvloom.read),
    PatternReader("NIXL kvbench's YAML of traffic patterns", nixl.recognises, nixl.read),
    PatternReader("a trace of PyTorch's profiler", kineto.recognises, kineto.read),
    PatternReader("a file of NCCL's Inspector plugin", nccl_inspector.recognises, nccl_inspector.read),
    PatternReader("JSON with a list of phases", listing.recognises, listing.read, listing.declared),
    PatternReader("NIXL kvbench's matrix of bytes", matrix.recognises, matrix.read),
)
"""In the order in which they are asked."""


def read_pattern(path: Path) -> Schedule:
    """Raises LinkscopeError, one line that names file and line, where it cannot be read or is no pattern."""
    source = PatternText.of(path)
    if source.data.startswith(b'{"record":'):
        raise LinkscopeError(f"{path} is a run file of linkscope, no pattern: `linkscope show {path}` shows it")
    reader = next((one for one in READERS if one.recognises(source)), None)
    if reader is None:
        known = "; ".join(one.summary for one in READERS)
        raise LinkscopeError(f"{path} is no pattern that linkscope reads: {known}")
    phases = _bounded(source, reader.read(source))
    ranks = max(reader.declared(source), 1 + max((max(pair) for phase in phases for pair in phase.pairs), default=-1))
    if not any(phase.messages for phase in phases):
        raise LinkscopeError(f"{path} holds no message between two ranks")
    schedule = Schedule(path.name, ranks, in_order(phases))
    if schedule.bytes > MOST_SENT:
        raise LinkscopeError(f"{path}: its messages have more than {MOST_SENT:.0e} bytes in all")
    return schedule


def _bounded(source: PatternText, phases: Iterator[Phase]) -> tuple[Phase, ...]:
    """All of them. Raises LinkscopeError as soon as there are too many."""
    found: list[Phase] = []
    messages = 0
    for phase in phases:
        found.append(phase)
        messages += len(phase.messages)
        source.bounded(messages)
        if len(found) > MOST_PHASES:
            raise LinkscopeError(f"{source.path} holds more than {MOST_PHASES} phases")
    return tuple(found)
