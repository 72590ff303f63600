"""Paired: how two sides of the same cases differ, where each round measured both within a short time.

All on logarithms. A round's difference is one observation: what drifts from round to round falls on both sides of it.
The change is the trimmed mean over rounds with Yuen's standard error (Biometrika 61, 1974), so that a disturbed round
at each end neither moves it nor hides it. A variance below the median of its class is drawn towards that median, as in
statistics/variance.py; one above it stands, because results of processes and host memory differ in kind.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeVar

import polars

from linkscope.statistics.many import discoveries
from linkscope.statistics.ranks import t975
from linkscope.statistics.students_t import two_sided
from linkscope.statistics.variance import HIGHER, LOWER, SAME, UNCLEAR

Key = TypeVar("Key", bound=Hashable)

ALPHA = 0.001
"""Share of false ones among all differences that are reported; of sides that are alike, how often any is."""
THRESHOLD = 0.01
"""Smaller relative differences are none."""
FEWEST_ROUNDS = 8
"""A result that has two speeds by process (say half the processes each) is fast in all rounds of one side and slow in
all of the other once in 2^(2 n - 1) times: from eight rounds on that is rarer than what ``ALPHA`` allows. It is so in
all but one far more often: at the first look every round has to show ``_LEAST_PART`` of the change."""
LOOKS = (FEWEST_ROUNDS, 14, 28, 56)
"""Rounds after which a result is tested, each time by all its rounds until then. A test that is repeated every round
says something in the end whatever it tests; the first look spends half of ``ALPHA``, each further one half of what is
left, so that all together stay below it."""
FEWEST_SAME = 4
"""Rounds from which on a narrow interval shows that nothing changed."""
_TRIMMED = 0.15
"""Share of the rounds at each end that the mean leaves out: none below seven rounds, one from seven, two from 14."""
_LEAST_PART = 0.25
"""Less than this share of the change is what the other of two speeds shows, not noise."""
_PRIOR = 4.0
"""Degrees of freedom of a class's median variance beside a smaller one."""
_LEAST_DEVIATION = 1e-5
"""Standard deviation of a round's difference below which no clock tells anything."""


@dataclass(frozen=True)
class Difference:
    """Hold how one result differs. ``change``: logarithm of the speed of the other side over that of the base;
    ``margin``: half width of its 95% interval, None of one round. ``p``: of no difference. ``verdict``: of
    statistics/variance.py.
    """

    rounds: int
    change: float
    margin: float | None
    p: float
    verdict: str


def paired(
    changes: Mapping[Key, Sequence[float]],
    classes: Mapping[Key, str],
    alpha: float = ALPHA,
    threshold: float = THRESHOLD,
) -> dict[Key, Difference]:
    """Return how each result differs, by its differences in each round (logarithms).

    ``classes``: which results share a noise. SAME: the whole interval, of ``FEWEST_SAME`` rounds, lies within the
    relative ``threshold``. LOWER and HIGHER: the interval reaches beyond that, and the last of the ``LOOKS`` excludes
    0; of all that do, at most the share ``alpha`` is false (Benjamini and Hochberg). UNCLEAR: others.
    """
    known = {key: values for key, values in changes.items() if values}
    found = _estimated(known, classes)
    tested = _estimated({key: values[: _look(values)] for key, values in known.items() if _look(values)}, classes)
    ordered = list(tested)
    spent = [_spent(tested[key], known[key]) for key in ordered]
    real = discoveries(polars.Series(spent, dtype=polars.Float64), max(len(found), 1), alpha).to_list()
    differ = {key for key, is_real in zip(ordered, real, strict=True) if is_real}
    bound = math.log1p(threshold)
    return {key: _judged(one, bound, key in differ) for key, one in found.items()}


def _look(values: Sequence[float]) -> int:
    """Return the rounds of the last look, 0 before the first."""
    return max((look for look in LOOKS if look <= len(values)), default=0)


def _spent(one: Difference, values: Sequence[float]) -> float:
    """Return the p of a look, as many times as large as its part of ``ALPHA`` is smaller than the whole."""
    at_first = values[:FEWEST_ROUNDS] if one.rounds == FEWEST_ROUNDS and one.change else ()
    if any(value / one.change < _LEAST_PART for value in at_first):
        return 1.0
    return min(one.p * 2.0 ** (1 + LOOKS.index(one.rounds)), 1.0)


def _estimated(changes: Mapping[Key, Sequence[float]], classes: Mapping[Key, str]) -> dict[Key, Difference]:
    """Return each result's change, margin and p, without a verdict."""
    spread = {key: _trimmed(values) for key, values in changes.items()}
    middles = _medians({key: one.variance for key, one in spread.items() if one.freedom}, classes)
    found = {}
    for key, one in spread.items():
        rounds, variance, freedom = len(changes[key]), one.variance, one.freedom
        middle = middles.get(classes[key], 0.0)
        if freedom and variance <= middle:
            variance = (_PRIOR * middle + freedom * variance) / (_PRIOR + freedom)
            freedom += _PRIOR
        sigma = max(math.sqrt(variance), _LEAST_DEVIATION / math.sqrt(rounds))
        p = two_sided(one.mean / sigma, freedom) if freedom else 1.0
        found[key] = Difference(rounds, one.mean, t975(int(freedom)) * sigma if freedom else None, p, UNCLEAR)
    return found


def _judged(one: Difference, bound: float, is_real: bool) -> Difference:
    margin = math.inf if one.margin is None else one.margin
    verdict = UNCLEAR
    if abs(one.change) + margin <= bound and one.rounds >= FEWEST_SAME:
        verdict = SAME
    elif is_real:
        verdict = LOWER if one.change < 0 else HIGHER
    return Difference(one.rounds, one.change, one.margin, one.p, verdict)


@dataclass(frozen=True)
class _Trimmed:
    """A trimmed mean, the square of its standard error, and the degrees of freedom of that."""

    mean: float
    variance: float
    freedom: float


def _trimmed(values: Sequence[float]) -> _Trimmed:
    count, out = len(values), int(_TRIMMED * len(values))
    ordered = sorted(values)
    kept = ordered[out : count - out]
    if count < 2:
        return _Trimmed(kept[0], 0.0, 0.0)
    winsorized = [kept[0]] * out + kept + [kept[-1]] * out
    mean = fmean(winsorized)
    squares = sum((value - mean) ** 2 for value in winsorized)
    return _Trimmed(fmean(kept), squares / (len(kept) * (len(kept) - 1)), len(kept) - 1.0)


def _medians(variances: Mapping[Key, float], classes: Mapping[Key, str]) -> dict[str, float]:
    """Return the median variance of each class."""
    by_class: dict[str, list[float]] = {}
    for key, variance in variances.items():
        by_class.setdefault(classes[key], []).append(variance)
    return {name: median(some) for name, some in by_class.items()}
