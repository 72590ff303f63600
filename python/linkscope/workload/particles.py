"""Particles: the messages of Quicksilver's particle exchange (its public sources; schieffer25 7.1).

A brick of ranks. Particles cross the faces between them in rounds, until a round sends none: one cycle. Both sides of a
face send alike, so that a rank has as many particles after each round as before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import ceil, exp

from linkscope.errors import LinkscopeError
from linkscope.workload.problem import DECKS, Problem, brick
from linkscope.workload.schedule import Loop, Message, Particles, Phase, Schedule, SmallCollective

HEADER, PARTICLE = 8, 136
"""Bytes of a message: of its head, and of each particle."""
VAULTS = 10
"""A rank's particles, and the most of one message, are counted in tenths of its share."""
CYCLES = 10
MOST_PARTICLES = 10**11
MOST_RANKS = 4096
FEW = 30
"""Expected particles below which the number that cross is drawn (Poisson)."""
TERMINATIONS = ("blocking", "non-blocking")
CYCLE_END = (
    SmallCollective(count=0),
    *(SmallCollective("float64", "sum"),) * 3,
    SmallCollective("int64", "sum", 13),
)
"""A barrier, and the sums of the cycle's tallies. (The termination test that ends a cycle belongs to the exchange.)"""

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class _Face:
    """Between rank ``low`` and rank ``high``; ``expected``: particles that cross it in a cycle, in each direction."""

    low: int
    high: int
    expected: float


Crossing = list[tuple[_Face, int]]
"""Particles of one pass that cross a face in each direction."""


def particles(
    deck: Problem = DECKS["problem-1"],
    grid: Grid = (2, 2, 1),
    count: int | None = None,
    cycles: int = CYCLES,
    termination: str = "blocking",
) -> Schedule:
    """``cycles`` equal cycles of ``count`` particles (the deck's, if none) on ``grid`` ranks; rank (i, j, k) has the
    number (i x J + j) x K + k. Raises LinkscopeError where there are no such ranks or particles."""
    count = deck.count if count is None else count
    ranks = grid[0] * grid[1] * grid[2]
    cells = _checked(deck, grid, count, cycles, termination)
    batch = ceil(count / ranks / VAULTS)
    faces = _faces(grid, cells, deck.crossings * count)
    phases: list[Phase] = []
    rounds = _rounds(deck, faces, batch)
    for number, crossed in enumerate(rounds):
        for index, crossing in enumerate(crossed):
            ends = termination if index == len(crossed) - 1 else "none"
            phases.append(Phase(f"round {number}, pass {index}", _messages(crossing), cycles, termination=ends))
    phases.append(Phase("cycle end", (), cycles, collectives=CYCLE_END))
    return Schedule(
        f"particles, {deck.name}, {count} particles, {cycles} cycles",
        ranks,
        (Loop(cycles, tuple(phases)),),
        particles=Particles(_stock(rounds, ranks), _neighbourhoods(grid), batch),
    )


def rank_grid(ranks: int) -> Grid:
    """The brick of ``ranks`` with the least surface: 4 are 2 x 2 x 1, 8 are 2 x 2 x 2."""
    return brick(ranks)


