"""Inquiry: one question of analyze: how its frame is found, and which conclusion and table an answer has."""

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
from linkscope.messages.names import named
from linkscope.messages.telling_apart import telling_apart

_NAMES = {
    "moved": Column("moved", Kind.NAME, of="movement"),
    "path": Column("path", Kind.PATH),
    "at": Column("at", Kind.PATH),
}
_SELF_EVIDENT = ("ordering", "scope", "tier", "together")
"""Parameters whose value is clear without the name: "relaxed" for ordering=relaxed."""
_DOUBT = {"beyond": polars.col("beyond").is_null(), "clear": ~polars.col("clear")}
_OTHERS = ("tier", "bytes", "figure", "clock", "call", "cache", "load", "together", "processes", "path")
"""Columns that tell lines apart where names do not, the plainest first."""

_COLLECTIVE = r"^([a-z-]+)/(\d+gpus.*)$"
_MOVED = (
    polars.when(polars.col("movement").str.extract(_COLLECTIVE, 2).drop_nulls().n_unique() == 1)
    .then(polars.coalesce(polars.col("movement").str.extract(_COLLECTIVE, 1), "movement"))
    .otherwise("movement")
)
"""The movement; of collectives that all have one number of members without that."""


@dataclass(frozen=True)
class Inquiry:
    """One question of analyze; called with a run it gives the Answer, whose first table is the question's frame.

    ``key``: the message of the table, "analyze.QUESTION". ``names``: the columns that name a line; ``columns`` stand
    behind them. ``conclude``: of a frame with lines. ``order``: the frame as it is shown; "open" has a "?" in lines
    that are not ``clear``, or open whether ``beyond`` noise. ``shown``: the frame in place of the question's, which
    only --full then shows, its lines named by ``lines``; ``first``: how many of its lines. ``group``: a column that
    stands once above the lines that share it.
    """

    key: str
    find: Callable[[Run], polars.DataFrame]
    conclude: Callable[[polars.DataFrame], Finding]
    columns: tuple[Column, ...]
    names: tuple[str, ...] = ("moved", "called")
    order: Callable[[polars.DataFrame], polars.DataFrame] = lambda frame: frame
    shown: Callable[[polars.DataFrame], polars.DataFrame] | None = None
    lines: tuple[str, ...] = ()
    group: str = ""
    first: int = 12
    notes: Callable[[polars.DataFrame], Sequence[Finding]] = field(default=lambda frame: ())

    def __call__(self, run: Run) -> Answer:
        """Return the answer; without one the run has no results for the question."""
        head, frame = run_head(run), self.find(run)
        name = self.key.partition(".")[2]
        if frame.is_empty():
            lacking, empty = note("analyze.lacking", question=name), Table(self.key, frame, ())
            return Answer(f"analyze/{name}", (head,), lacking, Outcome.UNTESTED, head.findings, (empty,))
        called = polars.Series("called", [method_name(way, run.library) for way in frame["way"]], polars.String)
        doubt = next((doubt for name, doubt in _DOUBT.items() if name in frame.columns), polars.lit(False))
        mark = polars.when(doubt).then(polars.lit("?")).alias("open")
        ordered = self.order(_finite(frame).with_columns(called, _MOVED.alias("moved"))).with_columns(mark)
        whole = self._table(ordered, self.lines or self.names)
        tables = [whole]
        if self.shown is not None:
            tables = [replace(whole, detail=True), self._table(self.shown(ordered), self.names)]
        findings = (*head.findings, *self.notes(ordered))
        return Answer(f"analyze/{name}", (head,), self.conclude(ordered), findings=findings, tables=tuple(tables))

    def _table(self, frame: polars.DataFrame, names: Sequence[str]) -> Table:
        """Return a table of the columns that have anything to show."""
        asked = (*(_NAMES.get(name, Column(name)) for name in names), *self.columns)
        there = (one for one in asked if one.name in frame.columns)
        kept = tuple(one for one in there if any(value not in (None, []) for value in frame[one.name].to_list()))
        return Table(self.key, _told_apart(frame, names), kept, group=self.group, first=self.first)


