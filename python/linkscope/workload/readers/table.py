"""A table of our own: columns source, destination, bytes; phase, if there are several; and gap_s, the seconds that the
application computes before that phase (the most that a line of it has).

Lines of a phase are under way together; phases follow one another in the order of their first lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.schedule import Message, Phase

COLUMNS = ("source", "destination", "bytes")


def recognises(source: PatternText) -> bool:
    """Return whether its first line names one of the columns."""
    first = source.text[:1000].partition("\n")[0]
    return any(name in [cell.strip() for cell in first.split(",")] for name in COLUMNS)


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError."""
    table = csv.DictReader(source.lines, skipinitialspace=True)
    phases: dict[str, list[Message]] = {}
    gaps: dict[str, float] = {}
    sent = 0
    try:
        lacking = [name for name in COLUMNS if name not in (table.fieldnames or ())]
        if lacking:
            raise LinkscopeError(f"{source.path}: there is no column {lacking[0]!r}; it needs {', '.join(COLUMNS)}")
        for line in table:
            number, name = table.line_num, line.get("phase") or ""
            a, b = (source.rank(number, line[end]) for end in ("source", "destination"))
            size, gap_s = source.size(number, line["bytes"]), source.gap(number, line.get("gap_s"))
            if size and a != b:
                phases.setdefault(name, []).append(Message(a, b, size))
                gaps[name] = max(gap_s, gaps.get(name, 0.0))
                sent += 1
                source.bounded(sent)
    except csv.Error as error:
        raise source.wrong(table.line_num, str(error)) from error
    for name, messages in phases.items():
        yield Phase(escaped(name)[:80] or source.path.name, tuple(messages), gap_s=gaps[name])
