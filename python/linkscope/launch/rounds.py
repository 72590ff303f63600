"""Rounds: in which order a run visits its cases, and which of them again.

A round visits cases once, in processes of its own and in an order of its own, so that a case's replicates are spread
over the run: what drifts meanwhile falls on all cases alike, and is seen.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.plan.budget import Costs, RoundLimits, most_telling_first
from linkscope.plan.planned_case import PlannedCase
from linkscope.results.replicates import MOST_FAILURES, folded
from linkscope.results.row import Row
from linkscope.statistics.ranks import t975

Json = dict[str, Any]


@dataclass
class Rounds:
    """Track the rest of a run whose ``cases`` shall be known to ``precision``; ``take`` tells it of each row."""

    cases: Sequence[PlannedCase]
    limits: RoundLimits
    precision: float
    seed: str
    deadline: float = math.inf
    """After which no round begins, by the monotonic clock."""
    start_s: float = 0.0
    """Seconds that the start of a round's processes takes."""
    costs: Costs = field(default_factory=Costs)
    _rows: defaultdict[str, dict[int, Row]] = field(default_factory=lambda: defaultdict(dict))
    _settled: set[str] = field(default_factory=set)
    _known: dict[str, tuple[int, Row | None]] = field(default_factory=dict)
    """Folded row and its number of replicates, by case."""

    def take(self, rows: Iterable[Row]) -> None:
        """Knows that these have been measured, in this run or before it was interrupted."""
        for row in rows:
            self._rows[row.id][row.replicate] = row

    def settle(self, cases: Iterable[PlannedCase]) -> None:
        """Visits these no more."""
        self._settled.update(case.id for case in cases)

    def lacks(self, case: PlannedCase) -> bool:
        """Return whether a round that visits all has still to visit the case."""
        return any(self._wants(case, number) for number in range(self.limits.least))

    def lacks_all(self, case: PlannedCase) -> bool:
        """Return whether nothing is known of the case."""
        return not self._rows[case.id]

    def __iter__(self) -> Iterator[tuple[int, list[PlannedCase]]]:
        """(number from 0, its cases in order) of each round; the rows of one are taken before the next is asked for."""
        for number in range(self.limits.most):
            wanted = [case for case in self.cases if self._wants(case, number)]
            if number and not math.isinf(self.deadline):
                wanted = self._widest(wanted, self.deadline - time.monotonic() - self.start_s)
                if not wanted:
                    return
            if wanted:
                yield number, self._shuffled(wanted, number)

    def _wants(self, case: PlannedCase, number: int) -> bool:
        rows = self._rows[case.id]
        if case.skip is not None:
            return number == 0 and not rows
        if number in rows or case.id in self._settled or any(row.status == "skipped" for row in rows.values()):
            return False
        if sum(row.status == "failed" for row in rows.values()) > MOST_FAILURES:
            return False
        return number < self.limits.least or self._worth_more(case)

    def _worth_more(self, case: PlannedCase) -> bool:
        """Return whether further rounds may narrow its interval to the requested width, or its figure needs them. With
        a budget, whether it is wider at all."""
        margin = self._margin(case)
        known = sum(row.status == "ok" for row in self._rows[case.id].values())
        if known < 2 or not math.isinf(self.deadline):
            return margin > self.precision
        within_reach = margin <= self.precision * _width(known) / _width(self.limits.most)
        return margin > self.precision and (within_reach or self._unknown(case))

    def _margin(self, case: PlannedCase) -> float:
        """Return the margin of its figure so far; unknown with one replicate."""
        found = self._folded(case)
        return math.inf if found is None else found.margin

    def _unknown(self, case: PlannedCase) -> bool:
        found = self._folded(case)
        return found is not None and found.watched is not None and found.watched.unknown

    def _folded(self, case: PlannedCase) -> Row | None:
        """Return its replicates so far as one row; None with fewer than two."""
        rows = self._rows[case.id]
        if sum(row.status == "ok" for row in rows.values()) < 2:
            return None
        count, found = self._known.get(case.id, (0, None))
        if count != len(rows):
            found = folded([rows[number] for number in sorted(rows)])
            self._known[case.id] = (len(rows), found)
        return found

    def _widest(self, wanted: list[PlannedCase], share: float) -> list[PlannedCase]:
        """Return those that are known worst, as many as take ``share`` seconds."""
        chosen: list[PlannedCase] = []
        for case in sorted(wanted, key=self._margin, reverse=True):
            cost = self._cost(case)
            if cost <= share:
                chosen.append(case)
                share -= cost
        return chosen

    def _cost(self, case: PlannedCase) -> float:
        """Seconds that one visit takes, by those so far."""
        rows = self._rows[case.id].values()
        return sum(row.elapsed_s for row in rows) / len(rows) if rows else 0.0

    def tuned(self, cases: Iterable[PlannedCase]) -> Json:
        """Return the launch shapes that earlier visits of ``cases`` found best, by tuning group."""
        found: Json = {}
        for case in cases:
            for _, row in sorted(self._rows[case.id].items(), reverse=True):
                for flow, result in zip(case.case["flows"], row.flows, strict=False):
                    if result.was_tuned and flow.get("tuning_group"):
                        found[flow["tuning_group"]] = result.setting
        return found

    def _shuffled(self, cases: list[PlannedCase], number: int) -> list[PlannedCase]:
        """In random order; what tells most for its time first where a budget may not last for the first round."""
        runnable = [case for case in cases if case.skip is None]
        if number == 0 and self.limits.least == 1 and not math.isinf(self.deadline):
            ordered = most_telling_first([one.case for one in runnable], self.costs)
            place = {case["id"]: i for i, case in enumerate(ordered)}
            runnable.sort(key=lambda case: place[case.id])
        elif self.limits.most > 1:
            random.Random(f"{self.seed} {number}").shuffle(runnable)
        return [case for case in cases if case.skip is not None] + runnable


def _width(replicates: int) -> float:
    """Return the width of Student's interval of so many replicates, in their standard deviations."""
    return t975(replicates - 1) / math.sqrt(replicates)
