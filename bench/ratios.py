"""Ratios of linkscope's figures to a peer's, as a table and a verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Ratio:
    """One figure of both tools in one ``unit``. ``margin``: the +- of linkscope's, relative (half width of its 95 %
    interval, or of its range over several turns); nan where nothing tells it.
    """

    case: str
    cell: str
    ours: float
    theirs: float
    unit: str
    margin: float

    @property
    def value(self) -> float:
        return self.ours / self.theirs


Column = Callable[[list[Ratio]], str]
"""What a table says of a case's cells."""


def median(figures: list[float], digits: int) -> str:
    return f"{statistics.median(figures):.{digits}f}"


def widest(cells: list[Ratio]) -> str:
    known = [cell.margin for cell in cells if not math.isnan(cell.margin)]
    return f"{max(known):.2%}" if known else "-"


RATIOS: dict[str, Column] = {
    "median ratio": lambda cells: median([cell.value for cell in cells], 4),
    "lowest": lambda cells: f"{min(cell.value for cell in cells):.4f}",
    "highest": lambda cells: f"{max(cell.value for cell in cells):.4f}",
    "widest +-": widest,
}


def figures_of(peer: str) -> dict[str, Column]:
    """Both tools' figures, the median over the cells: for cases whose cells are alike, as of one size."""
    return {
        "linkscope": lambda cells: median([cell.ours for cell in cells], 2),
        peer: lambda cells: median([cell.theirs for cell in cells], 2),
    }


def print_by_case(ratios: list[Ratio], peer: str, console: Console, columns: dict[str, Column] = RATIOS) -> None:
    """A line per case, with what ``columns`` say of its cells."""
    table = Table(title=f"linkscope beside {peer}, same machine")
    for column in ("case", "cells", "unit", *columns):
        table.add_column(column, justify="left" if column in ("case", "unit") else "right")
    for case in dict.fromkeys(ratio.case for ratio in ratios):
        cells = [ratio for ratio in ratios if ratio.case == case]
        table.add_row(case, str(len(cells)), cells[0].unit, *(column(cells) for column in columns.values()))
    console.print(table)
