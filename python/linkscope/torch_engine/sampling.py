"""Sampling: how often a transfer repeats in a sample, and when there are enough samples; as engine/measure has it."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from linkscope.order_statistics import interval_rank, percentile
from linkscope.torch_engine.plan import Options

FEWEST_FOR_INTERVAL = 6
"""Samples of which two order statistics enclose the median with 95 % confidence."""
_FEWEST_IN_BUDGET = 3
_MOST_REPEATS = 1 << 22
_SHORTEST_S = 1e-10


def repeats_for(per_transfer_s: float, target_s: float, most: int) -> int:
    """Repeats of a transfer for a sample of ``target_s`` seconds; a clock's rounding is forgiven."""
    wanted = math.ceil(target_s / max(per_transfer_s, _SHORTEST_S) * (1 - 1e-6))
    return max(1, min(wanted, most, _MOST_REPEATS))


class StoppingRule:
    """Watches one figure. Precision counts as reached only when the interval is narrow enough and the later half of the
    samples has the same median as the earlier half: an interval of order statistics believes that samples are
    independent, and a drift would make it narrower than the truth.
    """

    def __init__(self, options: Options, budget_s: float) -> None:
        self._options = options
        self._budget_s = budget_s
        self._in_order: list[float] = []
        self._ascending: list[float] = []

    def add(self, value: float) -> None:
        self._in_order.append(value)
        bisect.insort(self._ascending, value)

    def decide(self, spent_s: float) -> str | None:
        """Why to stop now (precision, samples, budget), if at all. ``spent_s``: the sampling's wall time so far."""
        n = len(self._in_order)
        if n >= max(self._options.min_samples, FEWEST_FOR_INTERVAL) and self._precise():
            return "precision"
        if n >= self._options.max_samples:
            return "samples"
        if n >= _FEWEST_IN_BUDGET and spent_s >= self._budget_s:
            return "budget"
        return None

    def drift(self) -> float:
        """Median of the later half over the median of the earlier half, less one."""
        half = len(self._in_order) // 2
        if half == 0:
            return 0.0
        return _median(self._in_order[-half:]) / _median(self._in_order[:half]) - 1

    def caveats(self) -> list[str]:
        """Remarks on how far the interval can be trusted; none where it can."""
        n = len(self._in_order)
        if n < FEWEST_FOR_INTERVAL:
            return [f"only {n} samples: the interval is their range, its confidence below 95 %"]
        if abs(self.drift()) > self._options.precision:
            return [f"drift: the later half of the samples is {100 * self.drift():+.1f} % off the earlier half"]
        return []

    def _precise(self) -> bool:
        n = len(self._ascending)
        rank = interval_rank(n)
        median = percentile(self._ascending, 0.5)
        # The same for a time and for the rate that is its reciprocal.
        margin = max(self._ascending[n - rank] / median, median / self._ascending[rank - 1]) - 1
        return margin <= self._options.precision and abs(self.drift()) <= self._options.precision


def _median(values: Sequence[float]) -> float:
    return percentile(sorted(values), 0.5)
