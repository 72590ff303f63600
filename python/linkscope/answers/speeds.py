"""Speeds: results that have two speeds between processes, of one run and of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import polars

from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.results.noise_class import NoiseClass
from linkscope.statistics.modes import process_modes

Frame = polars.DataFrame

_MODES = {"modes": polars.List(polars.Float64), "modes_in": polars.List(polars.Int64)}
_FEWEST = {one.key: one.fewest_of_two_speeds for one in NoiseClass}


def two_speeds(run: Run) -> Finding | None:
    """Return how many results of a run have two speeds; None where none has."""
    found = run.results.filter(polars.col("value_modes").is_not_null())
    if found.is_empty():
        return None
    return replace(note("speeds.some", count=found.height, path=str(run.path)), results=tuple(found["id"].unique()))


def of_side(runs: Sequence[Run], key: Sequence[str], name: str) -> Frame:
    """Return the key of each result of some runs that has two speeds between all their processes, with the columns
    ``NAME_modes`` and ``NAME_modes_in`` as figures/columns.py has them."""
    wanted = [*key, "class", "replicate_values", "of_samples"]
    lines = polars.concat([run.results.filter(polars.col("value").is_not_null()).select(wanted) for run in runs])
    every = lines.group_by(key, maintain_order=True).agg(
        polars.col("class").last(), polars.col("replicate_values"), polars.col("of_samples").median()
    )
    found = []
    for *place, of_class, values, of_samples in every.iter_rows():
        modes = process_modes([*chain.from_iterable(values)], of_samples or 0.0, _FEWEST[of_class])
        if modes is not None:
            found.append((*place, [modes.low, modes.high], [modes.in_low, modes.in_high]))
    schema = dict.fromkeys(key, polars.String) | {f"{name}_{column}": kind for column, kind in _MODES.items()}
    return polars.DataFrame(found, schema=schema, orient="row")
