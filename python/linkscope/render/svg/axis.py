"""Axes of curves: from values to pixels, linear or logarithmic, and their ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LOG_FROM = 8.0
"""Ratio of the ends from which an axis is logarithmic."""


@dataclass(frozen=True)
class PixelAxis:
    """Maps values from ``low`` to ``high`` to pixels from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """Return the pixel of a value; on a logarithmic axis what is below ``low`` stands at its start."""
        return self.start + (self.end - self.start) * self._share(max(value, self.low) if self.log else value)

    def _share(self, value: float) -> float:
        if self.high == self.low:
            return 0.5
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def x_axis(xs: Sequence[float], start: float, end: float) -> PixelAxis:
    """Return the axis of sorted values; on a logarithmic one a zero stands a step left of the first that is more."""
    more = [x for x in xs if x > 0]
    log = len(more) > 1 and xs[0] >= 0 and more[-1] / more[0] >= LOG_FROM
    low = more[0] ** 2 / more[1] if log and xs[0] == 0 else xs[0]
    return PixelAxis(low, xs[-1], start, end, log)


def y_axis(low: float, high: float, bottom: float, top: float) -> PixelAxis:
    """Return the axis of values from ``low`` to ``high``, with some room."""
    if low > 0 and high / low >= LOG_FROM:
        return PixelAxis(low / 1.25, high * 1.25, bottom, top, log=True)
    return PixelAxis(0.0, high * 1.08 if high > 0 else 1.0, bottom, top, log=False)


def ticks(axis: PixelAxis) -> list[float]:
    """Return round values: 1, 2 and 5 of each decade, only the ones where that would crowd; or even steps."""
    if not axis.log:
        power = 10.0 ** math.floor(math.log10(axis.high / 6))
        step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= axis.high / 6)
        return [step * i for i in range(int(axis.high / step) + 1)]
    exponents = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    inside: list[float] = []
    for digits in ((1, 2, 5), (1,)):
        found = (digit * 10.0**exponent for exponent in exponents for digit in digits)
        inside = [tick for tick in found if axis.low <= tick <= axis.high]
        if len(inside) <= 10:
            break
    return inside
