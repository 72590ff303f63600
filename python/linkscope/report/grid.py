"""Grid: the style of every table on a terminal, and how one too wide for it is split."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

GAP = 2
"""Characters between two columns."""


def empty_grid(corner: str, label_width: int | None = None) -> Table:
    """A table without rows and with its first column, headed ``corner``, at least ``label_width`` wide."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, GAP - 1), show_edge=False)
    grid.add_column(Text(corner), overflow="fold", min_width=label_width)
    return grid


def chunks_of(widths: Sequence[int], room: int) -> list[list[int]]:
    """Column indices in groups whose widths and gaps fit into ``room``; at least one column a group."""
    groups: list[list[int]] = [[]]
    used = 0
    for index, width in enumerate(widths):
        if groups[-1] and used + width + GAP > room:
            groups.append([])
            used = 0
        groups[-1].append(index)
        used += width + GAP
    return groups
