"""Joined: the results of several runs of one node as one frame, where a run's result is one replicate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars
from msgspec.structs import replace

from linkscope.figures.results import results
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.same_machine import same_machine


def joined(runs: Sequence[Run]) -> polars.DataFrame:
    """Return every result of several runs once, with the columns of figures/columns.py; of one run what that has.

    A case that not all have counts with those that have it; all else is the last run's. Raises LinkscopeError where
    runs are of different nodes, are one run, or used different MPI libraries.
    """
    _check(runs)
    if len(runs) == 1:
        return runs[0].results
    cases: dict[str, list[Row]] = {}
    for row in (row for run in runs for row in run.file.rows):
        cases.setdefault(row.id, []).append(row)
    return results(runs[-1].node, [folded([_one_replicate(row) for row in rows]) for rows in cases.values()])


def _one_replicate(row: Row) -> Row:
    """Return the row without its samples, whose scatter within a run is no difference between runs."""
    flows = tuple(replace(flow, samples_s=()) for flow in row.flows)
    return replace(row, flows=flows, replicates=row.replicates or (row,))


def _check(runs: Sequence[Run]) -> None:
    for one, other in combinations(runs, 2):
        pair = {"one": str(one.path), "other": str(other.path)}
        if not same_machine(one.file, other.file):
            raise problem("choose.other-node", **pair)
        if one.file.rows and one.file.rows == other.file.rows:
            raise problem("choose.same-run", **pair)
    libraries: dict[str, dict[str, None]] = {}
    for row in (row for run in runs for row in run.file.rows):
        libraries.setdefault(row.id, {}).update(dict.fromkeys(row.libraries))
    for found in libraries.values():
        if len(found) > 1:
            raise problem("choose.other-library", libraries=list(found))
