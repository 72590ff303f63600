"""A table of our own: columns source, destination, bytes and, if there are several phases, phase; lines of a phase are
under way together, and phases follow one another in the order of their first lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.schedule import Message, Phase

COLUMNS = ("source", "destination", "bytes")


def recognises(source: PatternText) -> bool:
    """Whether its first line names one of the columns."""
    first = source.lines[0] if source.text else ""
    return any(name in first.split(",") for name in COLUMNS)


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError."""
    table = csv.DictReader(source.lines)
    lacking = [name for name in COLUMNS if name not in (table.fieldnames or ())]
    if lacking:
        raise LinkscopeError(f"{source.path}: there is no column {lacking[0]!r}; it needs {', '.join(COLUMNS)}")
    phases: dict[str, list[Message]] = {}
    try:
        for line in table:
            a, b = (source.rank(table.line_num, line[end]) for end in ("source", "destination"))
            size = source.size(table.line_num, line["bytes"])
            if size and a != b:
                phases.setdefault(line.get("phase") or "", []).append(Message(a, b, size))
    except csv.Error as error:
        raise source.wrong(table.line_num, str(error)) from error
    for name, messages in phases.items():
        yield Phase(escaped(name)[:80] or source.path.name, tuple(messages))
