"""Hockney's line t = alpha + n / beta through times by size, or several lines where the protocol switches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.statistics.interval import Interval
from linkscope.statistics.ranks import t975

TOLERANCE = 0.03
"""A line that is this close to all times describes them: no real curve is straight."""
_TO_SIGMA = 1 / 1.96
"""Standard deviation over half of a 95% interval."""
_FEWEST = 3
"""Points of a segment: its line has two parameters."""
_MOST = 4
"""Segments: eager, rendezvous, pipelined; of more nobody made a protocol."""


@dataclass(frozen=True)
class Timing:
    """Hold the time that ``size`` bytes take, in seconds."""

    size: int
    seconds: Interval

    @property
    def deviation(self) -> float:
        """Return the standard deviation by the interval, in seconds."""
        return (self.seconds.high - self.seconds.low) / 2 * _TO_SIGMA

    @property
    def sigma(self) -> float:
        """Return the deviation together with what no line need explain."""
        return math.hypot(self.deviation, TOLERANCE * self.seconds.value)


@dataclass(frozen=True)
class Segment:
    """The line of the points from ``first`` to ``last`` bytes.

    ``alpha``: intercept in seconds, which may be below zero in a segment of large sizes. ``beta``: bytes per second;
    None where time does not surely grow with size. ``half``: n_1/2 = alpha * beta, the size of half of the rate beta,
    in bytes; None where alpha or 1 / beta is not surely above zero. ``misfit``: the largest deviation of a time.
    """

    first: int
    last: int
    points: int
    alpha: Interval
    beta: Interval | None
    half: Interval | None
    misfit: float


@dataclass(frozen=True)
class _Fitted:
    """A line by weighted least squares. ``va``, ``vb``, ``vab``: variances and covariance; ``measured``: the mean share
    of the points' variance that their intervals give."""

    a: float
    b: float
    va: float
    vb: float
    vab: float
    chi2: float
    measured: float


def hockney(points: Sequence[Timing]) -> tuple[Segment, ...]:
    """Return one line, or the several that describe the times best; points by ascending size, at least ``_FEWEST``.

    t = alpha + n / beta: Hockney, The communication challenge for MPP, 1994. Weighted least squares, each time weighed
    by its interval and ``TOLERANCE``. Where one line is not enough, there is one for each protocol, as LogGPS (Ino,
    2001) and Netgauge (Hoefler, 2007) have it: the breaks minimise chi square plus 5 ln N for each (3 by the Bayesian
    information criterion, 2 because it was searched for), by dynamic programming (Bai and Perron, 2003). Intervals:
    Student's t, by the scatter about the lines, and never narrower than the figures' own make them.
    """
    bounds = _segments(points)
    lines = [_line(points[first:last]) for first, last in bounds]
    freedom = max(len(points) - 2 * len(lines), 1)
    scatter = sum(line.chi2 for line in lines) / freedom
    return tuple(
        _segment(points[first:last], line, t975(freedom) * math.sqrt(max(scatter, line.measured)))
        for (first, last), line in zip(bounds, lines, strict=True)
    )


def _segments(points: Sequence[Timing]) -> list[tuple[int, int]]:
    """Return bounds [first, last) by dynamic programming over the last break."""
    number = len(points)
    penalty = 5 * math.log(number)
    whole = _line(points).chi2
    if whole <= penalty or number < 2 * _FEWEST:
        return [(0, number)]
    cost = {
        (i, j): _line(points[i:j]).chi2
        for i in range(number - _FEWEST + 1)
        for j in range(i + _FEWEST, number + 1)
        if i == 0 or i >= _FEWEST
    }
    best = {(1, j): (cost[0, j], [(0, j)]) for j in range(_FEWEST, number + 1)}
    for count in range(2, _MOST + 1):
        for j in range(count * _FEWEST, number + 1):
            options = [
                (best[count - 1, i][0] + cost[i, j] + penalty, [*best[count - 1, i][1], (i, j)])
                for i in range((count - 1) * _FEWEST, j - _FEWEST + 1)
            ]
            best[count, j] = min(options)
    return min(best[count, number] for count in range(1, _MOST + 1) if (count, number) in best)[1]


def _line(points: Sequence[Timing]) -> _Fitted:
    weights = [point.sigma**-2 for point in points]
    total = math.fsum(weights)
    middle = math.fsum(w * p.size for w, p in zip(weights, points, strict=True)) / total
    mean = math.fsum(w * p.seconds.value for w, p in zip(weights, points, strict=True)) / total
    spread = math.fsum(w * (p.size - middle) ** 2 for w, p in zip(weights, points, strict=True))
    joint = math.fsum(w * (p.size - middle) * (p.seconds.value - mean) for w, p in zip(weights, points, strict=True))
    slope = joint / spread
    alpha = mean - slope * middle
    chi2 = math.fsum(w * (p.seconds.value - alpha - slope * p.size) ** 2 for w, p in zip(weights, points, strict=True))
    measured = math.fsum((p.deviation / p.sigma) ** 2 for p in points) / len(points)
    return _Fitted(alpha, slope, 1 / total + middle**2 / spread, 1 / spread, -middle / spread, chi2, measured)


def _segment(points: Sequence[Timing], line: _Fitted, factor: float) -> Segment:
    wide_a, wide_b = factor * math.sqrt(line.va), factor * math.sqrt(line.vb)
    grows = line.b > wide_b
    half = None
    if grows and line.a > wide_a:
        size = line.a / line.b
        variance = line.va / line.a**2 + line.vb / line.b**2 - 2 * line.vab / (line.a * line.b)
        ratio = math.exp(factor * math.sqrt(max(variance, 0.0)))
        half = Interval(size, size / ratio, size * ratio)
    return Segment(
        first=points[0].size,
        last=points[-1].size,
        points=len(points),
        alpha=Interval(line.a, line.a - wide_a, line.a + wide_a),
        beta=Interval(1 / line.b, 1 / (line.b + wide_b), 1 / (line.b - wide_b)) if grows else None,
        half=half,
        misfit=max(abs(line.a + line.b * p.size - p.seconds.value) / p.seconds.value for p in points),
    )
