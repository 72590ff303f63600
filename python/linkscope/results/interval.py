"""From samples to Stats: median, its distribution-free 95 % interval, and percentiles."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.order_statistics import interval_rank, percentile
from linkscope.results.row import Stats


def stats_of(samples: Sequence[float]) -> Stats:
    """Stats of one quantity's samples, in the unit of the samples. Raises ValueError where there are none."""
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
    """The same Stats in another unit; ``factor`` is positive."""
    return Stats(
        n=stats.n,
        median=stats.median * factor,
        low=stats.low * factor,
        high=stats.high * factor,
        mean=stats.mean * factor,
        min=stats.min * factor,
        p5=stats.p5 * factor,
        p95=stats.p95 * factor,
        p99=stats.p99 * factor,
        max=stats.max * factor,
    )
