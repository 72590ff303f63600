"""Checked lines: what files for other programs hold of an answer: its errors, and its results with their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from linkscope.answers.answer import Answer, Outcome
from linkscope.messages.finding import Finding, Level
from linkscope.messages.template import written

Line = Mapping[str, Any]

_CHECKED = (".checked", ".unmatched")
"""Endings of keys of tables whose rows are checked one by one: they have ``id`` and ``outcome``."""


def lines(answer: Answer) -> Iterator[Line]:
    """Yield each checked result, and each limit without one."""
    for table in answer.tables:
        if table.key.endswith(_CHECKED):
            yield from table.frame.iter_rows(named=True)


def findings(answer: Answer, *levels: Level) -> Iterator[Finding]:
    """Yield the findings of some levels, those of the details too."""
    yield from (found for found in (*answer.findings, *answer.details) if found.level in levels)


def limit_of(line: Line) -> float | None:
    """Return what a result must reach, in its unit; None of a limit without a result."""
    limit: float | None = line.get("limit", line.get("expected"))
    return limit


def said(line: Line) -> str:
    """Return a result and its limit in words, or why it has none; "" of a limit without a result."""
    if line.get("outcome") == Outcome.UNTESTED.value and "permutations" in line:
        return "too few permutations"
    if line.get("value") is None:
        return ""
    how, unit = ("number", " GB/s") if line["unit"] == "GB/s" else ("time", "")
    return f"{written(line['value'], how)}, limit {written(limit_of(line), how)}{unit}"
