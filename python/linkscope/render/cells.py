"""Cells: a table's frame as texts, the same on a terminal, on a page and in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkscope.answers.answer import Column, Kind, Table
from linkscope.messages import numbers
from linkscope.messages.names import named
from linkscope.messages.template import written

Line = Mapping[str, Any]

_TEXT = (Kind.WORD, Kind.NAME, Kind.PATH)


def heading(column: Column) -> str:
    """Return what stands above a column."""
    return column.head or named("head", column.name)


def is_text(column: Column) -> bool:
    """Return whether a column holds words, which are set to the left."""
    return column.kind in _TEXT


def cell(line: Line, column: Column) -> str:
    """Return one cell as text; "" for null."""
    value = line[column.name]
    if value is None or (isinstance(value, Sequence) and not value):
        return ""
    return f"{_modes(line, column) or _written(value, line, column)}{_mark(line, column)}"


def interval(line: Line, column: Column) -> str:
    """Return the 95% interval of a cell, "28.99-34.38"; "" where it is unknown or a point."""
    low, high = line.get(f"{column.name}_low"), line.get(f"{column.name}_high")
    if low is None or high is None or low == high:
        return ""
    return _written((low, high), line, column)


def _written(value: Any, line: Line, column: Column) -> str:
    if column.kind is Kind.NAME:
        codes = [value] if isinstance(value, str) else value
        return ", ".join(named(column.of or column.name, str(code)) for code in codes)
    if column.kind is Kind.WORD:
        return written(value, "") if not isinstance(value, float) else written(value, "number")
    if column.kind is Kind.COUNT:
        return f"{int(value):d}"
    if column.kind is Kind.VALUE:
        return written(value, "number" if line["unit"] == "GB/s" else "time")
    return written(value, column.kind.value)


def _modes(line: Line, column: Column) -> str:
    """Return both speeds of a result that has two between processes, "28.74 (1/3), 30.55"; "" of one speed."""
    modes = line.get(f"{column.name}_modes")
    if not modes:
        return ""
    low, high = (_written(one, line, column) for one in modes)
    of_low, of_high = line[f"{column.name}_modes_in"]
    if low.partition(" ")[2] == high.partition(" ")[2]:
        low = low.partition(" ")[0]
    return f"{low} ({of_low}/{of_low + of_high}), {high}"


def _mark(line: Line, column: Column) -> str:
    mark = line[column.mark] if column.mark else ""
    return "!" if mark is True else str(mark or "")


def shown_rows(table: Table, full: bool) -> list[dict[str, Any]]:
    """Return the rows that a screen shows."""
    frame = table.frame if full or table.first is None else table.frame.head(table.first)
    return list(frame.iter_rows(named=True))


def hidden_rows(table: Table, full: bool) -> int:
    """Return how many rows a screen leaves to --full."""
    return 0 if full or table.first is None else max(table.frame.height - table.first, 0)


def matrix(table: Table, full: bool = False) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the column headings of a matrix, and its rows: name and cells, "-" where there is none.

    Curves have a column each and a row for each x. ``full``: cells that have an interval show it, "396.3 ±0.1%".
    """
    if table.layout == "curve":
        series, x, value = table.columns
        table = replace(table, columns=(x, series, value), frame=table.frame.sort(x.name, maintain_order=True))
    value = table.columns[2]
    rows, columns, found = matrix_lines(table)
    texts = {place: f"{cell(line, value)}{_margin(line, value) if full else ''}" for place, line in found.items()}
    return columns, [(name, [texts.get((name, other), "") or "-" for other in columns]) for name in rows]


def _margin(line: Line, column: Column) -> str:
    value, low, high = (line.get(f"{column.name}{end}") for end in ("", "_low", "_high"))
    if not column.interval or not value or low is None or high is None or low == high or _modes(line, column):
        return ""
    return f" {numbers.margin(max(high - value, value - low) / value)}"


def line_groups(table: Table) -> dict[str, str]:
    """Return the groups of a table of layout "line": name and what stands behind it, "name value, name value"."""
    first, *rest = table.columns
    groups: dict[str, list[str]] = {}
    for line in table.frame.iter_rows(named=True):
        words = " ".join(filter(None, (cell(line, column) for column in rest)))
        groups.setdefault(cell(line, first), []).append(words)
    return {name: ", ".join(found) for name, found in groups.items()}


def matrix_lines(table: Table) -> tuple[list[str], list[str], dict[tuple[str, str], Line]]:
    """Return the names of rows and of columns, in one order where both are the same, and the lines by both names."""
    row, column = table.columns[:2]
    found: dict[tuple[str, str], Line] = {
        (cell(line, row), cell(line, column)): line for line in table.frame.iter_rows(named=True)
    }
    rows, columns = (list(dict.fromkeys(names[side] for names in found)) for side in (0, 1))
    return rows, rows if set(rows) == set(columns) else columns, found
