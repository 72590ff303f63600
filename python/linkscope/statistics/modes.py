"""Modes: two groups of samples between which next to nothing lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import truediv
from statistics import fmean

LEAST_GAP = math.log(1.15)
"""Logarithm of how far two modes lie apart at least."""
LEAST_STEP = math.exp(LEAST_GAP) * (1 - 1e-9)
"""The same as a factor, below which rounding can't bring it."""
_LEAST_SHARE = 0.15
_FEWEST_SAMPLES = 12
_IN_EACH = 2
_APART = 4.0
_MOSTLY = 0.5
_ROUNDING = 1e-9


def middle(values: Iterable[float]) -> float:
    """Return the median. Raises IndexError where there are no values."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def two_modes(replicates: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Return the medians of two groups of samples (smaller first) between which next to nothing lies; None where there
    is but one. ``replicates``: the samples of each, in any unit; each counts the same, however many it has.

    Each group has 15% of the weight at least; the gap between them is 15% at least, and wider than either group is
    between its own 10th and 90th percentile. Few replicates fall into two groups by chance: unless one of them has
    both, two must lie in each group, and the gap be four times as wide.
    """
    held = [samples for samples in map(_positive, replicates) if samples]
    together = sorted(chain.from_iterable(held))
    if len(together) < _FEWEST_SAMPLES or together[-1] < together[0] * LEAST_STEP:
        return None
    ratios = list(map(truediv, together[1:], together))
    if max(ratios) <= LEAST_STEP:
        return None
    cuts = [cut for cut, ratio in enumerate(ratios, start=1) if ratio > LEAST_STEP and _divides(held, together[cut])]
    gap, cut = max(((math.log(together[cut]) - math.log(together[cut - 1]), cut) for cut in cuts), default=(0.0, 0))
    if gap < LEAST_GAP:
        return None
    below, above = together[:cut], together[cut:]
    needed = _gaps_needed(held, above[0])
    if needed is None or gap < needed * max(_width(below), _width(above)):
        return None
    return middle(below), middle(above)


def _positive(samples: Sequence[float]) -> Sequence[float]:
    return samples if min(samples, default=0.0) > 0 else [sample for sample in samples if sample > 0]


def _divides(replicates: Sequence[Sequence[float]], border: float) -> bool:
    """Return whether either side of ``border`` has enough of the weight."""
    above = sum([sum(map(border.__le__, samples)) / len(samples) for samples in replicates]) / len(replicates)
    return abs(above - 0.5) < 0.5 - _LEAST_SHARE + _ROUNDING


def _gaps_needed(replicates: Sequence[Sequence[float]], border: float) -> float | None:
    """Return how many widths of a group the gap at ``border`` must have to be none of chance; None for any number."""
    above = [fmean(sample >= border for sample in samples) for samples in replicates]
    inside = zip(above, map(len, replicates), strict=True)
    if any(_LEAST_SHARE <= share <= 1 - _LEAST_SHARE and count >= _FEWEST_SAMPLES for share, count in inside):
        return 1.0
    of_each = min(sum(one < _MOSTLY for one in above), sum(one >= _MOSTLY for one in above))
    return _APART if of_each >= _IN_EACH else None


def _width(group: Sequence[float]) -> float:
    """Return the logarithm of the 90th over the 10th percentile of an ascending sequence."""
    last = len(group) - 1
    return math.log(group[round(0.9 * last)]) - math.log(group[round(0.1 * last)])
