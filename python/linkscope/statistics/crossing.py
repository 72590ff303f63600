"""Crossing: from which size on a measured curve is above a value for good."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from linkscope.statistics.interval import Interval

Curve = Sequence[tuple[int, Interval]]
"""Values by size in bytes, ascending."""


def crossing(curve: Curve, wanted: Interval) -> Interval | None:
    """Return the size from which on all values are at least ``wanted``; None where all are.

    Between two measured sizes it is interpolated, both on logarithms. ``low`` and ``high``: the measured sizes between
    which it surely is, as before ``low`` not even upper bounds reach the lower bound of ``wanted``, and from ``high``
    on all lower bounds reach its upper one.
    """
    sizes = [size for size, _ in curve]
    middle = _exceeding([(size, one.value) for size, one in curve], wanted.value)
    if middle is None:
        return None
    low = _exceeding([(size, one.high) for size, one in curve], wanted.low) or sizes[0]
    high = _exceeding([(size, one.low) for size, one in curve], wanted.high) or middle
    return Interval(
        middle,
        max(size for size in sizes if size <= max(min(low, middle), sizes[0])),
        min(size for size in sizes if size >= min(max(high, middle), sizes[-1])),
    )


def _exceeding(points: Sequence[tuple[int, float]], wanted: float) -> float | None:
    """Return where values exceed ``wanted`` for good; the last size where they never do, None where they always do."""
    for (size, value), (larger, more) in reversed(list(pairwise(points))):
        if value < wanted <= more:
            if value <= 0 or size <= 0:
                return float(larger)
            share = math.log(wanted / value) / math.log(more / value)
            return math.exp(math.log(size) + math.log(larger / size) * share)
        if more < wanted:
            return float(larger)
    return None if points[0][1] >= wanted else float(points[-1][0])
