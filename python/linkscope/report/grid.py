"""Grid: the style of every table on a terminal, and how one too wide for it is split."""

from __future__ import annotations

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
class CaseId:
    """In a cell: where it is too wide it goes on in the next line behind a "/", and only a longer part is cut."""

    text: str

    def lines(self, width: int) -> list[str]:
        """Each at most ``width`` wide, but for parts that are longer alone."""
        first, *parts = self.text.split("/")
        lines = [first]
        for part in parts:
            whole = f"{lines[-1]}/{part}"
            if len(whole) + (part is not parts[-1]) <= width:
                lines[-1] = whole
            else:
                lines[-1] += "/"
                lines.append(part)
        return lines

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(max(map(len, self.lines(0))), len(self.text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n".join(self.lines(options.max_width)), overflow="fold")


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
