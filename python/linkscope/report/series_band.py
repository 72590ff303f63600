"""A picture of very many series: what they span, their median, the best of them, and the few that stand apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import TypeVar

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import Curve, CurveSet
from linkscope.analysis.rivals import rivals

_Point = TypeVar("_Point")
MOST_SERIES = 12
"""More are a band."""
MOST_OUTLIERS = 4
APART = 3.0
"""A series is an outlier from so many times the median distance of all to the middle of them, and ``LEAST``."""
LEAST = 0.05
MOST_POINTS = 64
"""Of one series in a picture."""


@dataclass(frozen=True)
class Spread:
    """Of all series at ``x``, in the table's unit."""

    x: float
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Band:
    """What ``count`` series span, x ascending."""

    count: int
    points: tuple[Spread, ...]


def collapsed(table: CurveSet) -> tuple[CurveSet, Band | None]:
    """The table as it is drawn: as it is, or a line through the best point at each x and the outliers, with the band of
    all series."""
    drawn = [curve for curve in table.curves if any(point.headline is not None for point in curve.points)]
    if len(drawn) <= MOST_SERIES:
        return replace(table, curves=tuple(_thinned(curve) for curve in table.curves)), None
    apart = outliers(drawn)
    lines = (best_of(drawn), *(curve for curve in drawn if curve in apart))
    return replace(table, curves=tuple(_thinned(curve) for curve in lines)), _band(drawn)


def outliers(curves: Sequence[Curve]) -> list[Curve]:
    """Those farthest from the median of all at each x, on logarithms; at most ``MOST_OUTLIERS``."""
    middle = {x: median(values) for x, values in _values(curves).items()}
    distances = [(_distance(curve, middle), curve) for curve in curves]
    usual = median(distance for distance, _ in distances)
    far = [pair for pair in distances if pair[0] > max(APART * usual, LEAST)]
    return [curve for _, curve in sorted(far, key=lambda pair: -pair[0])[:MOST_OUTLIERS]]


def best_of(curves: Sequence[Curve]) -> Curve:
    """The best point at each x, of what may be told as best."""
    found: dict[float, tuple[float, Cell]] = {}
    for point in rivals(point for curve in curves for point in curve.points):
        if point.headline is None or point.x is None:
            continue
        value = point.headline.value.median
        rank = value if point.headline.higher_is_better else -value
        if point.x not in found or rank > found[point.x][0]:
            found[point.x] = rank, point
    return Curve(f"best of {len(curves)} series", tuple(found[x][1] for x in sorted(found)))


def _distance(curve: Curve, middle: dict[float, float]) -> float:
    found = [
        abs(math.log(point.headline.value.median / middle[point.x]))
        for point in curve.points
        if point.headline and point.x is not None and point.headline.value.median > 0 < middle[point.x]
    ]
    return fmean(found) if found else 0.0


def _values(curves: Sequence[Curve]) -> dict[float, list[float]]:
    values: dict[float, list[float]] = {}
    for curve in curves:
        for point in curve.points:
            if point.headline is not None and point.x is not None:
                values.setdefault(point.x, []).append(point.headline.value.median)
    return values


def _band(curves: Sequence[Curve]) -> Band:
    spreads = (Spread(x, min(values), median(values), max(values)) for x, values in sorted(_values(curves).items()))
    return Band(len(curves), _evenly(tuple(spreads)))


def _thinned(curve: Curve) -> Curve:
    return replace(curve, points=_evenly(curve.points))


def _evenly(points: tuple[_Point, ...]) -> tuple[_Point, ...]:
    """At most ``MOST_POINTS`` of them, the first and the last among them."""
    count = len(points)
    if count <= MOST_POINTS:
        return points
    picked = dict.fromkeys(round(number * (count - 1) / (MOST_POINTS - 1)) for number in range(MOST_POINTS))
    return tuple(points[number] for number in picked)
