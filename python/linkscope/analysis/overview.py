"""Overview: every table of a run, in the order of the run, and their summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkscope.analysis.bounds import best_latencies, bounds_of
from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import Json, place_of
from linkscope.analysis.curves import curves
from linkscope.analysis.layers import Layer, layers
from linkscope.analysis.lists import listings
from linkscope.analysis.matrices import matrices
from linkscope.analysis.summary import DEFAULT_PRECISION, Summary, Table, summarize
from linkscope.analysis.workloads import WorkloadTable, carries_workload, workloads
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.results.row import Row


@dataclass(frozen=True)
class Overview:
    """``tables`` are Matrix, CurveSet and Listing objects; each has ``heading``, ``flat`` and ``to_json``. ``layers``:
    ways beside the one below each, where the run has both. ``workloads``: applications' communication, of which
    the rows stand in ``tables``, too."""

    summary: Summary
    tables: tuple[Table, ...]
    layers: tuple[Layer, ...] = ()
    workloads: tuple[WorkloadTable, ...] = ()
    of_workloads: frozenset[str] = frozenset()

    @property
    def other_tables(self) -> list[Table]:
        """Those that hold more than workloads."""
        return [table for table in self.tables if not {entry.id for entry in table.flat} <= self.of_workloads]

    def to_json(self) -> Json:
        """A JSON-ready dict: ``show --json`` prints it."""
        return {
            "summary": self.summary.to_json(),
            "tables": [table.to_json() for table in self.tables],
            "layers": [layer.to_json() for layer in self.layers],
            "workloads": [one.to_json() for one in self.workloads],
        }


def overview(rows: Sequence[Row], node: Node, precision: float = DEFAULT_PRECISION) -> Overview:
    """Tables of all rows; every row stands in exactly one, with a cell for each of its figures.

    ``precision``: how far the interval may reach from the median, relative, as the run asked for.
    """
    paths = Paths(node)
    position = {row.id: index for index, row in enumerate(rows)}
    parts = apart(rows)
    found: list[Table] = [*matrices(parts, paths), *curves(parts, paths), *listings(parts, paths)]
    found.sort(key=lambda table: min(position[entry.id] for entry in table.flat))
    found = _bounded(found, parts)
    return Overview(
        summarize(rows, found, precision),
        tuple(found),
        layers(rows),
        workloads(rows, paths),
        frozenset(row.id for row in rows if carries_workload(row)),
    )


def _bounded(tables: Sequence[Table], parts: Sequence[Row]) -> list[Table]:
    """The tables, those of collectives' times with what the run's own latencies say they could be."""
    best = best_latencies(parts)
    by_place = {place_of(part): part for part in parts}
    bounded: list[Table] = []
    for table in tables:
        bounds = bounds_of([by_place[entry.key] for entry in table.flat], best)
        bounded.append(replace(table, heading=replace(table.heading, bounds=bounds)) if bounds else table)
    return bounded
