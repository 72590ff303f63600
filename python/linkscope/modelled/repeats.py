"""Repeats: how often each flow of a case repeats in one sample, as the engine has it (engine/measure/batch.hpp)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_MOST = 1 << 22
_ALIKE = 0.8
"""Times within 20% of the slowest are alike."""
_IMBALANCE = 0.1
"""Imbalance that whole repeats may leave."""
_BACKGROUND_MARGIN = 1.3
_SHORTEST_S = 1e-10


@dataclass(frozen=True)
class RateEstimate:
    """Seconds of one transfer of a flow beside the others; flows of one tuning ``group`` are alike by construction."""

    seconds: float
    measured: bool
    group: str


def plan_repeats(estimates: Sequence[RateEstimate], target_s: float) -> list[int]:
    """Return the repeats of a sample of at least ``target_s``.

    The slowest measured flow fills the target. The others repeat as often where they are alike; else so often that all
    take about the same time. Background flows outlast the measured ones by 30%.
    """
    measured = [max(one.seconds, _SHORTEST_S) for one in estimates if one.measured]
    groups = {one.group for one in estimates if one.measured}
    slowest = max(measured)
    equal = (len(groups) == 1 and "" not in groups) or min(measured) >= _ALIKE * slowest
    least = _clamped(_whole_up(target_s / slowest))
    base = max(1.0, least if equal else _balanced(measured, slowest, least))
    found = []
    for one in estimates:
        ratio = base * slowest / max(one.seconds, _SHORTEST_S)
        if not one.measured:
            found.append(int(_clamped(_whole_up(_BACKGROUND_MARGIN * ratio))))
        else:
            found.append(int(_clamped(base if equal else _rounded(ratio))))
    return found


def _balanced(times: Sequence[float], slowest: float, least: float) -> float:
    """Return the repeats of the slowest flow, at least ``least``, for which whole numbers balance the others best."""
    best, best_imbalance = least, _imbalance(times, slowest, least)
    for more in range(1, int(3 * least) + 1):
        if best_imbalance <= _IMBALANCE:
            break
        found = _imbalance(times, slowest, least + more)
        if found < best_imbalance:
            best, best_imbalance = least + more, found
    return best


def _imbalance(times: Sequence[float], slowest: float, base: float) -> float:
    """Return the largest relative difference of a flow's total time from the slowest flow's."""
    ideals = [base * slowest / time for time in times]
    return max(abs(_clamped(_rounded(ideal)) / ideal - 1) for ideal in ideals)


def _whole_up(count: float) -> float:
    return float(math.ceil(count * (1 - 1e-6)))


def _rounded(count: float) -> float:
    """Halves go up, as in the engine."""
    return float(math.floor(count + 0.5))


def _clamped(repeats: float) -> float:
    return min(max(repeats, 1.0), float(_MOST))
