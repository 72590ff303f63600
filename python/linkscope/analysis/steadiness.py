"""Steadiness: how far the intervals of figures hold from run to run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars

from linkscope.results.run_file import RunFile

_OF_CPUS = "numa:"
"""Begins the executor's name where a CPU moves the bytes."""
APART = 2.0
"""Factor by which a run's figure stands apart from those of other runs, which agree better among themselves."""


@dataclass(frozen=True)
class Disagreement:
    """In how many ``cases`` of ``shared`` ones runs are further apart than ``APART``; ``name``: the file of the one run
    that stands apart from the others in most of them, empty where none does."""

    cases: int
    shared: int
    name: str = ""


@dataclass(frozen=True)
class Steadiness:
    """``fewest`` to ``most``: of how many runs the figures are. ``once``: each was measured once, so that its interval
    holds within the run. ``of_cpus``: some are of what CPUs move, of one run and a node that is not calibrated: they
    change by more than that run can know. ``apart``: where several runs disagree."""

    fewest: int = 1
    most: int = 1
    once: bool = False
    of_cpus: bool = False
    apart: Disagreement | None = None


def steadiness(figures: polars.DataFrame) -> Steadiness:
    """Of measured figures of the frame of ``analysis/figures.py``, of one run; a model's and imported ones tell
    nothing."""
    measured = figures.filter(~polars.col("modelled"), polars.col("origin").cast(polars.String) == "")
    alone = measured.filter(polars.col("noise") == 0)
    of_cpus = bool(alone["executor"].cast(polars.String).str.starts_with(_OF_CPUS).any())
    once = not alone.is_empty() and len(alone) == len(measured) and alone["replicates"].max() == 1
    return Steadiness(once=once, of_cpus=of_cpus)


def steadiness_of_runs(runs: Sequence[RunFile], cases: Collection[str]) -> Steadiness:
    """Of the figures that several runs of a node have of some ``cases`` (ids); each run is a replicate."""
    rows = [row for run in runs for row in run.with_status("ok") if row.id in cases and not row.modelled]
    counts = Counter(row.id for row in rows)
    alone = (row for row in rows if counts[row.id] == 1 and not row.noise and not row.origin)
    of_cpus = any(row.case["flows"][0]["executor"].startswith(_OF_CPUS) for row in alone)
    fewest, most = min(counts.values(), default=1), max(counts.values(), default=1)
    return Steadiness(fewest, most, of_cpus=of_cpus, apart=_disagreement(runs, cases))


def _disagreement(runs: Sequence[RunFile], cases: Collection[str]) -> Disagreement | None:
    logs: dict[str, dict[int, float]] = {}
    for number, run in enumerate(runs):
        for row in run.with_status("ok"):
            if row.id in cases and row.watched is not None and row.watched.median > 0:
                logs.setdefault(row.id, {})[number] = math.log(row.watched.median)
    shared = [found for found in logs.values() if len(found) > 1]
    wide = [found for found in shared if max(found.values()) - min(found.values()) > math.log(APART)]
    if not wide:
        return None
    apart = Counter(odd for found in wide if len(found) > 2 and (odd := _apart(found)) is not None)
    number, times = next(iter(apart.most_common(1)), (0, 0))
    return Disagreement(len(wide), len(shared), runs[number].path.name if 2 * times > len(wide) else "")


def _apart(logs: Mapping[int, float]) -> int | None:
    """Whose figure is further from the nearest of the others than ``APART``, while those are closer to one another."""
    ascending = sorted(logs, key=lambda number: logs[number])
    for ends in (ascending, ascending[::-1]):
        first, second, last = logs[ends[0]], logs[ends[1]], logs[ends[-1]]
        if abs(second - first) > math.log(APART) > abs(last - second):
            return ends[0]
    return None
