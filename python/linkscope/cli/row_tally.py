"""RowTally: what has come of one test of a suite so far, in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.cli.row_result import RowResult, end_of_curve, results_of, span
from linkscope.messages import numbers
from linkscope.plan.budget import row_of
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]


@dataclass
class RowTally:
    """``name``: as users pick it. ``open``: ids of its cases that have not been visited yet.

    ``found``: its results so far; where ``show`` is curve, ``end_of_curve`` of them is shown. ``seconds``: what its
    visits took.
    """

    name: str
    cases: int
    show: str
    open: set[str]
    found: list[RowResult] = field(default_factory=list)
    seconds: float = 0.0
    failed: int = 0
    skipped: int = 0

    def take(self, row: Json) -> bool:
        """Count the row of a visit. Return whether it was the last of the first visits of all cases."""
        self.seconds += float(row.get("elapsed_s", 0.0))
        if row["id"] not in self.open:
            return False
        self.open.discard(row["id"])
        self.failed += row["status"] == "failed"
        self.skipped += row["status"] == "skipped"
        self.found += results_of(row)
        return not self.open

    @property
    def line(self) -> str:
        """Return "d2d  12 cases  393.5-396.4 GB/s  41 s"."""
        counts = ((self.skipped, "skipped"), (self.failed, "failed"))
        without = [word if number == self.cases else f"{number} {word}" for number, word in counts if number]
        took = [numbers.duration(self.seconds)] if self.seconds >= 1 else []
        results = end_of_curve(self.found) if self.show == "curve" else span(self.found)
        shown = filter(None, [results])
        return "  ".join([self.name, f"{numbers.count(self.cases, 'case'):>9}", *shown, *without, *took])


def tallies(cases: Sequence[PlannedCase]) -> dict[str, RowTally]:
    """Return a tally by suite and test ("default/d2d") of all that have a case to visit, names padded to one width.

    Of one suite the tests' own names are enough.
    """
    members: dict[str, list[Json]] = {}
    for one in cases:
        if one.skip is None:
            members.setdefault(row_of(one.case), []).append(one.case)
    one_suite = len({name.partition("/")[0] for name in members}) == 1
    names = {name: name.partition("/")[2] if one_suite else name for name in members}
    width = max(map(len, names.values()), default=0)
    return {
        name: RowTally(
            names[name].ljust(width),
            len(part),
            str(part[0]["labels"].get("show", "list")),
            {one["id"] for one in part},
        )
        for name, part in members.items()
    }
