"""Joined runs: several runs of one node as one, so that its intervals are those between runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkscope.analysis.same_machine import same_machine
from linkscope.errors import LinkscopeError
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


def joined(runs: Sequence[RunFile]) -> RunFile:
    """One run that has each case of ``runs`` once, with a run's figure as one replicate; all else is the last one's.

    A case that not all have counts with those that have it. Raises LinkscopeError where two are of different nodes.
    """
    *earlier, last = runs
    for run in earlier:
        if not same_machine(run, last):
            raise LinkscopeError(f"{run.path} and {last.path} are of different nodes: runs of one node answer together")
    if not earlier:
        return last
    cases: dict[str, list[Row]] = {}
    for row in (row for run in runs for row in run.rows):
        cases.setdefault(row.id, []).append(row)
    notices = dict.fromkeys(notice for run in runs for notice in run.notices)
    return replace(last, rows=tuple(map(folded, cases.values())), notices=tuple(notices))
