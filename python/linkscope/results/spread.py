"""Why the replicates of a case differ: two modes, a drift, from visit to visit, or no more than samples do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from linkscope.results.row import FlowResult

WIDE = 0.02
"""Replicates that differ by less need no reason."""
_LEAST_GAP = math.log(1.15)
_LEAST_SHARE = 0.15
_FEWEST_SAMPLES = 12
_FEWEST_FOR_DRIFT = 4


def two_modes(samples: Sequence[float]) -> tuple[float, float] | None:
    """The medians of two groups (times, shorter first) between which next to nothing lies; None where there is but one.

    Each group has 15 % of the samples at least; the gap between them is 15 % at least, and wider than either group is
    between its own 10th and 90th percentile.
    """
    logs = sorted(math.log(sample) for sample in samples if sample > 0)
    least = max(2, math.ceil(_LEAST_SHARE * len(logs)))
    if len(logs) < _FEWEST_SAMPLES:
        return None
    gap, cut = max((b - a, i) for i, (a, b) in enumerate(pairwise(logs), start=1) if least <= i <= len(logs) - least)
    groups = logs[:cut], logs[cut:]
    if gap < max(_LEAST_GAP, *(_width(group) for group in groups)):
        return None
    return math.exp(median(groups[0])), math.exp(median(groups[1]))


def why_wide(flows: Sequence[FlowResult], modes: tuple[float, float] | None, noise: float = 0.0) -> tuple[str, ...]:
    """Remarks on what makes the figure uncertain; nothing where it is not. ``flows``: the replicates', in order.

    ``noise``: what calibration found to vary between runs only, relative half width.
    """
    own = _why_they_differ(flows, modes)
    return own if noise < WIDE else (*own, f"from run to run this node varies by {noise:.1%} besides, as calibrated")


def _why_they_differ(flows: Sequence[FlowResult], modes: tuple[float, float] | None) -> tuple[str, ...]:
    medians = [flow.seconds.median for flow in flows]
    if min(medians) <= 0:
        return ()
    between = max(medians) / min(medians) - 1
    within = median((flow.seconds.high - flow.seconds.low) / flow.seconds.median for flow in flows)
    if modes is not None:
        return (f"two modes: times of {1e6 * modes[0]:.4g} us and {1e6 * modes[1]:.4g} us, little between",)
    if between < WIDE:
        return ()
    steps = {a < b for a, b in pairwise(medians)}
    if len(medians) >= _FEWEST_FOR_DRIFT and len(steps) == 1:
        return (
            f"drift: from replicate to replicate {'slower' if steps == {True} else 'faster'}, {between:.1%} in all",
        )
    if between > within:
        return (f"replicates differ by {between:.1%}, more than their samples: the machine varies from visit to visit",)
    return (f"samples scatter: replicates differ by {between:.1%}, no more than their own samples leave open",)


def _width(group: Sequence[float]) -> float:
    """Between the 10th and the 90th percentile of an ascending sequence."""
    last = len(group) - 1
    return group[round(0.9 * last)] - group[round(0.1 * last)]
