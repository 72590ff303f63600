"""Narrowed: the part of a run that a reader asks for, by device or by a word of a table's title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from linkscope.analysis.cell import Cell, Heading
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.summary import Table
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.results.row import Row


@dataclass(frozen=True)
class Placed:
    """A cell, with the heading of the table in which it stands."""

    cell: Cell
    heading: Heading


def involving(rows: Iterable[Row], device: str, node: Node) -> list[Row]:
    """The rows with a flow that ``device`` (``gpu:0``) sends, receives, carries out or takes part in.

    Raises LinkscopeError where the node has no such device, or the run no such row.
    """
    known = [one.id for one in node.devices]
    if device not in known:
        close = get_close_matches(device, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known[:12])}"
        raise LinkscopeError(f"--where: {node.name} has no device {device}: {hint}")
    found = [row for row in rows if any(device in _words(flow) for flow in row.case["flows"])]
    if not found:
        raise LinkscopeError(f"--where: no case of this run involves {device}")
    return found


def titled(tables: Sequence[Table], word: str) -> list[Table]:
    """The tables whose title, row of the suite, or method has ``word``, whatever its case.

    Raises LinkscopeError where none has.
    """
    found = [table for table in tables if word.lower() in _naming(table.heading).lower()]
    if not found:
        words = {part.strip(",():") for table in tables for part in _naming(table.heading).split()}
        close = get_close_matches(word, sorted(words), n=1)
        hint = f"did you mean {close[0]}?" if close else "`show RUN --full` has all titles"
        raise LinkscopeError(f"no table has the word {word} in its title: {hint}")
    return found


def by_share(tables: Iterable[Table]) -> list[Placed]:
    """Every figure whose peak is known, the one furthest below it first; of a curve only the best, since small sizes
    and few threads say nothing of the path."""
    placed = [Placed(cell, table.heading) for table in tables for cell in _telling(table) if cell.share is not None]
    return sorted(placed, key=lambda one: one.cell.share or 0.0)


def _telling(table: Table) -> list[Cell]:
    if not isinstance(table, CurveSet):
        return table.flat
    return [max(curve.points, key=lambda point: point.share or 0.0) for curve in table.curves if curve.points]


def _naming(heading: Heading) -> str:
    return " ".join((heading.title, heading.name, *heading.methods))


def _words(data: Any) -> Iterator[str]:
    """Every string of JSON data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _words(value)
    elif isinstance(data, list):
        for value in data:
            yield from _words(value)
