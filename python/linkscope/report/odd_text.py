"""What is odd in a run, a line each, the gravest first: what is slow, what is far below its peak, what is uncertain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from linkscope.analysis.explain import Diagnosis
from linkscope.analysis.headlines import furthest_below
from linkscope.analysis.overview import Overview
from linkscope.analysis.summary import TableSummary
from linkscope.report import explain_text, wording

FAR_BELOW = 0.7
"""A path whose best figure is below this share of its peak is told as odd."""


def odd(found: Overview, lines: Iterable[TableSummary], diagnosis: Diagnosis, most: int) -> list[Text]:
    """Of each kind at most so many. ``lines``: the tables that may be far below their peak."""
    told = [
        Text(f"{', '.join(one.where)}: {one.what}, {explain_text.lost(one)}", "red")
        for one in diagnosis.shortfalls[:most]
    ]
    for line in furthest_below(lines, FAR_BELOW, most):
        share = wording.percent(line.highest_share or 0.0)
        told.append(Text(f"at most {share} of its peak: {line.heading.title}", "yellow"))
    return [*told, *_uncertain(found)]


def odd_and_where(found: Overview, diagnosis: Diagnosis) -> list[Text]:
    """All of it, with the place of each table's worst figure."""
    lines = {line.heading.title: line for line in furthest_below(found.summary.tables, FAR_BELOW, len(found.tables))}
    told = odd(found, (), diagnosis, len(diagnosis.shortfalls))
    below = [
        Text(f"at most {wording.percent(line.highest_share or 0.0)} of its peak: {title}{_worst(line)}", "yellow")
        for title, line in lines.items()
    ]
    return [*told[: len(diagnosis.shortfalls)], *below, *told[len(diagnosis.shortfalls) :]]


def _worst(line: TableSummary) -> str:
    """Where the lowest figure is; empty where its place says nothing, as that of the smallest size."""
    if line.ok < 2 or line.heading.x_name or line.lowest_share is None:
        return ""
    return f"; lowest {wording.percent(line.lowest_share)} ({wording.place(line.worst, line.heading)})"


def _uncertain(found: Overview) -> Sequence[Text]:
    summary = found.summary
    told = []
    above = sum(one.above_peak for table in found.tables for one in table.flat)
    if above:
        told.append(
            Text(f"{wording.count(above, 'figure')} above the peak: a cache served them, not the path", "yellow")
        )
    if summary.imprecise and not summary.modelled and not summary.imported:
        asked = wording.asked(summary.precision)
        told.append(Text(f"{len(summary.imprecise)} of {summary.figures} intervals are wider than {asked}", "dim"))
    return told
