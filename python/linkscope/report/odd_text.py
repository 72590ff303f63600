"""What is odd in a run, a line each, the gravest first: what is slow, what is far below its peak, what is above it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from linkscope.analysis.explain import Diagnosis
from linkscope.analysis.headlines import furthest_below
from linkscope.analysis.overview import Overview
from linkscope.analysis.summary import Summary, TableSummary
from linkscope.report import explain_text, wording
from linkscope.report.wording import TOGETHER
from linkscope.results.figure_class import LARGE

FAR_BELOW = 0.7
"""A path whose best figure is below this share of its peak is told as odd."""


def odd(found: Overview, lines: Iterable[TableSummary], diagnosis: Diagnosis, most: int) -> list[Text]:
    """Of each kind at most so many. ``lines``: the tables that may be far below their peak."""
    told = [
        Text(f"{', '.join(one.where)}: {one.what}, {explain_text.lost(one)}", "red")
        for one in diagnosis.shortfalls[:most]
    ]
    for line in furthest_below(_unexplained(found, lines, diagnosis), FAR_BELOW, most):
        told.append(Text(_below(line), "yellow"))
    return [*told, *_above(found)]


def odd_and_where(found: Overview, diagnosis: Diagnosis) -> list[Text]:
    """All of it, with the place of each table's worst figure."""
    unexplained = _unexplained(found, found.summary.tables, diagnosis)
    lines = {line.heading.title: line for line in furthest_below(unexplained, FAR_BELOW, len(found.tables))}
    told = odd(found, (), diagnosis, len(diagnosis.shortfalls))
    below = [Text(f"{_below(line)}{_worst(line)}", "yellow") for line in lines.values()]
    return [*told[: len(diagnosis.shortfalls)], *below, *told[len(diagnosis.shortfalls) :]]


def imprecision(summary: Summary) -> str:
    """How many intervals are wider than asked; empty where none is, or there are none. On busy hosts that is usual, so
    it is not told as odd."""
    if not summary.imprecise or wording.mark(summary):
        return ""
    asked = wording.asked(summary.precision)
    return f"{len(summary.imprecise)} of {wording.count(summary.figures, 'figure')} with intervals wider than {asked}"


def _unexplained(found: Overview, lines: Iterable[TableSummary], diagnosis: Diagnosis) -> list[TableSummary]:
    """Without those whose best figure is what such a path is expected to reach; of a model every figure is. Small
    transfers are slow by design: a table without others is left out, too."""
    if found.summary.modelled:
        return []
    expected = {one.id for one in diagnosis.accounts if one.expected_gbps is not None and not one.short}
    expected |= {one.id for one in diagnosis.collectives}
    large = {table.heading for table in found.tables if any(cell.bytes >= LARGE for cell in table.flat)}
    return [line for line in lines if line.best.id not in expected and line.heading in large]


def _below(line: TableSummary) -> str:
    """How far, and whether that tells of the path at all: of flows that took turns it does not."""
    apart = line.highest_overlap is not None and line.highest_overlap < TOGETHER
    share = f"at most {wording.percent(line.highest_share or 0.0)}"
    return f"{share}{', as flows ran apart' if apart else ' of its peak'}: {line.heading.title}"


def _worst(line: TableSummary) -> str:
    """The lowest share, and where that is the lowest figure, its place; empty where it says nothing, as that of the
    smallest size."""
    if line.ok < 2 or line.heading.x_name or line.lowest_share is None:
        return ""
    place = f" ({wording.place(line.worst, line.heading)})" if line.worst.share == line.lowest_share else ""
    return f"; lowest {wording.percent(line.lowest_share)}{place}"


def _above(found: Overview) -> list[Text]:
    above = sum(one.above_peak for table in found.tables for one in table.flat)
    told = f"{wording.count(above, 'figure')} above the peak: a cache served them, not the path"
    return [Text(told, "yellow")] if above else []
