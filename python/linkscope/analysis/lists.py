"""Lists: rows of one table that are neither a matrix nor a curve, one line each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from linkscope.analysis.cell import HOSTS, Cell, Heading, Json, cells_of, heading, shown_as, table_of
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

    @property
    def axes(self) -> tuple[str, ...]:
        """What tells its lines apart besides their places: a column each."""
        named = dict.fromkeys(axis for entry in self.cells for axis, _ in entry.variant)
        return tuple(axis for axis in named if len({dict(entry.variant).get(axis) for entry in self.cells}) > 1)

    @property
    def common(self) -> tuple[str, ...]:
        """What every line would say of the other axes, such as "a process each", "window 4"; of one line alone too.

        Hosts that are the same in all stand in the heading.
        """
        words = zip(self.cells[0].variant, self.cells[0].variant_words, strict=True)
        return tuple(word for (axis, _), word in words if axis not in (*self.axes, HOSTS))

    @staticmethod
    def place(entry: Cell) -> str:
        """Where the line's flows run; its case where it says nothing else."""
        parts = [part for part in (entry.row, entry.column, entry.series) if part]
        return " · ".join(parts) or ("" if entry.variant else entry.id)

    @staticmethod
    def label(entry: Cell) -> str:
        """What the line is called in one string: its place and the value of every axis."""
        words = [Listing.place(entry), *entry.variant_words]
        return " · ".join(word for word in words if word)

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        cells = [{"label": self.label(entry), **entry.to_json()} for entry in self.cells]
        return {"kind": "list", "heading": asdict(self.heading), "cells": cells}


def listings(rows: Iterable[Row], paths: Paths) -> list[Listing]:
    """A Listing per (suite, table, title) among the rows shown as a list, in order of appearance."""
    tables: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if shown_as(row, "list"):
            tables.setdefault(table_of(row), []).append(row)
    return [
        Listing(heading(members, entries), tuple(entries))
        for members in tables.values()
        for entries in [cells_of(members, paths)]
    ]
