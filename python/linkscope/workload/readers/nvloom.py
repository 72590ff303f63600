"""nvloom's input, and its output, as its README's "CSV testcase" has it: lines of one measurement_id run at once."""

from __future__ import annotations

from collections.abc import Iterator

from linkscope.workload.pattern_text import PatternText, told
from linkscope.workload.schedule import Message, Phase

DEFAULT_BYTES = 512 << 20
"""Bytes of "default", unless nvloom_cli gets -b."""
_BANDWIDTH, _LATENCY = "bandwidth", "latency"


def recognises(source: PatternText) -> bool:
    """Return whether its first line is nvloom's header."""
    return source.text.lstrip().lower().startswith("measurement_id")


def read(source: PatternText) -> Iterator[Phase]:
    """A phase for each measurement; dependent loads send no messages. Raises LinkscopeError."""
    phases: dict[int, list[Message]] = {}
    sent = 0
    for number, line in enumerate(source.lines[1:], start=2):
        cells = [cell.strip().lower() for cell in line.split(",")]
        if not line.strip():
            continue
        if len(cells) < 10 or cells[1] not in (_BANDWIDTH, _LATENCY):
            raise source.wrong(number, f"{told(line)} is neither a bandwidth nor a latency of nvloom")
        if cells[1] == _LATENCY:
            continue
        measurement, a, b = source.rank(number, cells[0]), source.rank(number, cells[2]), source.rank(number, cells[3])
        size = DEFAULT_BYTES if cells[9] == "default" else source.size(number, cells[9])
        if size and a != b:
            phases.setdefault(measurement, []).append(Message(a, b, size))
            sent += 1
            source.bounded(sent)
    for measurement, messages in phases.items():
        yield Phase(f"measurement {measurement}", tuple(messages))
