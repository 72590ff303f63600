"""Leaders: which curves of a picture are best at which sizes, and so the sizes at which they cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from linkscope.analysis.cell import Cell
from linkscope.analysis.size_ranges import Cost, decided, size_ranges, with_equals


@dataclass(frozen=True)
class Leader:
    """``best`` are equals from ``first`` to ``last`` bytes among the curves of one ``place`` and one ``regime``, whose
    names they are told without. ``open``: the sizes at which intervals beyond ``UNKNOWN_FROM`` leave open who leads;
    they are of all leads of the place and regime."""

    place: str
    regime: str
    best: tuple[str, ...]
    first: float
    last: float
    open: tuple[float, ...] = ()


class SeriesCurve(Protocol):
    """What analysis/curves.py has of one series."""

    @property
    def series(self) -> str: ...

    @property
    def points(self) -> tuple[Cell, ...]: ...


def leaders_of(curves: Sequence[SeriesCurve]) -> tuple[Leader, ...]:
    """Leads of every place and regime in which two curves or more can be set against one another, sizes ascending.

    Figures of different clocks, of flows that count both ways, and of different hosts are never compared. Nobody leads
    where all curves are equals throughout, at sizes where the figure of one is mostly an assumed latency, and at 0 B.
    """
    groups: dict[tuple[str, str, tuple[str, ...]], list[SeriesCurve]] = {}
    for curve in curves:
        kinds = {(point.regime, point.hosts) for point in curve.points}
        if len(kinds) == 1 and any(point.headline for point in curve.points):
            groups.setdefault((curve.series.partition(", ")[0], *kinds.pop()), []).append(curve)
    return tuple(
        lead
        for (place, regime, _), rivals in groups.items()
        if len(rivals) > 1
        for lead in _leads(place, regime, rivals)
    )


def _cost(point: Cell) -> Cost | None:
    """A time as it is, a rate as its inverse; None where that is not positive."""
    if point.headline is None or point.headline.value.low <= 0:
        return None
    found = (Cost.of_samples if point.of_samples else Cost.of)(point.headline.value)
    return found.inverse if point.headline.higher_is_better else found


def _leads(place: str, regime: str, rivals: Sequence[SeriesCurve]) -> list[Leader]:
    clock = regime.partition(",")[0]
    assumed = {point.x for curve in rivals for point in curve.points if point.assumed}
    costs = {
        ", ".join(word for word in curve.series.split(", ")[1:] if word != clock): {
            point.x: found
            for point in curve.points
            if point.x and point.x not in assumed and (found := _cost(point)) is not None
        }
        for curve in rivals
    }
    known, left_out = decided(costs)
    ranges = with_equals(known, size_ranges(known), left_out)
    if not any(one.excess for one in ranges):
        return []
    return [Leader(place, regime, one.best, one.first, one.last, left_out) for one in ranges]
