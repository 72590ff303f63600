"""RowTally: what has come of one row of a suite so far, in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import payload, regime
from linkscope.analysis.headline import RATE_UNIT, Headline, headline, shared_unit
from linkscope.analysis.rivals import set_apart
from linkscope.plan.budget import row_of
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import wording
from linkscope.results.row import Row

Json = dict[str, Any]

MOST_TITLE = 33
"""Characters of a title: its line fits a terminal of 80."""


@dataclass(frozen=True)
class Found:
    """A figure; ``x``: its place on its table's axis, in words ``at``; ``regime``: what it was timed by."""

    headline: Headline
    x: float
    at: str
    regime: str


@dataclass
class RowTally:
    """``title``: what its tables' titles have in common. ``open``: ids of its cases that have not been visited yet.

    ``found``: its figures so far; where ``show`` is curve, ``at_the_end`` of them is told. ``seconds``: what its visits
    took.
    """

    title: str
    cases: int
    show: str
    open: set[str]
    found: list[Found] = field(default_factory=list)
    seconds: float = 0.0
    failed: int = 0
    skipped: int = 0

    def take(self, row: Json) -> bool:
        """Counts the row of a visit; whether it was the last of the first visits of all cases."""
        self.seconds += float(row.get("elapsed_s", 0.0))
        if row["id"] not in self.open:
            return False
        self.open.discard(row["id"])
        self.failed += row["status"] == "failed"
        self.skipped += row["status"] == "skipped"
        self.found += figures(row)
        return not self.open

    @property
    def line(self) -> str:
        """Such as "GPU to GPU  12 cases  393.5–396.4 GB/s  41 s"."""
        counts = ((self.skipped, "skipped"), (self.failed, "failed"))
        without = [word if number == self.cases else f"{number} {word}" for number, word in counts if number]
        took = [wording.duration(self.seconds)] if self.seconds >= 1 else []
        told = at_the_end(self.found) if self.show == "curve" else span([one.headline for one in self.found])
        figures_found = filter(None, [told])
        return "  ".join([self.title, f"{wording.count(self.cases, 'case'):>9}", *figures_found, *without, *took])


def tallies(cases: Sequence[PlannedCase]) -> dict[str, RowTally]:
    """A tally by suite and row ("default/d2d") of all that have a case to visit, titles padded to one width. Rows whose
    titles are one, or one where they are cut, have their names instead."""
    members: dict[str, list[Json]] = {}
    for one in cases:
        if one.skip is None:
            members.setdefault(row_of(one.case), []).append(one.case)
    titles = _titles(members)
    width = max(map(len, titles.values()), default=0)
    return {
        name: RowTally(
            titles[name].ljust(width),
            len(part),
            str(part[0]["labels"].get("show", "list")),
            {one["id"] for one in part},
        )
        for name, part in members.items()
    }


def figures(row: Json) -> list[Found]:
    """All that the row is read for; none where it has none."""
    parts = apart([Row.from_json(row)])
    return [Found(figure, *_place(part), regime(part)) for part in parts if (figure := headline(part)) is not None]


def span(found: Sequence[Headline]) -> str:
    """Such as "393.5–396.4 GB/s"; empty for none."""
    parts = []
    for alike in _by_kind(found):
        values = sorted(one.value.median for one in alike)
        ends = dict.fromkeys((wording.value(values[0]), wording.value(values[-1])))
        parts.append(f"{'–'.join(ends)} {alike[0].unit}")
    return ", ".join(parts)


def at_the_end(found: Sequence[Found]) -> str:
    """What a curve is read for: "1.02 us at 1 B", of times the shortest at the smallest size, of rates the highest at
    the largest; of several regimes the one with most figures, one call one way before others. Empty for none."""
    parts = []
    for alike in ([one for one in found if one.headline.higher_is_better is rate] for rate in (True, False)):
        if not alike:
            continue
        counts = Counter(one.regime for one in alike)
        timed = max(counts, key=lambda name: (not set_apart(name), counts[name]))
        figures_of = [one for one in alike if one.regime == timed]
        if alike[0].headline.higher_is_better:
            best = max(figures_of, key=lambda one: (one.x, one.headline.value.median))
        else:
            best = min(figures_of, key=lambda one: (one.x, one.headline.seconds))
        parts.append(f"{wording.value(best.headline.value.median)} {best.headline.unit} at {best.at}")
    return ", ".join(parts)


def _by_kind(found: Sequence[Headline]) -> list[list[Headline]]:
    """Rates, then times in one unit; without empty ones."""
    rates = [one for one in found if one.unit == RATE_UNIT]
    times = [one for one in found if one.unit != RATE_UNIT]
    if times:
        unit = shared_unit([one.seconds for one in times])
        times = [one.in_unit(unit) for one in times]
    return [alike for alike in (rates, times) if alike]


def _place(row: Row) -> tuple[float, str]:
    """On the axis of its curve, and in words: 1024 and "1 KiB", 8 and "8 threads"."""
    x, axis = row.labels.get("x"), str(row.labels.get("x_name", "bytes"))
    place = float(x) if isinstance(x, (int, float)) else float(payload(row))
    words = wording.x_value(place, axis)
    return place, words if not words.isdigit() else f"{words} {wording.x_title(axis)}"


def _titles(members: Mapping[str, Sequence[Json]]) -> dict[str, str]:
    """By suite and row, no two alike."""
    titles = {name: wording.shortened(_shared_title(name, part), MOST_TITLE) for name, part in members.items()}
    times, names = Counter(titles.values()), Counter(name.rpartition("/")[2] for name in members)
    return {
        name: title if times[title] == 1 else row if names[row := name.rpartition("/")[2]] == 1 else name
        for name, title in titles.items()
    }


def _shared_title(name: str, cases: Sequence[Json]) -> str:
    """What the titles begin with, in whole parts; the row's name where that is nothing."""
    titles = list(dict.fromkeys(str(case["labels"].get("title") or case["name"]) for case in cases))
    if len(titles) == 1:
        return titles[0]
    alike = takewhile(lambda parts: len(set(parts)) == 1, zip(*(title.split(", ") for title in titles), strict=False))
    return ", ".join(parts[0] for parts in alike) or name
