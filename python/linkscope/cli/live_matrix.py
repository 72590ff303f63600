"""LiveMatrix: the figures of one matrix of a run as they come, small enough for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from linkscope.analysis.by_flow import apart
from linkscope.analysis.headline import RATE_UNIT, Headline, headline
from linkscope.analysis.matrices import ordered
from linkscope.report import wording
from linkscope.report.grid import GAP, empty_grid
from linkscope.results.row import Row

Json = dict[str, Any]
Place = tuple[str, str]

TO_COME = "·"
FRAME = 4
"""Lines around the figures: a blank one, the title, the columns' names and a rule."""


@dataclass
class LiveMatrix:
    """``places``: (row, column) of all its cases; ``found``: the newest figure of those that have one."""

    title: str
    places: list[Place] = field(default_factory=list)
    found: dict[Place, Headline | None] = field(default_factory=dict)

    def take(self, row: Json) -> None:
        """Puts the row's figures in their places."""
        for part in apart([Row.from_json(row)]):
            self.found[_place(part.labels)] = headline(part)

    def lines(self, width: int, height: int) -> list[RenderableType]:
        """The part of it that fits; nothing where not even one line does."""
        unit = next((one.unit for one in self.found.values() if one is not None), "")
        rows, columns = (ordered(place[i] for place in self.places) for i in (0, 1))
        texts = {place: self._text(place, unit) for place in self.places}
        cell = max((len(text) for text in (*texts.values(), *columns)), default=1) + GAP
        label = max((len(name) for name in rows), default=0)
        fitting, high = max((width - label) // cell, 1), height - FRAME
        if high < 1:
            return []
        cut = len(rows) > high or len(columns) > fitting
        more = f", {len(self.found)} of {len(self.places)}" if cut else ""
        room = width - len(f", {unit}{more}")
        grid = empty_grid("", label)
        for name in columns[:fitting]:
            grid.add_column(Text(name), justify="right", no_wrap=True, min_width=cell - GAP)
        for name in rows[:high]:
            grid.add_row(Text(name), *(texts.get((name, column), "") for column in columns[:fitting]))
        return [Text(""), Text(f"{wording.shortened(self.title, room)}, {unit}{more}", style="bold"), grid]

    def _text(self, place: Place, unit: str) -> str:
        if place not in self.found:
            return TO_COME
        figure = self.found[place]
        if figure is None:
            return "failed"
        alike = figure.unit == unit or RATE_UNIT in (figure.unit, unit)
        return wording.value((figure if alike else figure.in_unit(unit)).value.median)


def matrix_key(case: Json) -> tuple[str, str]:
    """What cases of one matrix have in common."""
    return f"{case['suite']}/{case['name']}", str(case["labels"].get("title") or case["name"])


def matrices_of(cases: Iterable[Json]) -> dict[tuple[str, str], LiveMatrix]:
    """Of all ``cases`` that a matrix of more than one place shows, with their places."""
    found: dict[tuple[str, str], LiveMatrix] = {}
    for case in cases:
        if case["labels"].get("show") == "matrix":
            matrix = found.setdefault(matrix_key(case), LiveMatrix(matrix_key(case)[1]))
            matrix.places += [place for place in _places(case["labels"]) if place not in matrix.places]
    return {key: one for key, one in found.items() if len(one.places) > 1}


def _places(labels: Json) -> Sequence[Place]:
    return [_place(labels | one) for one in labels.get("cells") or [{}]]


def _place(labels: Json) -> Place:
    return str(labels.get("row", "")), str(labels.get("column", ""))
