"""Piece cost: what a list of pieces costs at first, for each piece, and for its bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

FEWEST = 4
"""Lists: the three costs, and one more that shows whether they describe the times."""


@dataclass(frozen=True)
class PieceCost:
    """``first`` and ``piece`` in seconds; ``rate`` in bytes per second, infinite where bytes cost nothing.

    ``misfit``: the largest relative deviation of a time.
    """

    first: float
    piece: float
    rate: float
    misfit: float


def piece_cost(lists: Sequence[tuple[int, int, float]]) -> PieceCost | None:
    """Return t = first + piece * n + bytes / rate through (n, bytes, seconds), none of the three below zero.

    Least squares of relative deviations, since times span decades. Every subset of the three is solved; the best
    solution without a negative one is that of non-negative least squares (Lawson and Hanson, 1974). None for fewer than
    ``FEWEST`` lists, of one number of pieces, or of one size of pieces: they do not tell the costs apart.
    """
    if len(lists) < FEWEST or len({n for n, _, _ in lists}) < 2 or len({size / n for n, size, _ in lists}) < 2:
        return None
    rows = [(1 / seconds, n / seconds, size / seconds) for n, size, seconds in lists]
    best = (math.inf, (0.0, 0.0, 0.0))
    for kept in (chosen for number in (1, 2, 3) for chosen in combinations(range(3), number)):
        costs = _solved([[row[at] for at in kept] for row in rows])
        if costs is None or min(costs) < 0:
            continue
        found = dict(zip(kept, costs, strict=True))
        three = (found.get(0, 0.0), found.get(1, 0.0), found.get(2, 0.0))
        best = min(best, (math.fsum(off**2 for off in _off(rows, three)), three))
    first, piece, byte = best[1]
    return PieceCost(first, piece, 1 / byte if byte > 0 else math.inf, max(map(abs, _off(rows, best[1]))))


def _off(rows: Sequence[tuple[float, float, float]], costs: tuple[float, float, float]) -> list[float]:
    return [math.fsum(a * b for a, b in zip(row, costs, strict=True)) - 1 for row in rows]


def _solved(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """Return the costs that bring every row nearest to 1, by the normal equations; None where columns are alike."""
    scale = [math.sqrt(math.fsum(row[at] ** 2 for row in rows)) for at in range(len(rows[0]))]
    unit = [[one / by for one, by in zip(row, scale, strict=True)] for row in rows]
    size = len(scale)
    lines = [
        [*(math.fsum(row[i] * row[j] for row in unit) for j in range(size)), math.fsum(row[i] for row in unit)]
        for i in range(size)
    ]
    for at in range(size):
        pivot = max(range(at, size), key=lambda line: abs(lines[line][at]))
        if abs(lines[pivot][at]) < 1e-12:
            return None
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lines[at] = [one / lines[at][at] for one in lines[at]]
        for other in range(size):
            if other != at:
                lines[other] = [a - lines[other][at] * b for a, b in zip(lines[other], lines[at], strict=True)]
    return [line[-1] / by for line, by in zip(lines, scale, strict=True)]
