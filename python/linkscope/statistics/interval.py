"""Interval: a value and the bounds of its 95% interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

UNKNOWN_FROM = 3.0
"""Factor between a value and a bound from which the value counts as unknown."""


@dataclass(frozen=True)
class Interval:
    """A value with its 95% interval, all in one unit; ``low`` <= ``value`` <= ``high``."""

    value: float
    low: float
    high: float

    @property
    def margin(self) -> float:
        """Return the larger half width relative to the value, 0.01 for 1%; 0 of a value of 0."""
        return max(self.high - self.value, self.value - self.low) / self.value if self.value else 0.0

    @property
    def inverse(self) -> Interval:
        """Return one over the interval: the cost of a rate. All bounds must be above 0."""
        return Interval(1 / self.value, 1 / self.high, 1 / self.low)

    def widened(self, noise: float) -> Interval:
        """Return the interval with ``noise`` besides, the relative half width of an independent 95% interval."""
        if not noise or self.low <= 0:
            return self
        below = math.hypot(math.log(self.value / self.low), noise)
        above = math.hypot(math.log(self.high / self.value), noise)
        return Interval(self.value, self.value * math.exp(-below), self.value * math.exp(above))

    def scaled(self, factor: float) -> Interval:
        """Return the interval times a positive factor."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)

    def columns(self, name: str) -> dict[str, float]:
        """Return the interval as the columns ``name``, ``name_low`` and ``name_high`` of a frame."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def over(self, other: Interval) -> Interval:
        """Return the ratio to another interval, both taken as independent on logarithms. All bounds must be above 0."""
        ratio = self.value / other.value
        below = math.hypot(math.log(self.value / self.low), math.log(other.high / other.value))
        above = math.hypot(math.log(self.high / self.value), math.log(other.value / other.low))
        return Interval(ratio, ratio * math.exp(-below), ratio * math.exp(above))

    def below(self, limit: float, tolerance: float = 0.0, noise: float = 0.0) -> bool | None:
        """Return whether this is below ``limit`` by more than the share ``tolerance``; None where that is open.

        It is where the whole interval is, and the value with the node's relative ``noise`` from run to run. It is open
        where only a part of the interval is.
        """
        if max(self.high, self.value * (1 + noise)) < limit * (1 - tolerance):
            return True
        return None if self.low < limit * (1 - max(tolerance, noise)) else False

    def above(self, limit: float, tolerance: float = 0.0, noise: float = 0.0) -> bool | None:
        """Return whether this is above ``limit`` by more than the share ``tolerance``, as ``below`` does."""
        if min(self.low, self.value * (1 - noise)) > limit * (1 + tolerance):
            return True
        return None if self.high > limit * (1 + max(tolerance, noise)) else False
