"""Stats: what is known of one quantity's samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from linkscope.statistics.interval import UNKNOWN_FROM
from linkscope.statistics.modes import LEAST_STEP, two_modes
from linkscope.statistics.ranks import interval_rank, percentile

_FEWEST_IN_TAILS = 20
"""Samples from which 5% of them are one, so that no mode lies beyond their 5th or 95th percentile."""
LARGEST = 1 << 53
"""Bytes and counts that a float still holds."""

Natural = Annotated[int, Meta(ge=1, le=LARGEST)]
Number = Annotated[float, Meta(ge=0, le=1e18)]


class Stats(Struct, frozen=True, gc=False):
    """Statistics of samples, in their unit. ``low`` to ``high`` is the distribution-free 95% interval of the median."""

    n: Natural
    median: Number
    low: Number
    high: Number
    mean: Number
    min: Number
    p5: Number
    p95: Number
    p99: Number
    max: Number

    @property
    def unknown(self) -> bool:
        """Return whether a bound of the interval is further from the median than ``UNKNOWN_FROM``."""
        low, middle, high = self.low, self.median, self.high
        return middle > 0 and low != high and (low <= 0 or max(high / middle, middle / low) > UNKNOWN_FROM)


def stats_of(samples: Sequence[float]) -> Stats:
    """Return the statistics of samples. Raises ValueError where there are none."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    n = len(ordered)
    rank = interval_rank(n)
    return Stats(
        n=n,
        median=percentile(ordered, 0.5),
        low=ordered[rank - 1],
        high=ordered[n - rank],
        mean=sum(ordered) / n,
        min=ordered[0],
        p5=percentile(ordered, 0.05),
        p95=percentile(ordered, 0.95),
        p99=percentile(ordered, 0.99),
        max=ordered[-1],
    )


def scaled(stats: Stats, factor: float) -> Stats:
    """Return the statistics in another unit; ``factor`` is positive."""
    n, *values = (getattr(stats, name) for name in Stats.__struct_fields__)
    return Stats(n, *(value * factor for value in values))


def modes_of(stats: Sequence[Stats], samples: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return the ``two_modes`` of replicates' samples, whose statistics rule most out at once."""
    low = min([one.min if one.n < _FEWEST_IN_TAILS else one.p5 for one in stats])
    high = max([one.max if one.n < _FEWEST_IN_TAILS else one.p95 for one in stats])
    return None if high < low * LEAST_STEP else two_modes(samples)
