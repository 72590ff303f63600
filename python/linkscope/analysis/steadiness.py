"""Steadiness: how far the intervals of figures hold from run to run."""

from __future__ import annotations

from dataclasses import dataclass

import polars


@dataclass(frozen=True)
class Steadiness:
    """``runs``: of how many the figures are. ``once``: each was measured once, so that its interval holds within the
    run. ``of_cpus``: some are of what CPUs move, in one run of a node that is not calibrated, and change by more than
    that run can know."""

    runs: int = 1
    once: bool = False
    of_cpus: bool = False


def steadiness(figures: polars.DataFrame, runs: int = 1) -> Steadiness:
    """Of measured figures of the frame of ``analysis/figures.py``; a model's and imported ones tell nothing."""
    measured = figures.filter(~polars.col("modelled"), polars.col("origin").cast(polars.String) == "")
    alone = measured.filter(polars.col("noise") == 0)
    if runs > 1 or alone.is_empty():
        return Steadiness(runs)
    if len(alone) == len(measured) and alone["replicates"].max() == 1:
        return Steadiness(runs, once=True)
    of_cpus = alone["executor"].cast(polars.String).str.starts_with("numa:").any()
    return Steadiness(runs, of_cpus=bool(of_cpus))
