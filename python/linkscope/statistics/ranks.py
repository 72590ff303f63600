"""Order statistics: the median's distribution-free interval, and percentiles, of samples in ascending order; and
Student's t.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
# Student's t, 0.975 quantile, by degrees of freedom from 1.
_T975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
_Z975 = NormalDist().inv_cdf(0.975)


OF_RANGE = {2: 6.35, 3: 1.35, 4: 0.74, 5: 0.56}
"""Half the width of the 95 % interval of the median of so many normal samples, over their range: simulated. Lord, The
use of range in place of standard deviation in the t-test, Biometrika 34 (1947), has it of the mean."""


def interval_of_range(n: int, median: float, low: float, high: float) -> tuple[float, float]:
    """The 95 % interval of the median of so many positive samples from ``low`` to ``high``, on logarithms: of two to
    five samples that is further than they reach. As they are else, and where they do not scatter."""
    if n not in OF_RANGE or not 0 < low < high:
        return low, high
    factor = (high / low) ** OF_RANGE[n]
    return median / factor, median * factor


@cache
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


@cache
def interval_coverage(n: int) -> float:
    """Return how surely the interval of ``interval_rank`` holds the median of ``n`` samples: 0.97 for six of them."""
    beyond = sum(comb(n, k) for k in range(interval_rank(n)))
    return 1.0 - 2 * (beyond / (1 << n))


def percentile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between the closest ranks of an ascending, non-empty sequence; ``share`` in [0, 1]."""
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def t975(freedom: int) -> float:
    """Return Student's t, the 0.975 quantile, for at least one degree of freedom: a 95% interval reaches that far.

    Above the table it is an expansion about the normal quantile (Abramowitz and Stegun, 26.7.5), right to 1e-4.
    """
    if freedom <= len(_T975):
        return _T975[freedom - 1]
    z = _Z975
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def reciprocal_median(values: Sequence[float]) -> float:
    """Their median, of an even number of positive ones the geometric mean of the middle two: so that of rates is one
    over that of times. Raises IndexError where there are none."""
    ordered = sorted(values)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return sqrt(low) * sqrt(high) if low > 0 and low != high else (low + high) / 2
