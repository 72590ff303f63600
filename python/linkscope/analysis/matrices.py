"""Matrices: the rows of one table laid out by their row and column labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.analysis.cell import Cell, Heading, Json, cells_of, heading, payload, shown_as, table_of
from linkscope.analysis.headline import OF_ALL
from linkscope.machine.paths import Paths
from linkscope.results.case_traffic import both_ways
from linkscope.results.row import Row


@dataclass(frozen=True)
class Matrix:
    """One table. ``cells[i][j]`` belongs to ``row_ids[i]`` and ``column_ids[j]``; None where no case was planned.

    ``row_means`` and ``column_means`` say what a row and a column stand for (``source``, ``destination``,
    ``executor``); empty where the labels name no device. ``arrow`` points the way the bytes go between them, as
    nvbandwidth writes it: ``->`` from row to column, ``<-`` from column to row, ``<->`` both at once. ``both_ways``
    says how the second way counts in the figures; empty where there is none.
    """

    heading: Heading
    row_means: str
    column_means: str
    arrow: str
    both_ways: str
    row_ids: tuple[str, ...]
    column_ids: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]

    @property
    def flat(self) -> list[Cell]:
        """All cells, row by row."""
        return [c for line in self.cells for c in line if c is not None]

    @property
    def orientation(self) -> str:
        """Such as "row: source, column: destination", with opposite traffic said where there is any. May be empty."""
        axes = (("row", self.row_means), ("column", self.column_means))
        words = ", ".join(f"{axis}: {part}" for axis, part in axes if part)
        return "; ".join(part for part in (words, self.both_ways) if part)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {
            "kind": "matrix",
            "heading": asdict(self.heading),
            "orientation": self.orientation,
            "arrow": self.arrow,
            "rows": list(self.row_ids),
            "columns": list(self.column_ids),
            "cells": [[None if c is None else c.to_json() for c in line] for line in self.cells],
        }


def matrices(rows: Iterable[Row], paths: Paths) -> list[Matrix]:
    """A Matrix per (suite, table, title, size, series) among the rows shown as a matrix, in order of appearance."""
    tables: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if shown_as(row, "matrix"):
            key = (*table_of(row), payload(row), str(row.labels.get("series", "")))
            tables.setdefault(key, []).append(row)
    return [_matrix(members, paths) for members in tables.values()]


def _matrix(rows: Sequence[Row], paths: Paths) -> Matrix:
    cells = cells_of(rows, paths)
    row_ids = ordered(c.row for c in cells)
    column_ids = ordered(c.column for c in cells)
    at = {(c.row, c.column): c for c in cells}
    row_means, column_means = _meaning(rows, "row"), _meaning(rows, "column")
    both_ways = _both_ways(rows)
    return Matrix(
        heading=heading(rows, cells),
        row_means=row_means,
        column_means=column_means,
        arrow="<->" if both_ways else _arrow(row_means, column_means),
        both_ways=both_ways,
        row_ids=row_ids,
        column_ids=column_ids,
        cells=tuple(tuple(at.get((r, c)) for c in column_ids) for r in row_ids),
    )


def ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels; sorted by kind and number where all name devices, in order of appearance otherwise."""
    distinct = list(dict.fromkeys(labels))
    numbers = [re.fullmatch(r"(\w+):(\d+)", label) for label in distinct]
    if all(numbers):
        distinct.sort(key=lambda label: (label.split(":")[0], int(label.split(":")[1])))
    return tuple(distinct)


def _ends(row: Row) -> dict[str, str]:
    """Devices of the case's first flow by the part they play."""
    flow = row.case["flows"][0]
    ends = {part: flow[part]["device"] for part in ("source", "destination") if part in flow}
    return {**ends, "executor": flow["executor"]}


def _meaning(rows: Sequence[Row], axis: str) -> str:
    """The part that the device named by the label plays in every row of the table.

    Where the labels fit several (a table of one node), the order is that of a copy, or of a read, whose row is
    the device that reads.
    """
    copies = all("destination" in _ends(row) for row in rows)
    if axis == "row":
        parts = ("source", "destination", "executor") if copies else ("executor", "source")
    else:
        parts = ("destination", "source", "executor") if copies else ("source", "executor")
    for part in parts:
        if all(_ends(row).get(part) == row.labels.get(axis) for row in rows):
            return part
    return ""


def _arrow(row_means: str, column_means: str) -> str:
    return {("source", "destination"): "->", ("destination", "source"): "<-"}.get((row_means, column_means), "")


def _both_ways(rows: Sequence[Row]) -> str:
    """What is said of a table all of whose cases move bytes both ways between two devices; empty for any other."""
    if all(_exchanges(row.case) for row in rows):
        counted = all(row.labels.get("figure") in OF_ALL for row in rows)
        return "both ways at once, both counted" if counted else "the opposite way runs at the same time, not counted"
    return ""


def _exchanges(case: Json) -> bool:
    flows = case["flows"]
    if any(both_ways(case, flow) for flow in flows):
        return True
    ends = [(flow["source"], flow["destination"]) for flow in flows if "source" in flow and "destination" in flow]
    ways = {(source["device"], destination["device"]) for source, destination in ends}
    return any(a != b and (b, a) in ways for a, b in ways)
