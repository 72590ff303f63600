"""Best: who takes the least, and who ties with it. This is the one definition of best and of a tie.

Costs are times, or inverses of rates (``Interval.inverse``). Two differ where the 95% interval of their ratio leaves
out 1 and their values differ by more than ``AS_GOOD``. That interval takes both as independent on logarithms; where
several runs have both, it is that of the ratios within each run, as a disturbed run slows both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from linkscope.statistics.interval import UNKNOWN_FROM, Interval
from linkscope.statistics.ranks import t975

AS_GOOD = 0.01
"""Nobody chooses by a smaller relative difference."""
LEAST_BOUND = 1e-12
"""Lower bound of a cost relative to its value, where its interval has none."""
_WIDEST = math.log(1e12)


@dataclass(frozen=True)
class Cost(Interval):
    """A cost above 0. ``of_runs``: the cost in each of several runs, where all have it; ``within``: the relative half
    width that samples leave in one of them."""

    of_runs: tuple[float, ...] = ()
    within: float = 0.0

    def over(self, other: Interval) -> Interval:
        """Return the ratio to another cost: paired within runs where both are known in each of the same several runs.

        Student's interval of the paired ratios is no narrower than what samples leave open, as runs may agree by
        chance or to a tick of the clock.
        """
        if not _paired(self, other):
            return super().over(other)
        assert isinstance(other, Cost)
        logs = [math.log(a) - math.log(b) for a, b in zip(self.of_runs, other.of_runs, strict=True)]
        between = t975(len(logs) - 1) * stdev(logs)
        middle, within = fmean(logs), math.hypot(self.within, other.within) if self is not other else 0.0
        margin = min(max(between, within) / math.sqrt(len(logs)), _WIDEST)
        return Interval(math.exp(middle), math.exp(middle - margin), math.exp(middle + margin))


Costs = Mapping[str, Interval]
"""Cost of each rival, by name."""


def best(costs: Costs) -> tuple[str, ...]:
    """Return the name with the least cost, then those that tie with it, cheapest first; () of no costs."""
    if not costs:
        return ()
    ordered = sorted(costs, key=lambda name: costs[name].value)
    return tuple(name for name in ordered if not dearer(costs[name], costs[ordered[0]]))


def dearer(cost: Interval, other: Interval) -> bool:
    """Return whether ``cost`` is above ``other`` beyond their intervals, and by more than ``AS_GOOD``."""
    ratio = cost.over(other)
    return ratio.low > 1 and ratio.value > 1 + AS_GOOD


def undecided(costs: Costs) -> bool:
    """Return whether the best is open: one of several that tie has an interval beyond a factor of ``UNKNOWN_FROM``."""
    same = best(costs)
    return len(same) > 1 and any(_unknown(costs[name], costs[same[0]]) for name in same)


def in_each_run(of_runs: Sequence[Sequence[float] | None]) -> tuple[float, ...]:
    """Return the medians in each of several runs of what several paths or cases cost; () where one lacks a run."""
    known = [one for one in of_runs if one is not None]
    usable = len(known) == len(of_runs) and all(_SHORTEST_S < cost < _LONGEST_S for one in known for cost in one)
    return tuple(median(costs) for costs in zip(*known, strict=True)) if usable else ()


_SHORTEST_S, _LONGEST_S = 1e-15, 1e6
"""Beyond these no cost is a time that anybody measured."""


def _unknown(cost: Interval, least: Interval) -> bool:
    """Return whether a bound of the cost, or of its paired ratio to the least, is beyond ``UNKNOWN_FROM``."""
    if _paired(cost, least):
        ratio = cost.over(least)
        return ratio.value / ratio.low > UNKNOWN_FROM
    return max(cost.high / cost.value, cost.value / cost.low) > UNKNOWN_FROM


def _paired(cost: Interval, other: Interval) -> bool:
    return isinstance(cost, Cost) and isinstance(other, Cost) and len(cost.of_runs) == len(other.of_runs) > 1
