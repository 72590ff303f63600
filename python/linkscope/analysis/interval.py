"""From samples to Stats: median, its distribution-free 95 % interval, and percentiles."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.results.row import Stats

CONFIDENCE = 0.95


def interval_rank(n: int, confidence: float = CONFIDENCE) -> int:
    """Rank k (from 1) such that the k-th smallest and k-th largest of ``n`` samples bound the median.

    The largest k whose interval covers the median with at least ``confidence``, whatever the distribution
    (binomial order statistics: David and Nagaraja, Order Statistics, section 7.1). 1 where even the
    extremes cover less, which is so below six samples.
    """
    ways, at_most, rank = 1, 1, 0  # of C(n, rank) and their sum so far: whole numbers, exact for any n
    while at_most / 2**n <= (1 - confidence) / 2:
        ways = ways * (n - rank) // (rank + 1)
        at_most += ways
        rank += 1
    return max(rank, 1)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between the closest ranks of an ascending, non-empty sequence; ``share`` in [0, 1]."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


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
