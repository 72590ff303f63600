"""Beyond noise: which of many ratios of two figures are off one by more than chance makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Any

import polars

from linkscope.analysis.size_ranges import AS_GOOD, Cost
from linkscope.statistics.students_t import two_sided

Json = dict[str, Any]

FEWEST_ALIKE = 4
"""Ratios whose scatter says something of their noise."""
COSTS = ("cost", "cost_low", "cost_high")
_TIMES = ("seconds", "seconds_low", "seconds_high")
_RATES = ("gbps", "gbps_high", "gbps_low")
_DEVIATIONS = NormalDist().inv_cdf(0.975)
_MEDIAN_DEVIATION = NormalDist().inv_cdf(0.75)
_EFFICIENCY = 0.37
"""Of the median deviation of normal values: as few of them would give the standard deviation as well."""


@dataclass(frozen=True)
class CostRatio:
    """Logarithm of the ratio of two costs, with its 95 % interval."""

    middle: float
    low: float
    high: float

    @staticmethod
    def of(cost: Cost, other: Cost) -> CostRatio:
        """Of ``cost`` to ``other``."""
        return CostRatio(*cost.over(other))

    @property
    def deviation(self) -> float:
        """Standard deviation by the side of the interval that is towards no difference."""
        side = self.middle - self.low if self.middle > 0 else self.high - self.middle
        return max(side, 1e-12) / _DEVIATIONS


def with_cost(figures: polars.DataFrame) -> polars.DataFrame:
    """With columns ``cost``, ``cost_low`` and ``cost_high``, a latency or the inverse of a rate.

    Lines that have none are left out.
    """
    is_time = polars.col("figure").cast(polars.String) == "latency"
    columns = [
        polars.when(is_time).then(polars.col(time)).otherwise(1 / polars.col(rate)).alias(name)
        for time, rate, name in zip(_TIMES, _RATES, COSTS, strict=True)
    ]
    return figures.with_columns(columns).filter(polars.col("cost_low") > 0)


def cost_of(line: Json, suffix: str = "") -> Cost:
    """From a line with the columns of ``with_cost``."""
    return Cost(*(line[f"{name}{suffix}"] for name in COSTS))


def marked(lines: Sequence[tuple[CostRatio, Json]], kind: Sequence[str]) -> list[Json]:
    """The lines with ``beyond``: whether the ratio is more than noise, by ``beyond_noise`` within those alike in the
    columns ``kind``."""
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for number, (_, line) in enumerate(lines):
        kinds.setdefault(tuple(line[name] for name in kind), []).append(number)
    beyond: dict[int, bool] = {}
    for members in kinds.values():
        beyond |= zip(members, beyond_noise([lines[number][0] for number in members], len(lines)), strict=True)
    return [{**line, "beyond": beyond[number]} for number, (_, line) in enumerate(lines)]


def beyond_noise(ratios: Sequence[CostRatio], tests: int) -> list[bool]:
    """For each of ``ratios`` of one kind whether it is off one.

    By more than 1 %, and by more than a 95 % interval made wider twice: for ``tests`` ratios being looked at, of which
    all are to hold at once (Bonferroni), and by the scatter of the ratios about their median, where that is more than
    their intervals say (Birge's ratio by the median deviation, with Student's t of as little freedom as that has; from
    at least ``FEWEST_ALIKE`` ratios).
    """
    chance = 0.05 / max(tests, 1)
    wide = -NormalDist().inv_cdf(chance / 2)
    scatter, freedom = 0.0, _EFFICIENCY * (len(ratios) - 1)
    if len(ratios) >= FEWEST_ALIKE:
        middle = median(ratio.middle for ratio in ratios)
        off = median(abs(ratio.middle - middle) / ratio.deviation for ratio in ratios)
        scatter = max(off, 1e-12) / _MEDIAN_DEVIATION

    def beyond(one: CostRatio) -> bool:
        deviations = abs(one.middle) / one.deviation
        by_scatter = not scatter or two_sided(deviations / scatter, freedom) < chance
        return abs(one.middle) > math.log1p(AS_GOOD) and deviations > wide and by_scatter

    return [beyond(one) for one in ratios]
