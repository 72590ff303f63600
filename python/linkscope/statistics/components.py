"""Variance components of a result: what samples, replicates and runs each add, by nested analysis of variance.

Of logarithms, so that they are relative and the same for a rate as for its time (Searle, Casella and McCulloch,
Variance Components, chapter 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median

from linkscope.statistics.ranks import interval_coverage

FEWEST_RUNS = 2
_CLASS_RUNS = 4
"""Degrees of freedom of a class's median beside those of each of its results."""


@dataclass(frozen=True)
class Replicates:
    """A result's values in the replicates of one run, above 0, in any unit.

    ``of_samples``: the relative half width of the 95% interval that samples leave in one of them, of ``samples`` each.
    """

    values: Sequence[float]
    of_samples: float
    samples: int

    @property
    def of_median(self) -> float:
        """Return the variance of a replicate's logarithm that its samples leave (Price and Bonett, 2001)."""
        deviations = NormalDist().inv_cdf((1 + interval_coverage(max(self.samples, 1))) / 2)
        return (self.of_samples / deviations) ** 2 if self.of_samples else 0.0


@dataclass(frozen=True)
class Components:
    """Variances by level: one sample of a replicate, between the replicates of a run, between runs.

    ``samples`` is None where replicates have one sample. ``replicates`` is None where each run has one replicate, whose
    variance ``runs`` then holds. An estimate is below 0, by chance, where a level adds nothing.
    """

    samples: float | None
    replicates: float | None
    runs: float


def components(runs: Sequence[Replicates]) -> Components:
    """Return those of one result in at least two runs.

    Raises ValueError where a value is not above 0 and so has no logarithm.
    """
    logs = [[math.log(value) for value in run.values] for run in runs]
    means = [fmean(run) for run in logs]
    count = sum(map(len, logs))
    from_samples = sum(run.of_median * len(run.values) for run in runs) / count
    inside = from_samples
    if count > len(runs):
        inside = sum((log - mean) ** 2 for run, mean in zip(logs, means, strict=True) for log in run)
        inside /= count - len(runs)
    grand = sum(map(sum, logs)) / count
    squares = sum(len(run) * (mean - grand) ** 2 for run, mean in zip(logs, means, strict=True))
    each = (count - sum(len(run) ** 2 for run in logs) / count) / (len(runs) - 1)  # replicates of a run, on average
    several = [run.of_median * run.samples for run in runs if run.samples > 1]
    return Components(
        samples=fmean(several) * 2 / math.pi if several else None,
        replicates=inside - from_samples if count > len(runs) else None,
        runs=(squares / (len(runs) - 1) - inside) / each,
    )


def drawn(variances: Sequence[float], freedom: int) -> list[float]:
    """Return the variances of a class's results, each drawn towards the median, which counts ``lent`` degrees of
    freedom more (Smyth, Linear models and empirical Bayes methods, 2004)."""
    if not variances:
        return []
    middle, more = max(median(variances), 0.0), lent(len(variances))
    return [(more * middle + freedom * max(one, 0.0)) / (more + freedom) for one in variances]


def lent(results: int) -> int:
    """Return how many degrees of freedom the other results of a class of so many lend to each."""
    return max(min(_CLASS_RUNS, results - 1), 0)
