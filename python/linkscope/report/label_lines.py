"""Label lines: a table with a line for each label and no broken cell; a label too long for its column stands above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.text import Text

from linkscope.report.grid import GAP

LEAST_LABEL = 16
"""Characters. Where the figures leave less, every label stands above them."""
LEAST_WORDS = 12
"""Characters of a column of words, to which it may be shortened."""


@dataclass(frozen=True)
class LabelColumn:
    """``cells``: one for each label. Numbers stand to the right, ``words`` to the left; words are shortened where the
    terminal is narrow. ``holds`` says which, where the cells do not show it."""

    head: str
    cells: tuple[str, ...]
    holds: Literal["", "words", "numbers"] = ""

    @property
    def words(self) -> bool:
        """Whether it holds no numbers."""
        found = any(cell and cell[0] not in "-+±<>x×0123456789–" for cell in self.cells)
        return found if self.holds == "" else self.holds == "words"

    @property
    def width(self) -> int:
        """Characters."""
        return max(map(len, (self.head, *self.cells)))


def print_label_lines(corner: str, labels: Sequence[str], columns: Sequence[LabelColumn], console: Console) -> None:
    """Prints the table, at most as wide as the terminal unless its figures alone are wider."""
    longest = max(map(len, (corner, *labels)))
    widths = _widths(columns, console.width - min(longest, LEAST_LABEL))
    room = console.width - sum(width + GAP for width in widths)
    first = longest if longest <= room else room if room >= LEAST_LABEL else len(corner)
    _print_line(Text(corner.ljust(first)), columns, widths, [one.head for one in columns], console)
    console.print(Text("─" * min(first + sum(width + GAP for width in widths), console.width)))
    for number, label in enumerate(labels):
        if len(label) > first:
            console.print(Text(label))
        head = Text(label.ljust(first) if len(label) <= first else " " * first)
        _print_line(head, columns, widths, [one.cells[number] for one in columns], console)


def _print_line(
    line: Text, columns: Sequence[LabelColumn], widths: Sequence[int], cells: Sequence[str], console: Console
) -> None:
    for column, width, cell in zip(columns, widths, cells, strict=True):
        text = cell if len(cell) <= width else f"{cell[: width - 1].rstrip()}…"
        line.append(" " * GAP).append(text.ljust(width) if column.words else text.rjust(width))
    line.rstrip()
    console.print(line, soft_wrap=True)


def _widths(columns: Sequence[LabelColumn], room: int) -> list[int]:
    """Of columns and their gaps within ``room``, as far as columns of words can be shortened."""
    widths = [one.width for one in columns]
    for index in sorted(range(len(columns)), key=lambda one: -widths[one]):
        over = sum(width + GAP for width in widths) - room
        if over > 0 and columns[index].words:
            widths[index] = max(widths[index] - over, min(widths[index], max(LEAST_WORDS, len(columns[index].head))))
    return widths