def parse_grid(text: str) -> Grid:
    """Read "2x2x1". Raises LinkscopeError."""
    found = re.fullmatch(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", text)
    if found is None:
        raise LinkscopeError(f"a grid of ranks is given as 2x2x1, not {text!r}")
    return int(found[1]), int(found[2]), int(found[3])


def _checked(deck: Problem, grid: Grid, count: int, cycles: int, termination: str) -> Grid:
    """The cells along each axis."""
    shown = " x ".join(map(str, grid))
    ranks = grid[0] * grid[1] * grid[2]
    if min(grid) < 1 or ranks > MOST_RANKS:
        raise LinkscopeError(f"a grid of {shown} ranks is none; it has 1 to {MOST_RANKS}")
    if not ranks <= count <= MOST_PARTICLES:
        raise LinkscopeError(f"{count} particles on {ranks} ranks: from one a rank to {MOST_PARTICLES:.0e} in all")
    if cycles < 1:
        raise LinkscopeError(f"{cycles} cycles are none")
    if termination not in TERMINATIONS:
        raise LinkscopeError(f"termination is {' or '.join(TERMINATIONS)}, not {termination!r}")
    cells = deck.cells(count)
    if any(share > along for share, along in zip(grid, cells, strict=True)):
        have = " x ".join(map(str, cells))
        raise LinkscopeError(f"{deck.name} with {count} particles has {have} cells, too few for {shown} ranks")
    return cells


def _faces(grid: Grid, cells: Grid, crossings: float) -> list[_Face]:
    """Each plane between ranks lets a sixth of ``crossings`` through each way, divided by the cells along its axis and
    then among its faces by their area."""
    widths = [_shares(along, parts) for along, parts in zip(cells, grid, strict=True)]
    found = []
    for axis, at in product(range(3), product(*map(range, grid))):
        if at[axis] + 1 == grid[axis]:
            continue
        beyond = tuple(place + (one == axis) for one, place in enumerate(at))
        area = 1.0
        for one in range(3):
            area *= 1 if one == axis else widths[one][at[one]] / cells[one]
        found.append(_Face(_rank(grid, at), _rank(grid, beyond), crossings / (6 * cells[axis]) * area))
    return found


def _rounds(deck: Problem, faces: Sequence[_Face], batch: int) -> list[list[Crossing]]:
    """Passes of each round, up to the first that sends nothing."""
    found = []
    for number, share in enumerate(deck.rounds.all_shares()):
        found.append(_passes(deck, faces, number, share, batch))
        if not any(crossed for one in found[-1] for _, crossed in one):
            return found
    return [*found, [[]]]


def _passes(deck: Problem, faces: Sequence[_Face], number: int, share: float, batch: int) -> list[Crossing]:
    """Return the passes of one round. Particles beyond a message's room go in further passes."""
    planned = deck.rounds.passes(number, share)
    counts = []
    for index, face in enumerate(faces):
        mean = face.expected * share
        whole = round(mean) if mean >= FEW else _poisson(mean, next(deck.rounds.draws(index, number)))
        counts.append(_split(whole, deck.rounds.weights(index, number, planned)))
    found: list[Crossing] = []
    for one in range(planned):
        parts = max((ceil(count[one] / batch) for count in counts), default=1)
        for part in range(parts):
            found.append(
                [
                    (face, count[one] * (part + 1) // parts - count[one] * part // parts)
                    for face, count in zip(faces, counts, strict=True)
                ]
            )
    return found or [[]]


def _messages(crossing: Crossing) -> tuple[Message, ...]:
    return tuple(
        Message(*ends, HEADER + PARTICLE * count)
        for face, count in crossing
        if count
        for ends in ((face.low, face.high), (face.high, face.low))
    )


def _stock(rounds: Sequence[list[Crossing]], ranks: int) -> tuple[int, ...]:
    """The fewest that each rank can begin with: what it sends in its largest round. A round brings as many back, but
    some perhaps only after its last pass."""
    most: Counter[int] = Counter()
    for passes in rounds:
        departing: Counter[int] = Counter()
        for face, count in (one for crossing in passes for one in crossing):
            departing[face.low] += count
            departing[face.high] += count
        most |= departing
    return tuple(most[rank] for rank in range(ranks))


def _neighbourhoods(grid: Grid) -> tuple[tuple[int, ...], ...]:
    """Return for each rank the ranks up to one away along each axis."""
    return tuple(
        tuple(
            sorted(
                _rank(grid, near)
                for near in product(*(range(max(0, a - 1), min(a + 2, n)) for a, n in zip(at, grid, strict=True)))
                if near != at
            )
        )
        for at in product(*map(range, grid))
    )


def _rank(grid: Grid, at: Sequence[int]) -> int:
    return (at[0] * grid[1] + at[1]) * grid[2] + at[2]


def _shares(cells: int, parts: int) -> list[int]:
    """The first parts have one cell more where they do not divide."""
    return [cells // parts + (index < cells % parts) for index in range(parts)]


def _split(whole: int, weights: Sequence[float]) -> list[int]:
    """``whole`` divided by ``weights``, without loss."""
    cuts, passed, total = [0], 0.0, sum(weights)
    for weight in weights[:-1]:
        passed += weight
        cuts.append(min(whole, round(whole * passed / total)))
    return [b - a for a, b in pairwise([*cuts, whole])]


def _poisson(mean: float, draw: float) -> int:
    """The number at which Poisson's distribution exceeds ``draw``."""
    number, chance = 0, exp(-mean)
    below = chance
    while draw >= below and number < 10 * FEW:
        number += 1
        chance *= mean / number
        below += chance
    return number
