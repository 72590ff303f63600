"""Grid: the style of every table on a terminal, and how one too wide for it is split."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

GAP = 2
"""Characters between two columns."""


def empty_grid(corner: str, label_width: int | None = None) -> Table:
    """A table without rows and with its first column, headed ``corner``, at least ``label_width`` wide."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, GAP - 1), show_edge=False)
    grid.add_column(Text(corner), overflow="fold", min_width=label_width)
    return grid


@dataclass(frozen=True)
class Parts:
    """A cell's text, broken between its parts alone; only a part that is too wide for a line is cut."""

    parts: tuple[str, ...]
    style: str = ""

    def lines(self, width: int) -> list[str]:
        """Each at most ``width`` wide, but for parts that are wider alone."""
        lines = [""]
        for part in self.parts:
            if lines[-1] and len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
        return [line.rstrip() for line in lines]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(max(map(len, self.lines(0))), len("".join(self.parts)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(self.lines(options.max_width)), self.style, overflow="fold")


def words(text: str, style: str = "") -> Parts:
    """Broken between words; a percentage and a size stay whole."""
    return Parts(tuple(re.split(r"(?<= )(?!%|[KMGT]?i?B\b)", text)), style)


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
