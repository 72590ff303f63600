"""Variance components of a figure: what samples, replicates and runs each add, by nested analysis of variance.

Of logarithms, so that they are relative and the same for a rate as for its time (Searle, Casella and McCulloch,
Variance Components, chapter 3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from linkscope.results.row import Stats
from linkscope.statistics.ranks import interval_coverage

FEWEST_RUNS = 2


@dataclass(frozen=True)
class Replicate:
    """One replicate's figure, and the samples that it is of, in any unit."""

    value: Stats
    samples: Sequence[float]


@dataclass(frozen=True)
class Components:
    """Variances by level: one sample of a replicate, between the replicates of a run, between runs.

    ``replicates`` is None where each run has one, whose variance ``runs`` then holds. An estimate is below 0, by
    chance, where a level adds nothing.
    """

    samples: float | None
    replicates: float | None
    runs: float


def components(runs: Sequence[Sequence[Replicate]]) -> Components:
    """Those of one figure, by its replicates in at least two runs, none of which is empty.

    Raises ValueError where a figure is not positive and so has no logarithm.
    """
    logs = [[math.log(one.value.median) for one in run] for run in runs]
    means = [fmean(run) for run in logs]
    count = sum(len(run) for run in logs)
    from_samples = fmean(_of_median(one.value) for run in runs for one in run)
    inside = from_samples
    if count > len(runs):
        inside = sum(_squares(run) for run in logs) / (count - len(runs))
    grand = sum(len(run) * middle for run, middle in zip(logs, means, strict=True)) / count
    squares = sum(len(run) * (middle - grand) ** 2 for run, middle in zip(logs, means, strict=True))
    each = (count - sum(len(run) ** 2 for run in logs) / count) / (len(runs) - 1)  # replicates of a run, as a mean
    return Components(
        samples=_of_samples([one for run in runs for one in run]),
        replicates=inside - from_samples if count > len(runs) else None,
        runs=(squares / (len(runs) - 1) - inside) / each,
    )


def _of_samples(replicates: Sequence[Replicate]) -> float | None:
    """Variance of the logarithms of a replicate's samples, pooled; None where no replicate has two."""
    held = [[math.log(sample) for sample in one.samples] for one in replicates if len(one.samples) > 1]
    freedom = sum(len(logs) - 1 for logs in held)
    return sum(_squares(logs) for logs in held) / freedom if held else None


def _squares(values: Sequence[float]) -> float:
    """Of the deviations from their mean."""
    middle = fmean(values)
    return sum((value - middle) ** 2 for value in values)


def _of_median(value: Stats) -> float:
    """Variance of the logarithm of a median of samples, by the width of its interval (Price and Bonett, 2001)."""
    if value.high == value.low:
        return 0.0
    deviations = 2 * NormalDist().inv_cdf((1 + interval_coverage(value.n)) / 2)
    return ((math.log(value.high) - math.log(value.low)) / deviations) ** 2
