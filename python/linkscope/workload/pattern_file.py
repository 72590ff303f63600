"""Pattern files: what somebody else's application sends, in any format that a reader knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.readers import kineto, matrix, nccl_inspector, nixl, nvloom, table
from linkscope.workload.schedule import Phase, Schedule, in_order


@dataclass(frozen=True)
class PatternReader:
    """``recognises``: whether a file looks like the format; ``read`` raises LinkscopeError where it is not."""

    summary: str
    recognises: Callable[[PatternText], bool]
    read: Callable[[PatternText], Iterator[Phase]]


READERS = (
    PatternReader("CSV with columns source, destination, bytes, phase", table.recognises, table.read),
    PatternReader("nvloom's CSV", nvloom.recognises, nvloom.read),
    PatternReader("NIXL kvbench's YAML of traffic patterns", nixl.recognises, nixl.read),
    PatternReader("a trace of PyTorch's profiler", kineto.recognises, kineto.read),
    PatternReader("a file of NCCL's Inspector plugin", nccl_inspector.recognises, nccl_inspector.read),
    PatternReader("NIXL kvbench's matrix of bytes", matrix.recognises, matrix.read),
)
"""In the order in which they are asked."""


def read_pattern(path: Path) -> Schedule:
    """Raises LinkscopeError, one line that names file and line, where it cannot be read or is no pattern."""
    source = PatternText.of(path)
    reader = next((one for one in READERS if one.recognises(source)), None)
    if reader is None:
        known = "; ".join(one.summary for one in READERS)
        raise LinkscopeError(f"{path} is no pattern that linkscope reads: {known}")
    phases = tuple(reader.read(source))
    ranks = 1 + max((max(pair) for phase in phases for pair in phase.pairs), default=-1)
    if ranks < 2:
        raise LinkscopeError(f"{path} holds no message between two ranks")
    return Schedule(path.name, ranks, in_order(phases))
