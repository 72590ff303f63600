"""Problem: a deck of the particle exchange: its cells, and how many particles cross faces in which round.

The figures are recorded ones, of Quicksilver on 2 x 2 x 1 ranks; the seeds are those with which draws come closest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import exp

PER_CELL = 40
"""Particles."""
_NEGLIGIBLE = 1e-13
"""A share of the particles that is none: the decks hold at most 1e11."""
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class RoundPlan:
    """Set the share of a cycle's particles that each round sends, and its passes over the rank's particles.

    ``shares``: of the first rounds; every later one has that before it times a factor, at first ``decay``, which is
    multiplied by ``steepening`` each time. ``first_passes``: of round 0; a later round has one for each ``quantum`` of
    its share. Passes of a round differ: the first has 1 + ``slope`` of their mean, the last 1 - ``slope``, and each at
    random up to exp(``spread``) times more or less, mostly little: the exponent goes by a draw's cube.
    """

    shares: tuple[float, ...]
    decay: float
    steepening: float
    first_passes: int
    quantum: float
    slope: float
    spread: float
    seed: int

    def all_shares(self) -> list[float]:
        """Return the shares of all rounds; their sum is 1."""
        found = [*self.shares]
        factor = self.decay
        while found[-1] > _NEGLIGIBLE:
            found.append(found[-1] * factor)
            factor *= self.steepening
        whole = sum(found)
        return [one / whole for one in found]

    def passes(self, number: int, share: float) -> int:
        return self.first_passes if number == 0 else max(1, round(share / self.quantum))

    def weights(self, face: int, number: int, passes: int) -> list[float]:
        """Return the weights of the passes of round ``number`` across one face."""
        if passes == 1:
            return [1.0]
        draws = islice(self.draws(face, number), 1, passes + 1)
        return [
            (1 + self.slope * (1 - 2 * index / (passes - 1))) * exp(self.spread * (2 * draw - 1) ** 3)
            for index, draw in enumerate(draws)
        ]

    def draws(self, *keys: int) -> Iterator[float]:
        """Numbers from 0 to 1 without end, always the same for the same keys: splitmix64."""
        state = self.seed
        for key in keys:
            state = _mixed(state ^ key)
        index = 0
        while True:
            yield (_mixed(state ^ index) >> 11) * 2.0**-53
            index += 1


@dataclass(frozen=True)
class Problem:
    """``count`` particles by default, 40 a cell; ``block``: cells along each side of one node's share. In a cycle
    ``crossings`` x particles x F cross faces, F = (planes between ranks / cells along them, summed over axes) / 3."""

    name: str
    block: int
    count: int
    crossings: float
    rounds: RoundPlan

    def cells(self, count: int) -> tuple[int, int, int]:
        """As many blocks as the particles fill, in the brick with the least surface; at least one block."""
        return brick(max(1, round(count / (PER_CELL * self.block**3))), self.block)


DECKS = {
    "problem-1": Problem(
        "Problem 1",
        16,
        655_360,
        8.6,
        RoundPlan((0.44, 0.26, 0.14, 0.07), 0.57, 1.0, 10, 0.075, 0.32, 0.9, 72),
    ),
    "problem-2": Problem(
        "Problem 2",
        11,
        212_960,
        45.3,
        RoundPlan((0.061, 0.068, 0.067, 0.064), 0.924, 0.9998, 10, 0.0105, 0.15, 0.9, 153),
    ),
}


def brick(blocks: int, side: int = 1) -> tuple[int, int, int]:
    """The sides of the brick of ``blocks`` with the least surface, longest first, each times ``side``."""
    best = (blocks, 1, 1)
    for low in _divisors(blocks):
        for middle in _divisors(blocks // low):
            sides = (blocks // low // middle, middle, low)
            if sides == tuple(sorted(sides, reverse=True)) and _surface(sides) < _surface(best):
                best = sides
    return best[0] * side, best[1] * side, best[2] * side


def _surface(sides: Sequence[int]) -> int:
    a, b, c = sides
    return a * b + b * c + c * a


def _divisors(number: int) -> list[int]:
    """Return those up to its square root."""
    return [one for one in range(1, int(number**0.5) + 1) if number % one == 0]


def _mixed(state: int) -> int:
    state = (state + 0x9E3779B97F4A7C15) & _WORD
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _WORD
    return state ^ (state >> 31)
