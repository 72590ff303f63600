"""Cells on a terminal: figure, interval and percent of peak aligned, a cell on one line, reasons below by letters."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from linkscope.analysis.cell import Cell
from linkscope.report import wording
from linkscope.report.grid import GAP, chunks_of, empty_grid

Parts = tuple[str, str | None, str]
"""Figure, interval, percent of peak, as they stand in a cell; instead of an interval None: the first says why there is
no figure."""


class Notes:
    """Letters for reasons, so that a cell stays narrow: the first reason is a, the next b."""

    def __init__(self) -> None:
        self._letters: dict[tuple[str, str], str] = {}

    def letter(self, entry: Cell) -> str:
        key = (entry.status, entry.reason or "no reason recorded")
        if key not in self._letters:
            number = len(self._letters)
            self._letters[key] = chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")
        return self._letters[key]

    def print(self, console: Console) -> None:
        for (status, reason), letter in self._letters.items():
            style = "red" if status == "failed" else "dim"
            word = "n/a" if status == "ok" else status
            console.print(Text(f"{letter}: {word}: {reason}", style=style))


def parts_of(entry: Cell | None, notes: Notes) -> Parts:
    if entry is None:
        return "", None, ""
    if entry.headline is None:
        word = "FAILED" if entry.status == "failed" else "skipped" if entry.status == "skipped" else "n/a"
        return f"{word} {notes.letter(entry)}", None, ""
    return wording.value(entry.headline.value.median), wording.interval(entry), wording.share(entry)


def _column_texts(parts: Sequence[Parts]) -> list[Text]:
    """The cells of one column, their parts aligned."""
    figures = [part for part in parts if part[1] is not None]
    widths = [max((len(part[k] or "") for part in figures), default=0) for k in range(3)]
    return [_cell_text(part, widths) for part in parts]


def _cell_text(parts: Parts, widths: Sequence[int]) -> Text:
    figure, interval, share = parts
    if interval is None:
        return Text(figure, style="red" if figure.startswith("FAILED") else "dim")
    text = Text().append(figure.rjust(widths[0]), style="bold")
    if widths[1]:
        text.append(" ").append(interval.rjust(widths[1]), style="dim")
    if widths[2]:
        text.append(" ").append(share.rjust(widths[2]), style="cyan")
    return text


def print_cells(
    notes: Notes,
    row_ids: Sequence[str],
    column_ids: Sequence[str],
    cells: Sequence[Sequence[Cell | None]],
    corner: str,
    console: Console,
) -> None:
    """A table of cells, in groups of columns where it is too wide; no cell takes two lines."""
    print_parts(row_ids, column_ids, [[parts_of(one, notes) for one in line] for line in cells], corner, console)
    notes.print(console)


def print_parts(
    row_ids: Sequence[str],
    column_ids: Sequence[str],
    parts: Sequence[Sequence[Parts]],
    corner: str,
    console: Console,
) -> None:
    """The same of cells whose text is known."""
    label_width = max(len(label) for label in (*row_ids, corner))
    texts = [_column_texts([line[j] for line in parts]) for j in range(len(column_ids))]
    widths = [_width(label, column) for label, column in zip(column_ids, texts, strict=True)]
    for chunk in chunks_of(widths, console.width - label_width):
        grid = empty_grid(corner, label_width)
        for j in chunk:
            grid.add_column(Text(column_ids[j]), justify="right", no_wrap=True, min_width=widths[j])
        for i, label in enumerate(row_ids):
            grid.add_row(Text(label), *(texts[j][i] for j in chunk))
        console.print(grid)


def width_of(row_ids: Sequence[str], column_ids: Sequence[str], parts: Sequence[Sequence[Parts]]) -> int:
    """How wide the table is, in characters, where it is in one piece."""
    texts = [_column_texts([line[j] for line in parts]) for j in range(len(column_ids))]
    columns = [_width(label, column) + GAP for label, column in zip(column_ids, texts, strict=True)]
    return max(map(len, row_ids)) + sum(columns)


def _width(label: str, texts: Sequence[Text]) -> int:
    return max(len(line) for text in (label, *(text.plain for text in texts)) for line in text.split("\n"))
