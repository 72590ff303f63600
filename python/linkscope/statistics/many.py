"""Many: which of many differences are real, where so many are looked at that some differ by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, median

import polars

from linkscope.statistics.interval import Interval
from linkscope.statistics.students_t import two_sided

THRESHOLD = 0.01
"""Relative differences of less matter to nobody."""
FEWEST_ALIKE = 4
"""Ratios whose scatter shows something of their noise."""
_DEVIATIONS = NormalDist().inv_cdf(0.975)
_MEDIAN_DEVIATION = NormalDist().inv_cdf(0.75)
_EFFICIENCY = 0.37
"""Efficiency of the median deviation of normal values, relative to the standard deviation."""


def discoveries(p_values: polars.Series, count: int, alpha: float) -> polars.Series:
    """Return whether each of ``count`` hypotheses is rejected where a share ``alpha`` of the rejections may be false.

    Benjamini and Hochberg's procedure (1995); a null stands for a p value above ``alpha``.
    """
    ranks = p_values.rank("ordinal")
    last = p_values.filter(p_values <= alpha * ranks / count).max()
    return (p_values <= last).fill_null(False) if last is not None else p_values.is_null() & False


def beyond_noise(ratios: Sequence[Interval], tests: int) -> list[bool]:
    """Return for each ratio of one kind, all bounds above 0, whether it differs from one.

    It does by more than 1%, and by more than its 95% interval made wider twice: for ``tests`` ratios of which all are
    to hold at once (Bonferroni), and by the scatter of the ratios about their median where that is more than their
    intervals say (Birge's ratio by the median deviation, with Student's t; from ``FEWEST_ALIKE`` ratios on).
    """
    chance = 0.05 / max(tests, 1)
    wide = -NormalDist().inv_cdf(chance / 2)
    logs, deviations = [math.log(one.value) for one in ratios], [_deviation(one) for one in ratios]
    scatter, freedom = 0.0, _EFFICIENCY * (len(ratios) - 1)
    if len(ratios) >= FEWEST_ALIKE:
        middle = median(logs)
        off = median(abs(log - middle) / one for log, one in zip(logs, deviations, strict=True))
        scatter = max(off, 1e-12) / _MEDIAN_DEVIATION

    def beyond(log: float, deviation: float) -> bool:
        by_scatter = not scatter or two_sided(log / deviation / scatter, freedom) < chance
        return abs(log) > math.log1p(THRESHOLD) and abs(log) / deviation > wide and by_scatter

    return [beyond(log, one) for log, one in zip(logs, deviations, strict=True)]


def _deviation(ratio: Interval) -> float:
    """Return the standard deviation of the logarithm by the side of the interval that is towards one."""
    side = ratio.value / ratio.low if ratio.value > 1 else ratio.high / ratio.value
    return max(math.log(side), 1e-12) / _DEVIATIONS
