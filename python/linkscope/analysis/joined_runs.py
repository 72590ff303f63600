"""Joined runs: several runs of one node as one, so that its intervals are those between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from linkscope.errors import LinkscopeError
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.same_machine import by_host_alone, same_machine


def joined(runs: Sequence[RunFile]) -> RunFile:
    """One run that has each case of ``runs`` once, with a run's figure as one replicate; all else is the last one's,
    and ``joined`` has the names of all files.

    A case that not all have counts with those that have it. Raises LinkscopeError where two are of different nodes, are
    one run, or measured a case by different MPI libraries.
    """
    last = runs[-1]
    for one, other in combinations(runs, 2):
        pair = f"{one.path} and {other.path}"
        if not same_machine(one, other):
            raise LinkscopeError(f"{pair} are of different nodes: runs of one node count together")
        if one.rows and one.rows == other.rows:
            raise LinkscopeError(f"{pair} are one run: it counts once")
    cases: dict[str, list[Row]] = {}
    for row in (row for run in runs for row in run.rows):
        cases.setdefault(row.id, []).append(row)
    for rows in cases.values():
        libraries = dict.fromkeys(f"by {name}" for row in rows for name in row.libraries)
        if len(libraries) > 1:
            raise LinkscopeError(f"runs {' and '.join(libraries)} do not count together: name those of one MPI library")
    notices = [f"{run.path.name}: {notice}" for run in runs for notice in run.notices]
    hosts = dict.fromkeys(filter(None, (by_host_alone(one, other) for one, other in combinations(runs, 2))))
    notices += [f"taken for runs of one node by the host's name alone: {host}" for host in hosts]
    return replace(
        last,
        joined=tuple(run.path.name for run in runs),
        rows=tuple(folded([_one_replicate(row) for row in rows]) for rows in cases.values()),
        notices=tuple(notices),
    )


def _one_replicate(row: Row) -> Row:
    """The row without its samples, whose scatter within a run is no difference between runs."""
    return replace(row, flows=tuple(replace(flow, samples_s=()) for flow in row.flows))
