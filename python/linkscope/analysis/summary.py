"""Summary: the few lines an engineer wants before any table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from statistics import median

from linkscope.analysis.cell import Cell, Heading, Json, title
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.lists import Listing
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.reasons import reason_of
from linkscope.analysis.rivals import best_apart, comparable, fastest, rivals, slowest
from linkscope.results.row import Row

Table = Matrix | CurveSet | Listing
DEFAULT_PRECISION = 0.01
ABOVE_PEAK = "above the peak of its path: served by a cache, not by the link or memory"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


BEHIND = 0.9
"""Share of the best rate that the largest size should reach, or it is told with it."""


@dataclass(frozen=True)
class TableSummary:
    """One table in one line, over its ok cells. ``spread`` is (max - min) / mean; ``best`` and ``worst`` are the
    cells an engineer would call so: the fastest and slowest rate, the shortest and longest time, of those that can be
    set against one another (``comparable``), of curves those timed alike (``rivals``). The shares of peak are the
    lowest and highest of these cells, which need not be those two; None where no peak is known. ``apart``: of curves
    the best cell of each other kind of call, such as many messages under way, that is better than ``best``. ``last``:
    of rates by size that of the curve of ``best`` at its largest size, where that is ``BEHIND`` it, as beyond caches.
    ``lowest_overlap`` and ``highest_overlap``: of the cells whose flows should run together; None where none do."""

    heading: Heading
    ok: int
    min: float
    max: float
    mean: float
    spread: float
    best: Cell
    worst: Cell
    lowest_share: float | None
    highest_share: float | None
    lowest_overlap: float | None
    highest_overlap: float | None
    apart: tuple[Cell, ...] = ()
    last: Cell | None = None


@dataclass(frozen=True)
class Grouped:
    """Rows that share one reason or note; ``tables`` names the tables they belong to, ``suite_rows`` ("suite/name")
    what they were asked for by."""

    reason: str
    count: int
    tables: tuple[str, ...]
    suite_rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """``figures`` counts the ok cells, of which a row can have several. ``imprecise`` holds those of them whose
    interval reaches farther from the median than ``precision``, relative; ``margin``: how far the middle one does.
    ``noted``: what the engine remarked. ``imported``: the tools that figures are from, none where linkscope measured
    them."""

    rows: int
    ok: int
    figures: int
    skipped: tuple[Grouped, ...]
    failed: tuple[Grouped, ...]
    noted: tuple[Grouped, ...]
    modelled: bool
    precision: float
    margin: float
    imprecise: tuple[Cell, ...]
    tables: tuple[TableSummary, ...]
    imported: tuple[str, ...] = ()

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return asdict(self)


def summarize(rows: Sequence[Row], tables: Iterable[Table], precision: float = DEFAULT_PRECISION) -> Summary:
    """Of all rows of a run and the tables made of them; ``precision`` is what the run asked for."""
    listed = list(tables)
    cells = [entry for table in listed for entry in table.flat]
    return Summary(
        rows=len(rows),
        ok=sum(row.status == "ok" for row in rows),
        figures=sum(c.headline is not None for c in cells),
        skipped=_grouped(_reasons(rows, "skipped")),
        failed=_grouped(_reasons(rows, "failed")),
        noted=(*_above_peak(listed), *_grouped((row, note) for row in rows for note in row.notes)),
        modelled=any(row.modelled for row in rows),
        precision=precision,
        margin=median([c.headline.margin for c in cells if c.headline is not None] or [0.0]),
        imprecise=tuple(c for c in cells if c.headline is not None and c.headline.margin > precision),
        imported=tuple(dict.fromkeys(row.origin for row in rows if row.origin)),
        tables=tuple(line for table in listed if (line := table_summary(table)) is not None),
    )


def table_summary(table: Table) -> TableSummary | None:
    """The table in one line; None where no cell is ok."""
    figures = [(c.headline, c) for c in table.flat if c.headline is not None]
    if not figures:
        return None
    alike = rivals(table.flat) if isinstance(table, CurveSet) else comparable(table.flat)
    best, worst = fastest(alike), slowest(alike)
    assert best is not None
    assert worst is not None
    values = [figure.value.median for figure, _ in figures]
    mean = sum(values) / len(values)
    shares = [c.share for c in alike if c.share is not None]
    overlaps = [c.overlap for _, c in figures if c.overlap is not None]
    return TableSummary(
        heading=table.heading,
        ok=len(values),
        min=min(values),
        max=max(values),
        mean=mean,
        spread=(max(values) - min(values)) / mean if mean else 0.0,
        best=best,
        worst=worst,
        lowest_share=min(shares, default=None),
        highest_share=max(shares, default=None),
        lowest_overlap=min(overlaps, default=None),
        highest_overlap=max(overlaps, default=None),
        apart=best_apart(table.flat, best) if isinstance(table, CurveSet) else (),
        last=_behind(best, alike) if table.heading.x_name == "bytes" else None,
    )


def _behind(best: Cell, alike: Sequence[Cell]) -> Cell | None:
    """Of rates that of the best one's curve at its largest size; None where that is as good, and of times."""
    if best.headline is None or not best.headline.higher_is_better:
        return None
    last = max((entry for entry in alike if entry.series == best.series), key=lambda entry: entry.bytes)
    if last.headline is None:
        return None
    return last if last.headline.value.median < BEHIND * best.headline.value.median else None


def _above_peak(tables: Sequence[Table]) -> tuple[Grouped, ...]:
    """Figures that no link or memory can have delivered, in one remark; none where there are none."""
    where = [(entry.id, table.heading.title) for table in tables for entry in table.flat if entry.above_peak]
    ids, titles = {one for one, _ in where}, dict.fromkeys(title for _, title in where)
    return (Grouped(ABOVE_PEAK, len(ids), tuple(titles)),) if ids else ()


def _reasons(rows: Iterable[Row], status: str) -> Iterator[tuple[Row, str]]:
    return ((row, reason_of(row)) for row in rows if row.status == status)


def _grouped(remarks: Iterable[tuple[Row, str]]) -> tuple[Grouped, ...]:
    """Rows counted by what is remarked of them, the most frequent first; a row with several cells counts once.

    Remarks that differ in their numbers alone are one group; of numbers that differ the least and the most are told.
    """
    where: dict[str, dict[str, Row]] = {}
    texts: dict[str, set[str]] = {}
    for row, text in remarks:
        alike = _NUMBER.sub("…", text)
        where.setdefault(alike, {})[row.id] = row
        texts.setdefault(alike, set()).add(text)
    groups = [
        Grouped(
            _merged(sorted(texts[alike])),
            len(rows),
            tuple(dict.fromkeys(map(title, rows.values()))),
            tuple(dict.fromkeys(f"{row.suite}/{row.name}" for row in rows.values())),
        )
        for alike, rows in where.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.count))


def _merged(texts: Sequence[str]) -> str:
    """Texts that differ in their numbers alone as one: "2 to 7 of 3 replicates"."""
    numbers = [_NUMBER.findall(text) for text in texts]
    spans = [sorted(set(column), key=float) for column in zip(*numbers, strict=True)]
    said = [column[0] if len(column) == 1 else f"{column[0]} to {column[-1]}" for column in spans]
    between = _NUMBER.split(texts[0])
    return "".join(text + number for text, number in zip_longest(between, said, fillvalue=""))
