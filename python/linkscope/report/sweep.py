"""Sweep: a table over sizes or counts in a line. Its best figure and where, and which sizes give half of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.lists import Listing
from linkscope.analysis.rivals import fastest, rivals
from linkscope.analysis.summary import Table
from linkscope.report import wording

HALF = 0.5
LEVEL = 0.9
"""A sweep whose last figure but one has at least this share of the last has levelled out."""
_SIZE = "size"
"""The axis of a list whose lines differ in their bytes."""


@dataclass(frozen=True)
class Sweep:
    """``best`` at ``place``, such as "kernel-copy at 512 MiB". ``half``: the first and the last bytes of those around
    it that give half of it or more; None for times, for counts, and where all sizes do."""

    best: Cell
    place: str
    half: tuple[int, int | None] | None

    @property
    def half_words(self) -> str:
        """Such as "half of it from 1 MiB", "half of it from 256 KiB to 64 MiB"; may be empty."""
        if self.half is None:
            return ""
        first, last = self.half
        return f"half of it from {wording.size(first)}" + ("" if last is None else f" to {wording.size(last)}")

    @property
    def words(self) -> str:
        """Such as "best: 396.6 GB/s, 88 % of peak, copy-engine at 512 MiB; half of it from 1 MiB"."""
        figure = self.best.headline
        assert figure is not None
        word = "best" if figure.higher_is_better else "shortest"
        share = wording.of_peak(self.best)
        parts = [f"{wording.value(figure.value.median)} {figure.unit}", *([share] if share else []), self.place]
        return "; ".join(filter(None, (f"{word}: {', '.join(filter(None, parts))}", self.half_words)))


def sweep(table: Table) -> Sweep | None:
    """Of what may be told as best (``rivals``): a figure of another kind only where there is nothing else, by its name.
    None for a table whose figures are all of one size and count, or that has no figure."""
    figures = [entry for entry in table.flat if entry.headline is not None]
    if not figures or not is_sweep(table):
        return None
    best = fastest(rivals(figures))
    assert best is not None
    return Sweep(best, _place(table, best), _half(_alike(table, best), best))


def is_sweep(table: Table) -> bool:
    """Whether its figures are of several sizes, or numbers of threads: the lowest then says nothing."""
    return isinstance(table, CurveSet) or len({entry.bytes for entry in table.flat}) > 1


def _place(table: Table, best: Cell) -> str:
    if isinstance(table, CurveSet):
        at = wording.x_value(best.x, table.heading.x_name)
        at = at if table.heading.x_name == "bytes" else f"{wording.x_title(table.heading.x_name)} {at}"
        name = next(n for n, curve in zip(table.names, table.curves, strict=True) if best in curve.points)
        name = wording.with_kind(name, best)
        return f"{name} at {at}" if name else f"at {at}"
    place = Listing.label(best) if isinstance(table, Listing) else wording.place(best, table.heading)
    return wording.with_kind(place, best)


def _alike(table: Table, best: Cell) -> list[Cell]:
    """What differs from the best figure in its size alone, ascending."""
    if isinstance(table, CurveSet):
        return list(next(curve.points for curve in table.curves if best in curve.points)) if _by_bytes(table) else []
    return sorted((entry for entry in table.flat if _but_size(entry) == _but_size(best)), key=lambda one: one.bytes)


def _by_bytes(table: CurveSet) -> bool:
    return table.heading.x_name == "bytes"


def _but_size(entry: Cell) -> tuple[object, ...]:
    return entry.row, entry.column, entry.series, tuple(pair for pair in entry.variant if pair[0] != _SIZE)


def _rises_still(points: Sequence[Cell], last: int) -> bool:
    """Whether the best is at the end of a sweep that has not levelled out: half of it says nothing then."""
    before = points[last - 1].headline if last == len(points) - 1 else None
    best = points[last].headline
    return before is not None and best is not None and before.value.median < LEVEL * best.value.median


def _half(points: Sequence[Cell], best: Cell) -> tuple[int, int | None] | None:
    if best.headline is None or not best.headline.higher_is_better or len(points) < 2:
        return None
    wanted = HALF * best.headline.value.median
    enough = [point.headline is not None and point.headline.value.median >= wanted for point in points]
    first = last = points.index(best)
    if _rises_still(points, last):
        return None
    while first > 0 and enough[first - 1]:
        first -= 1
    while last < len(points) - 1 and enough[last + 1]:
        last += 1
    if first == 0 and last == len(points) - 1:
        return None
    return points[first].bytes, None if last == len(points) - 1 else points[last].bytes
