"""Steadiness: how far the intervals of figures hold from run to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import polars

from linkscope.results.run_file import RunFile

_OF_CPUS = "numa:"
"""Begins the executor's name where a CPU moves the bytes."""


@dataclass(frozen=True)
class Steadiness:
    """``fewest`` to ``most``: of how many runs the figures are. ``once``: each was measured once, so that its interval
    holds within the run. ``of_cpus``: some are of what CPUs move, of one run and a node that is not calibrated: they
    change by more than that run can know."""

    fewest: int = 1
    most: int = 1
    once: bool = False
    of_cpus: bool = False


def steadiness(figures: polars.DataFrame) -> Steadiness:
    """Of measured figures of the frame of ``analysis/figures.py``, of one run; a model's and imported ones tell
    nothing."""
    measured = figures.filter(~polars.col("modelled"), polars.col("origin").cast(polars.String) == "")
    alone = measured.filter(polars.col("noise") == 0)
    of_cpus = bool(alone["executor"].cast(polars.String).str.starts_with(_OF_CPUS).any())
    once = not alone.is_empty() and len(alone) == len(measured) and alone["replicates"].max() == 1
    return Steadiness(once=once, of_cpus=of_cpus)


def steadiness_of_runs(runs: Sequence[RunFile]) -> Steadiness:
    """Of the figures of several runs of a node, of which each is a replicate."""
    rows = [row for run in runs for row in run.rows if row.status == "ok" and not row.modelled]
    counts = Counter(row.id for row in rows)
    alone = (row for row in rows if counts[row.id] == 1 and not row.noise and not row.origin)
    of_cpus = any(row.case["flows"][0]["executor"].startswith(_OF_CPUS) for row in alone)
    return Steadiness(min(counts.values(), default=1), max(counts.values(), default=1), of_cpus=of_cpus)
