"""Answered: the answer to one question of analyze: the run's head, one conclusion, one frame as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.run_head import run_head
from linkscope.figures.columns import ASKED
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.messages.methods import method_name
from linkscope.messages.telling_apart import telling_apart

_NAMES = {"movement": Column("movement", Kind.NAME), "path": Column("path", Kind.PATH), "called": Column("called")}
_USUAL = ("device", "pinned")
"""Memories that a movement lets one expect."""
_ENDS = (polars.Expr.min, polars.Expr.max)
_OTHERS = ("tier", "bytes", "figure", "clock", "call", "cache", "load", "together", "processes", "path")
"""Columns that tell lines apart where names do not, the plainest first."""


@dataclass(frozen=True)
class Inquiry:
    """What a question says, as codes and columns.

    ``key``: the message of its table, "analyze.QUESTION". ``names``: the columns that name a line; ``columns`` stand
    behind them. ``conclude``: of a frame with lines. ``order``: the frame as it is shown. ``shown``: the frame that is
    shown in place of the question's, which only --full then shows; ``first``: how many of its lines.
    """

    key: str
    conclude: Callable[[polars.DataFrame], Finding]
    columns: tuple[Column, ...]
    names: tuple[str, ...] = ("movement", "called")
    order: Callable[[polars.DataFrame], polars.DataFrame] = lambda frame: frame
    shown: Callable[[polars.DataFrame], polars.DataFrame] | None = None
    first: int = 12
    notes: Callable[[polars.DataFrame], Sequence[Finding]] = field(default=lambda frame: ())


def answered(question: Inquiry, run: Run, frame: polars.DataFrame) -> Answer:
    """Return the answer that a frame gives; its first table is the frame."""
    head = run_head(run)
    asked = question.key.partition(".")[2]
    if frame.is_empty():
        lacking = note("analyze.lacking", question=asked)
        return Answer(
            f"analyze/{asked}", (head,), lacking, Outcome.UNTESTED, head.findings, (Table(question.key, frame, ()),)
        )
    called = polars.Series("called", [method_name(way, run.library) for way in frame["way"]], polars.String)
    ordered = question.order(_finite(frame).with_columns(called))
    tables = [_table(question, ordered)]
    if question.shown is not None:
        tables = [replace(tables[0], detail=True), _table(question, question.shown(ordered))]
    return Answer(
        question=f"analyze/{asked}",
        runs=(head,),
        headline=question.conclude(ordered),
        findings=(*head.findings, *question.notes(ordered)),
        tables=tuple(tables),
    )


def _table(question: Inquiry, frame: polars.DataFrame) -> Table:
    """Return a table of the columns that have anything to show."""
    columns = (*(_NAMES[one] for one in question.names), *question.columns)
    kept = tuple(column for column in columns if any(value not in (None, []) for value in frame[column.name].to_list()))
    return Table(question.key, _told_apart(frame, question), kept, first=question.first)


def grouped(
    frame: polars.DataFrame, keys: Sequence[str], ranges: Sequence[str], together: Sequence[str] = ()
) -> polars.DataFrame:
    """Return a line for all lines alike in ``keys``, with the first and last of ``ranges`` and what is ``together``.

    ``results`` counts the lines; other columns are those of the first.
    """
    ends = [end(polars.col(name)).alias(f"{name}_{end.__name__}") for name in ranges for end in _ENDS]
    lists = [polars.col(name).explode().drop_nulls().unique(maintain_order=True) for name in together]
    others = [polars.col(name).first() for name in frame.columns if name not in (*keys, *ranges, *together)]
    found = frame.group_by(keys, maintain_order=True).agg(polars.len().alias("results"), *ends, *lists, *others)
    ends_of = {name: polars.concat_list(f"{name}_min", f"{name}_max") for name in ranges}
    return found.with_columns(
        polars.when(polars.col(f"{name}_min").is_not_null()).then(both).alias(name) for name, both in ends_of.items()
    )


def _told_apart(frame: polars.DataFrame, question: Inquiry) -> polars.DataFrame:
    """Return a frame whose ``called`` also holds what lines of one name differ in: memory, size, clock, cache ..."""
    lines = list(frame.iter_rows(named=True))
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, line in enumerate(lines):
        groups.setdefault(tuple(str(line[name]) for name in question.names), []).append(number)
    words: dict[int, tuple[str, ...]] = {}
    for members in groups.values():
        words |= zip(members, telling_apart([_facts(lines[number]) for number in members]), strict=True)
    called = [", ".join((str(line["called"]), *words[number])) for number, line in enumerate(lines)]
    return frame.with_columns(polars.Series("called", called, polars.String))


def _facts(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a line may be told apart by, each at its place; "" for what is usual."""
    memories = dict.fromkeys(word for word in (line["memories"] or "").split(">") if word not in _USUAL)
    asked = [word for word in (line["parameters"] or "").split() if word.partition("=")[0] in ASKED]
    others = (f"{name}={line[name]}" if line.get(name) not in (None, "") else "" for name in _OTHERS)
    return (" to ".join(memories), ", ".join(word for word in asked if not word.startswith("collective=")), *others)


def _finite(frame: polars.DataFrame) -> polars.DataFrame:
    """Return a frame with null where a number is beyond all measure."""
    numbers = polars.selectors.float()
    return frame.with_columns(polars.when(numbers.is_finite()).then(numbers))
