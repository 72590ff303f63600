"""Lists: rows of one table that are neither a matrix nor a curve, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from linkscope.analysis.cell import Cell, Heading, Json, cell, heading, shown_as, title
from linkscope.machine.paths import Paths
from linkscope.results.row import Row


@dataclass(frozen=True)
class Listing:
    """One table, a line per row, in the order of the run."""

    heading: Heading
    cells: tuple[Cell, ...]

    @property
    def flat(self) -> list[Cell]:
        """All cells."""
        return list(self.cells)

    @staticmethod
    def label(entry: Cell) -> str:
        """What the line is called: its labels, or its case where it has none."""
        parts = [part for part in (entry.row, entry.column, entry.series) if part]
        return " · ".join(parts) or entry.id

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        cells = [{"label": self.label(entry), **entry.to_json()} for entry in self.cells]
        return {"kind": "list", "heading": asdict(self.heading), "cells": cells}


def listings(rows: Iterable[Row], paths: Paths) -> list[Listing]:
    """A Listing per (suite, name, title) among the rows shown as a list, in order of appearance."""
    tables: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if shown_as(row, "list"):
            tables.setdefault((row.suite, row.name, title(row)), []).append(row)
    return [
        Listing(heading(members, entries), tuple(entries))
        for members in tables.values()
        for entries in [[cell(row, paths) for row in members]]
    ]
