"""LiveMatrix: the results of one matrix of a run as they come, small enough for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from linkscope.cli.row_result import RowResult, places, results_of
from linkscope.machine.paths import natural
from linkscope.messages import numbers

Json = dict[str, Any]
Place = tuple[str, str]

TO_COME = "·"
FRAME = 3
"""Lines around the cells: a blank one, the title and the columns' names."""
GAP = 2
"""Characters between two columns."""


@dataclass
class LiveMatrix:
    """``places``: (row, column) of all its cases; ``found``: the newest result of those that have been visited."""

    title: str
    places: list[Place] = field(default_factory=list)
    found: dict[Place, RowResult | None] = field(default_factory=dict)

    def take(self, row: Json) -> None:
        """Put the row's results in their places."""
        self.found |= dict.fromkeys(places(row["case"]["labels"]))
        self.found |= {one.place: one for one in results_of(row)}

    def lines(self, width: int, height: int) -> list[RenderableType]:
        """Return the part of it that fits; nothing where not even one line does."""
        times = [one.value for one in self.found.values() if one is not None and not one.rate]
        unit = numbers.shared_time_unit(times) if times else "GB/s"
        rows, columns = (_ordered(place[i] for place in self.places) for i in (0, 1))
        texts = {place: self._text(place, unit) for place in self.places}
        cell = max((len(text) for text in (*texts.values(), *columns)), default=1) + GAP
        label = max((len(name) for name in rows), default=0) + GAP
        fitting, high = max((width - label) // cell, 1), height - FRAME
        if high < 1:
            return []
        cut = len(rows) > high or len(columns) > fitting
        more = f", {len(self.found)} of {len(self.places)}" if cut else ""
        grid = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="dim", show_edge=False)
        grid.add_column("")
        for name in columns[:fitting]:
            grid.add_column(Text(name), justify="right", no_wrap=True, min_width=cell - GAP)
        for name in rows[:high]:
            grid.add_row(Text(name), *(texts.get((name, column), "") for column in columns[:fitting]))
        title = Text(f"{unit}{more}: {self.title}", style="bold", no_wrap=True, overflow="ellipsis")
        return [Text(""), title, grid]

    def _text(self, place: Place, unit: str) -> str:
        if place not in self.found:
            return TO_COME
        result = self.found[place]
        if result is None:
            return "failed"
        return numbers.number(result.value if result.rate else numbers.in_unit(result.value, unit))


def matrix_key(case: Json) -> tuple[str, str]:
    """Return what cases of one matrix have in common."""
    return f"{case['suite']}/{case['name']}", str(case["labels"].get("title") or case["name"])


def matrices_of(cases: Iterable[Json]) -> dict[tuple[str, str], LiveMatrix]:
    """Return those that have more than one place among all ``cases``, with their places."""
    found: dict[tuple[str, str], LiveMatrix] = {}
    for case in cases:
        if case["labels"].get("show") == "matrix":
            matrix = found.setdefault(matrix_key(case), LiveMatrix(matrix_key(case)[1]))
            matrix.places += [place for place in places(case["labels"]) if place not in matrix.places]
    return {key: one for key, one in found.items() if len(one.places) > 1}


def _ordered(labels: Iterable[str]) -> list[str]:
    """Return distinct labels, by kind and number where all name devices, else in order of appearance."""
    distinct = list(dict.fromkeys(labels))
    return sorted(distinct, key=natural) if all(":" in label for label in distinct) else distinct
