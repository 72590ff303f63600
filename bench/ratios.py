"""Ratios of linkscope's figures to a peer's, as a table and a verdict."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Ratio:
    """One figure of both tools in one ``unit``. ``margin``: half width of linkscope's 95 % interval, relative."""

    case: str
    cell: str
    ours: float
    theirs: float
    unit: str
    margin: float

    @property
    def value(self) -> float:
        return self.ours / self.theirs


def print_by_case(ratios: list[Ratio], peer: str, console: Console) -> None:
    """A line per case: medians over its cells, the ratio of the medians, the worst cell, the widest interval."""
    table = Table(title=f"linkscope beside {peer}, same node, same run")
    for column in ("case", "cells", "unit", "linkscope", peer, "ratio", "lowest cell", "highest cell", "widest +-"):
        table.add_column(column, justify="left" if column in ("case", "unit") else "right")
    for case in dict.fromkeys(ratio.case for ratio in ratios):
        cells = [ratio for ratio in ratios if ratio.case == case]
        ours, theirs = (statistics.median(getattr(c, side) for c in cells) for side in ("ours", "theirs"))
        values = sorted(c.value for c in cells)
        table.add_row(
            case,
            str(len(cells)),
            cells[0].unit,
            f"{ours:.2f}",
            f"{theirs:.2f}",
            f"{ours / theirs:.4f}",
            f"{values[0]:.4f}",
            f"{values[-1]:.4f}",
            f"{max(c.margin for c in cells):.2%}",
        )
    console.print(table)
