"""Why the replicates of a case differ: two modes, a drift, from visit to visit, or no more than samples do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from statistics import fmean, median

from linkscope.results.row import FlowResult

WIDE = 0.02
"""Replicates that differ by less need no reason."""
LEAST_GAP = math.log(1.15)
"""Logarithm of how far two modes lie apart at least."""
_STEP = math.exp(LEAST_GAP) * (1 - 1e-9)
"""The same as a factor, below which rounding can't bring it."""
_LEAST_SHARE = 0.15
_FEWEST_SAMPLES = 12
_IN_EACH = 2
_FACTOR_FROM = 0.5
_APART = 4.0
_MOSTLY = 0.5
_ROUNDING = 1e-9
_FEWEST_FOR_DRIFT = 4


def two_modes(replicates: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The medians of two groups of samples (smaller first) between which next to nothing lies; None where there is but
    one. ``replicates``: the samples of each, in any unit; each replicate counts the same, however many it has.

    Each group has 15 % of the weight at least; the gap between them is 15 % at least, and wider than either group is
    between its own 10th and 90th percentile. Few replicates fall into two groups by chance: unless one of them has
    both, two must lie in each group, and the gap be four times as wide.
    """
    positive = [[sample for sample in samples if sample > 0] for samples in replicates]
    held = [samples for samples in positive if samples]
    together = sorted(chain.from_iterable(held))
    if len(together) < _FEWEST_SAMPLES or not any(b > a * _STEP for a, b in pairwise(together)):
        return None
    weighed = sorted((math.log(sample), 1 / len(samples) / len(held)) for samples in held for sample in samples)
    below = list(accumulate(weight for _, weight in weighed))
    gaps = [
        (b[0] - a[0], i)
        for i, (a, b) in enumerate(pairwise(weighed), start=1)
        if abs(below[i - 1] - 0.5) < 0.5 - _LEAST_SHARE + _ROUNDING
    ]
    gap, cut = max(gaps, default=(0.0, 0))
    groups = [log for log, _ in weighed[:cut]], [log for log, _ in weighed[cut:]]
    if gap < LEAST_GAP:
        return None
    border = math.exp(groups[1][0] - gap / 2)
    needed = _gaps_needed(held, border)
    if needed is None or gap < needed * max(_width(group) for group in groups):
        return None
    samples = [sample for samples in held for sample in samples]
    return median(one for one in samples if one < border), median(one for one in samples if one >= border)


def _gaps_needed(replicates: Sequence[Sequence[float]], border: float) -> float | None:
    """Of how many widths of a group the gap at ``border`` has to be, so that it is none of chance; None: of any."""
    above = [fmean(sample >= border for sample in samples) for samples in replicates]
    inside = zip(above, replicates, strict=True)
    if any(_LEAST_SHARE <= one <= 1 - _LEAST_SHARE and len(own) >= _FEWEST_SAMPLES for one, own in inside):
        return 1.0
    of_each = min(sum(one < _MOSTLY for one in above), sum(one >= _MOSTLY for one in above))
    return _APART if of_each >= _IN_EACH else None


def why_wide(flows: Sequence[FlowResult], modes: tuple[float, float] | None, noise: float = 0.0) -> tuple[str, ...]:
    """Remarks on what makes the figure uncertain; nothing where it is not. ``flows``: the replicates', in order.

    ``noise``: what calibration found to vary between runs only, relative half width.
    """
    own = _why_they_differ(flows, modes)
    if noise < WIDE:
        return own
    by = f"{noise:.1%}" if noise < _FACTOR_FROM else f"a factor of {math.exp(noise):.1f}"
    return (*own, f"from run to run this node varies by {by} besides, as calibrated")


def _why_they_differ(flows: Sequence[FlowResult], modes: tuple[float, float] | None) -> tuple[str, ...]:
    medians = [flow.seconds.median for flow in flows]
    if min(medians) <= 0:
        return ()
    between = max(medians) / min(medians) - 1
    within = median((flow.seconds.high - flow.seconds.low) / flow.seconds.median for flow in flows)
    named = (
        () if modes is None else (f"two modes: {1e6 * modes[0]:.4g} us and {1e6 * modes[1]:.4g} us, little between",)
    )
    if between < WIDE:
        return named
    steps = {a < b for a, b in pairwise(medians)}
    if len(medians) >= _FEWEST_FOR_DRIFT and len(steps) == 1:
        way = "slower" if steps == {True} else "faster"
        return (*named, f"drift: from replicate to replicate {way}, {between:.1%} in all")
    if named:
        return named
    if between > within:
        return (f"replicates differ by {between:.1%}, more than their samples: the machine varies from visit to visit",)
    return (f"samples scatter: replicates differ by {between:.1%}, no more than their own samples leave open",)


def _width(group: Sequence[float]) -> float:
    """Between the 10th and the 90th percentile of an ascending sequence."""
    last = len(group) - 1
    return group[round(0.9 * last)] - group[round(0.1 * last)]