def at(path: str = "path") -> polars.Expr:
    """Return where a line is: its path, or the name of the collective for several members."""
    return polars.when(polars.col(path).str.contains(" ")).then("moved").otherwise(path).alias("at")


def columns(kind: Kind, *names: str) -> tuple[Column, ...]:
    """Return columns of one kind."""
    return tuple(Column(name, kind) for name in names)


def by_most(
    measure: str, telling: polars.Expr, codes: tuple[str, str, str], *facts: str
) -> Callable[[polars.DataFrame], Finding]:
    """Return the conclusion by the ``telling`` line with most of ``measure``, with these ``facts`` of its columns.

    ``codes``: where there is such a line, where there is none but noise leaves some open, and else. ``lines``,
    ``results`` and ``unclear`` count those that tell, all, and the open ones.
    """

    def conclude(frame: polars.DataFrame) -> Finding:
        found = frame.filter(telling).sort(measure, maintain_order=True)
        unclear = frame.filter(polars.col("open").is_not_null()).height
        counts = {"lines": found.height, "results": frame.height, "unclear": unclear}
        if found.is_empty():
            return note(codes[1] if unclear else codes[2], **counts)
        most, median = found.row(-1, named=True), found.row(found.height // 2, named=True)
        named = {name: most[name] for name in facts}
        return note(codes[0], **counts, **named, most=most[measure], median=median[measure])

    return conclude


def grouped(
    frame: polars.DataFrame,
    keys: Sequence[str],
    ranges: Sequence[str],
    together: Sequence[str] = (),
    count: str = "lines",
) -> polars.DataFrame:
    """Return a line for all lines alike in ``keys``, with the first and last of ``ranges`` and what is ``together``.

    ``count``: a column that counts the lines; other columns are those of the first.
    """
    ends = (polars.concat_list(polars.col(name).min(), polars.col(name).max()) for name in ranges)
    known = (polars.when(polars.col(name).count() > 0) for name in ranges)
    spreads = [one.then(both).alias(name) for one, both, name in zip(known, ends, ranges, strict=True)]
    lists = [polars.col(name).explode().drop_nulls().unique(maintain_order=True) for name in together]
    others = polars.exclude(*keys, *ranges, *together, count).first()
    return frame.group_by(keys, maintain_order=True).agg(polars.len().alias(count), *spreads, *lists, others)


def _told_apart(frame: polars.DataFrame, names: Sequence[str]) -> polars.DataFrame:
    """Return a frame whose ``called`` also holds what lines of one name differ in: memory, size, clock, cache ..."""
    lines = list(frame.iter_rows(named=True))
    words: dict[int, tuple[str, ...]] = {}
    for members in frame.select(names).with_row_index("line").group_by(names).agg("line")["line"].to_list():
        words |= zip(members, telling_apart([_facts(lines[number]) for number in members]), strict=True)
    called = [", ".join((str(line["called"]), *words[number])) for number, line in enumerate(lines)]
    return frame.with_columns(polars.Series("called", called, polars.String))


def _facts(line: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a line may differ in, each at its place; "" for what is usual."""
    memories = dict.fromkeys(word for word in (line["memories"] or "").split(">") if named("usual-memory", word))
    asked = (word.split("=", 1) for word in (line["parameters"] or "").split())
    words = (_word(name, text) for name, text in asked if name in ASKED and name != "collective")
    others = (_word(name, line[name]) if line.get(name) not in (None, "") else "" for name in _OTHERS)
    return (" to ".join(memories), ", ".join(words), *others)


def _word(name: str, value: object) -> str:
    return str(value) if name in _SELF_EVIDENT else f"{name}={value}"


def _finite(frame: polars.DataFrame) -> polars.DataFrame:
    """Return a frame with null where a number is beyond all measure."""
    numbers = polars.selectors.float()
    return frame.with_columns(polars.when(numbers.is_finite()).then(numbers))
