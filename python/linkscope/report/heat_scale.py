"""What the colours of heat maps stand for: percent of peak in all of them or, without a peak, one scale for a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkscope.analysis.cell import Cell
from linkscope.report import wording
from linkscope.report.heat import OF_PEAK, OF_VALUES, STEPS, step

FLOOR = 0.7
"""Without a peak the palest colour stands for at most this share of the largest value, so that noise looks like
noise."""


@dataclass(frozen=True)
class Scale:
    """``low`` and ``high``: shares of peak, or values in the table's unit, of the first and the last colour. ``words``
    say which."""

    ramp: str
    low: float
    high: float
    words: str

    def colour(self, entry: Cell) -> str:
        """The cell's class of the style sheet; empty where it has no place on the scale."""
        if entry.headline is None:
            return ""
        found = entry.share if self.ramp == OF_PEAK else entry.headline.value.median
        if found is None:
            return ""
        return self._class(step((found - self.low) / (self.high - self.low) if self.high > self.low else 1.0))

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """(class, what it stands for) of a few colours, evenly spaced."""
        parts = 4 if self.ramp == OF_PEAK else 2
        places = [self.low + (self.high - self.low) * number / parts for number in range(parts + 1)]
        texts = [f"{place * 100:.0f} %" if self.ramp == OF_PEAK else wording.value(place) for place in places]
        return tuple((self._class(STEPS * number // parts), text) for number, text in enumerate(texts))

    def _class(self, number: int) -> str:
        return f"{self.ramp}{number}"


def shares_scale(cells: Sequence[Cell]) -> Scale | None:
    """Of cells that have a share of peak, some of them at least; None for others."""
    figures = [entry for entry in cells if entry.headline is not None]
    without = sum(entry.share is None for entry in figures)
    if without == len(figures):
        return None
    more = f"; without a colour: no peak is known ({without} of {len(figures)})" if without else ""
    return Scale(OF_PEAK, 0.0, 1.0, f"percent of peak, the same in every table{more}")


def values_scale(path: str, tables: Iterable[Sequence[Cell]]) -> Scale | None:
    """One for all tables of a path and a unit whose figures have no peak; None where none has a figure."""
    figures = [entry.headline for cells in tables for entry in cells if entry.headline is not None]
    if not figures:
        return None
    values = [figure.value.median for figure in figures]
    ends = "lowest to highest" if figures[0].higher_is_better else "shortest to longest"
    words = f"{figures[0].unit}, {ends}: one scale for {path}, no peak is known"
    return Scale(OF_VALUES, min(min(values), FLOOR * max(values)), max(values), words)
