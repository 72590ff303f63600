"""A picture of very many series: what they span, the best of them, and the few that stand apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from linkscope.analysis.curves import Curve, CurveSet

MOST_SERIES = 12
"""More are a band."""
MOST_OUTLIERS = 4
APART = 3.0
"""A series is an outlier from so many times the median distance of all to the middle of them, and ``LEAST``."""
LEAST = 0.05
MOST_POINTS = 64
"""Of one series in a picture."""


@dataclass(frozen=True)
class Band:
    """Of ``count`` series at each x the lowest, the highest and the best figure, in the table's unit."""

    count: int
    points: tuple[tuple[float, float, float, float], ...]


def collapsed(table: CurveSet) -> tuple[CurveSet, Band | None]:
    """The table as it is drawn: as it is, or with its outliers alone and the band of all."""
    drawn = [curve for curve in table.curves if any(point.headline is not None for point in curve.points)]
    if len(drawn) <= MOST_SERIES:
        return replace(table, curves=tuple(_thinned(curve) for curve in table.curves)), None
    apart = outliers(drawn)
    kept = tuple(_thinned(curve) for curve in drawn if curve in apart)
    return replace(table, curves=kept or (_thinned(drawn[0]),)), _band(drawn)


def outliers(curves: Sequence[Curve]) -> list[Curve]:
    """Those farthest from the median of all at each x, on logarithms; at most ``MOST_OUTLIERS``."""
    middle = {x: median(values) for x, values in _values(curves).items()}
    distances = [(_distance(curve, middle), curve) for curve in curves]
    usual = median(distance for distance, _ in distances)
    far = [pair for pair in distances if pair[0] > max(APART * usual, LEAST)]
    return [curve for _, curve in sorted(far, key=lambda pair: -pair[0])[:MOST_OUTLIERS]]


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
    first = next(point.headline for curve in curves for point in curve.points if point.headline is not None)
    best = max if first.higher_is_better else min
    found = sorted(_values(curves).items())
    return Band(len(curves), tuple((x, min(values), max(values), best(values)) for x, values in found))


def _thinned(curve: Curve) -> Curve:
    """At most ``MOST_POINTS`` points, the first and the last among them."""
    count = len(curve.points)
    if count <= MOST_POINTS:
        return curve
    picked = dict.fromkeys(round(number * (count - 1) / (MOST_POINTS - 1)) for number in range(MOST_POINTS))
    return replace(curve, points=tuple(curve.points[number] for number in picked))
