"""Modes: two groups of samples, or of the values of processes, between which next to nothing lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import truediv
from statistics import fmean

from linkscope.statistics.ranks import reciprocal_median

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
FEWEST_PROCESSES = 3
"""Processes from which on two of them can agree that a third has another speed."""
_LEAST_BETWEEN = math.log(1.03)
_OF_SAMPLES = 8.0
_OF_GROUPS = 6.0
_FEW, _MANY = 6, 12
_OF_FEW = 6.0
"""Pooled deviations more that groups of ``_FEW`` must lie apart, fewer of more, none of ``_MANY``: less than 1% of
normal values have two speeds from ``_FEW`` on (by simulation, tests/python/test_two_speeds.py)."""


@dataclass(frozen=True)
class ProcessModes:
    """Two speeds between processes: the median of either group, in the unit of the values, and how many are in it."""

    low: float
    high: float
    in_low: int
    in_high: int


def process_modes(values: Sequence[float], of_samples: float, fewest: int = FEWEST_PROCESSES) -> ProcessModes | None:
    """Return the two speeds of a result whose processes fall into two groups; None where they have one.

    ``values``: of at least ``fewest`` processes, above 0, in any unit; ``of_samples``: the relative half width that
    samples leave in one of them. The largest gap divides the groups: 3% at least, 8 of these half widths, and the
    groups' means 6 of their pooled standard deviations apart, 12 from 6 values and less from more. Of 20 normal
    values 2 in 1000 look like that, of 6 less than one in 100, of 3 four in 10: ask fewer than 6 only where processes
    are known to agree within less than the gap.
    """
    if len(values) < max(fewest, FEWEST_PROCESSES) or min(values) <= 0:
        return None
    ordered = sorted(values)
    if ordered[-1] < ordered[0] * (1 + 0.9 * _LEAST_BETWEEN):
        return None
    logs = [math.log(value) for value in ordered]
    gap, cut = max((b - a, place) for place, (a, b) in enumerate(pairwise(logs), start=1))
    if gap < max(_LEAST_BETWEEN, _OF_SAMPLES * of_samples):
        return None
    groups = logs[:cut], logs[cut:]
    means = [fmean(group) for group in groups]
    squares = sum((one - mean) ** 2 for group, mean in zip(groups, means, strict=True) for one in group)
    of_few = _OF_FEW * ((_MANY - len(values)) / (_MANY - _FEW)) ** 2 if _FEW <= len(values) < _MANY else 0.0
    if means[1] - means[0] < (_OF_GROUPS + of_few) * math.sqrt(squares / (len(values) - 2)):
        return None
    return ProcessModes(reciprocal_median(ordered[:cut]), reciprocal_median(ordered[cut:]), cut, len(values) - cut)


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
