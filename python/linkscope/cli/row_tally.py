"""RowTally: what has come of one row of a suite so far, in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from linkscope.analysis.by_flow import apart
from linkscope.analysis.headline import RATE_UNIT, Headline, headline, shared_unit
from linkscope.plan.budget import row_of
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import wording
from linkscope.results.row import Row

Json = dict[str, Any]

MOST_TITLE = 36
"""Characters of a title: its line fits a terminal of 80."""


@dataclass
class RowTally:
    """``title``: what its tables' titles have in common. ``open``: ids of its cases that have not been visited yet.

    ``found``: its figures so far; where ``show`` is curve the best alone is told. ``seconds``: what its visits took.
    """

    title: str
    cases: int
    show: str
    open: set[str]
    found: list[Headline] = field(default_factory=list)
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
        figures_found = filter(None, [span(self.found, self.show)])
        return "  ".join([self.title, f"{wording.count(self.cases, 'case'):>9}", *figures_found, *without, *took])


def tallies(cases: Sequence[PlannedCase]) -> dict[str, RowTally]:
    """A tally by suite and row ("default/d2d") of all that have a case to visit, titles padded to one width."""
    members: dict[str, list[Json]] = {}
    for one in cases:
        if one.skip is None:
            members.setdefault(row_of(one.case), []).append(one.case)
    titles = {name: wording.shortened(_shared_title(name, part), MOST_TITLE) for name, part in members.items()}
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


def figures(row: Json) -> list[Headline]:
    """All that the row is read for; none where it has none."""
    return [found for part in apart([Row.from_json(row)]) if (found := headline(part)) is not None]


def span(found: Sequence[Headline], show: str = "") -> str:
    """Such as "393.5–396.4 GB/s"; where ``show`` is curve the best alone; empty for none."""
    rates = [one for one in found if one.unit == RATE_UNIT]
    times = [one for one in found if one.unit != RATE_UNIT]
    if times:
        unit = shared_unit([one.seconds for one in times])
        times = [one.in_unit(unit) for one in times]
    parts = []
    for alike, best, word in ((rates, max, "up to"), (times, min, "from")):
        values = sorted(one.value.median for one in alike)
        if values and show == "curve":
            parts.append(f"{word} {wording.value(best(values))} {alike[0].unit}")
        elif values:
            ends = dict.fromkeys((wording.value(values[0]), wording.value(values[-1])))
            parts.append(f"{'–'.join(ends)} {alike[0].unit}")
    return ", ".join(parts)


def _shared_title(name: str, cases: Sequence[Json]) -> str:
    """What the titles begin with, in whole parts; the row's name where that is nothing."""
    titles = list(dict.fromkeys(str(case["labels"].get("title") or case["name"]) for case in cases))
    if len(titles) == 1:
        return titles[0]
    alike = takewhile(lambda parts: len(set(parts)) == 1, zip(*(title.split(", ") for title in titles), strict=False))
    return ", ".join(parts[0] for parts in alike) or name
