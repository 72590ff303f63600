"""Leaders: which curve of a picture is best from which size on, and so the sizes at which two cross."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from linkscope.analysis.cell import Cell
from linkscope.analysis.headline import Headline


@dataclass(frozen=True)
class Leader:
    """``series`` is best from ``first`` to ``last`` (bytes) among the curves of one ``place`` and one ``regime``.

    ``series`` is told without those two.
    """

    place: str
    regime: str
    series: str
    first: float
    last: float


class SeriesCurve(Protocol):
    """What analysis/curves.py has of one series."""

    @property
    def series(self) -> str: ...

    @property
    def points(self) -> tuple[Cell, ...]: ...


def leaders_of(curves: Sequence[SeriesCurve]) -> tuple[Leader, ...]:
    """Leads of every place and regime in which two curves or more can be set against one another, sizes ascending.

    Figures of different clocks, of flows that count both ways, and of different hosts are never compared. A curve takes
    the lead where its 95 % interval is disjoint from that of the curve that has it; where they overlap, nothing changes
    hands.
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


def _leads(place: str, regime: str, rivals: Sequence[SeriesCurve]) -> list[Leader]:
    figures = [{p.x: p.headline for p in curve.points if p.headline is not None} for curve in rivals]
    xs = sorted({x for one in figures for x in one if x is not None})
    shared = [x for x in xs if sum(x in one for one in figures) > 1]
    if len(shared) == 1 < len(xs):  # curves that only touch
        return []
    holders: list[tuple[float, int]] = []
    for x in shared:
        holders.append((x, _holder(x, figures, holders[-1][1] if holders else None)))
    clock = regime.partition(",")[0]
    leaders = []
    for holder, run in groupby(holders, key=lambda pair: pair[1]):
        sizes = [x for x, _ in run]
        words = [word for word in rivals[holder].series.split(", ")[1:] if word != clock]
        leaders.append(Leader(place, regime, ", ".join(words), sizes[0], sizes[-1]))
    return leaders


def _holder(x: float, figures: Sequence[dict[float | None, Headline]], former: int | None) -> int:
    here = {index: one[x] for index, one in enumerate(figures) if x in one}
    best = min(here, key=lambda index: _cost(here[index]))
    if former is None or former not in here or _apart(here[best], here[former]):
        return best
    return former


def _cost(figure: Headline) -> float:
    return -figure.value.median if figure.higher_is_better else figure.value.median


def _apart(one: Headline, other: Headline) -> bool:
    return one.value.low > other.value.high or one.value.high < other.value.low
