"""Beyond noise: which of many ratios of two figures are off one by more than chance makes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars

from linkscope.analysis.size_ranges import Cost
from linkscope.statistics import many
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

COSTS = ("cost", "cost_low", "cost_high")
_TIMES = ("seconds", "seconds_low", "seconds_high")
_RATES = ("gbps", "gbps_high", "gbps_low")


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
    """``many.beyond_noise`` of logarithms."""
    return many.beyond_noise([Interval(*map(math.exp, (one.middle, one.low, one.high))) for one in ratios], tests)
