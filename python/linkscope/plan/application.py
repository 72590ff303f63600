"""Application: whose communication a workload is, and the deck that it computes on with so many ranks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from linkscope.errors import LinkscopeError
from linkscope.workload.halo import DECKS, halo
from linkscope.workload.particles import DECKS as PARTICLE_DECKS
from linkscope.workload.particles import particles
from linkscope.workload.schedule import Loop, Message, Phase, Schedule

LARGEST = "largest"
"""The deck of a halo exchange that nobody names: the largest that fits."""
MOST_ISOLATED = 4096
"""Messages of a pattern that are measured one by one."""
Room = Callable[[Schedule], str | None]
"""Why a schedule does not fit the memory at hand; None where it does."""


@dataclass(frozen=True)
class Deck:
    """What an application computes on: ``name`` for people, ``key`` for ids, the messages.

    ``problem``: why it cannot run here. ``chosen``: what is to be said where nobody asked for this one.
    """

    name: str
    key: str
    schedule: Schedule
    problem: str | None = None
    chosen: str | None = None


class Application(Protocol):
    """Whose messages are sent."""

    @property
    def name(self) -> str:
        """In labels: halo, particles, or a file's name."""

    @property
    def has_state(self) -> bool:
        """Whether messages are packed from fields or particles."""

    @property
    def ranks(self) -> int | None:
        """How many it has, where that is its own."""

    def deck(self, ranks: int, room: Room) -> Deck:
        """With so many ranks. Raises LinkscopeError where it cannot be cut into so many."""


@dataclass(frozen=True)
class HaloApplication:
    """CloverLeaf's halo exchange. ``deck_name``: one of DECKS, or LARGEST; ``cells`` stand in its place."""

    deck_name: str = LARGEST
    cells: tuple[int, int] | None = None
    steps: int = 87

    @property
    def name(self) -> str:
        return "halo"

    @property
    def has_state(self) -> bool:
        return True

    @property
    def ranks(self) -> int | None:
        return None

    def deck(self, ranks: int, room: Room) -> Deck:
        if self.cells is not None:
            cells = self.cells
            return self._refused(self._deck(f"{cells[0]} x {cells[1]}", f"{cells[0]}x{cells[1]}", cells, ranks), room)
        if self.deck_name != LARGEST:
            if self.deck_name not in DECKS:
                raise LinkscopeError(f"halo has no deck {self.deck_name!r}: choose from {LARGEST}, {', '.join(DECKS)}")
            return self._refused(self._named(self.deck_name, ranks), room)
        found = self._largest(ranks, room)
        if found is None:
            return self._refused(self._named(min(DECKS, key=_cells), ranks), room)
        columns, rows = DECKS[found.key.partition("-")[0]]
        chosen = (
            f"{found.name.partition(',')[0]} ({columns} x {rows} cells) is the largest deck that fits {ranks} ranks"
        )
        return replace(found, chosen=chosen)

    def _refused(self, deck: Deck, room: Room) -> Deck:
        """With the reason why it does not fit, where it does not."""
        problem = room(deck.schedule)
        if problem is None:
            return deck
        largest = self._largest(deck.schedule.ranks, room)
        fits = "no deck fits" if largest is None else f"the largest that fits is {largest.key.partition('-')[0]}"
        return replace(deck, problem=f"{problem}; {fits}")

    def _largest(self, ranks: int, room: Room) -> Deck | None:
        for name in sorted(DECKS, key=_cells, reverse=True):
            try:
                deck = self._named(name, ranks)
            except LinkscopeError:
                return None  # smaller ones have fewer cells still
            if room(deck.schedule) is None:
                return deck
        return None

    def _named(self, name: str, ranks: int) -> Deck:
        return self._deck(name, name, DECKS[name], ranks)

    def _deck(self, name: str, key: str, cells: tuple[int, int], ranks: int) -> Deck:
        schedule = halo(ranks, cells, self.steps)
        return Deck(f"{name}, {_counted(self.steps, 'step')}", f"{key}-{self.steps}", schedule)


@dataclass(frozen=True)
class ParticleApplication:
    """Quicksilver's particle exchange. ``count``: particles of all ranks; None: the deck's. ``grid``: of ranks; None:
    as near to a cube as their number allows. ``termination``: blocking or non-blocking."""

    deck_name: str = "problem1"
    count: int | None = None
    grid: tuple[int, int, int] | None = None
    cycles: int = 10
    termination: str = "blocking"

    @property
    def name(self) -> str:
        return "particles"

    @property
    def has_state(self) -> bool:
        return True

    @property
    def ranks(self) -> int | None:
        return None if self.grid is None else self.grid[0] * self.grid[1] * self.grid[2]

    def deck(self, ranks: int, room: Room) -> Deck:
        if self.deck_name not in PARTICLE_DECKS:
            raise LinkscopeError(f"particles has no deck {self.deck_name!r}: choose from {', '.join(PARTICLE_DECKS)}")
        grid = self.grid or near_cube(ranks)
        if grid[0] * grid[1] * grid[2] != ranks:
            raise LinkscopeError(f"a grid of {grid[0]} x {grid[1]} x {grid[2]} is not of {ranks} ranks")
        count = self.count or PARTICLE_DECKS[self.deck_name].count
        schedule = particles(self.deck_name, grid, count, self.cycles, self.termination)
        across = "x".join(map(str, grid))
        words = [self.deck_name, f"{count} particles", _counted(self.cycles, "cycle"), f"{across} ranks"]
        key = [self.deck_name, str(count), str(self.cycles), across]
        if self.termination != "blocking":
            words.append(f"{self.termination} termination")
            key.append(self.termination)
        return Deck(", ".join(words), "-".join(key), schedule, room(schedule))


@dataclass(frozen=True)
class PatternApplication:
    """The messages that a file says."""

    schedule: Schedule

    @property
    def name(self) -> str:
        return self.schedule.name

    @property
    def has_state(self) -> bool:
        return False

    @property
    def ranks(self) -> int | None:
        return self.schedule.ranks

    def deck(self, ranks: int, room: Room) -> Deck:
        if ranks != self.schedule.ranks:
            raise LinkscopeError(f"{self.name} has {self.schedule.ranks} ranks, not {ranks}: a file says its own")
        if not self.schedule.bytes:
            raise LinkscopeError(f"{self.name}: all its messages are empty")
        digest = hashlib.sha256(json.dumps(self.schedule.to_plan(), sort_keys=True).encode()).hexdigest()[:8]
        phases = _counted(sum(one.repeats for one in self.schedule.phases), "phase")
        gaps = ", with the recorded gaps" if any(one.gap_s for one in self.schedule.phases) else ""
        return Deck(f"{self.name}, {phases}{gaps}", digest, self.schedule, room(self.schedule))


def isolated(schedule: Schedule) -> Schedule | None:
    """Each message of another size or between other ranks in a phase of its own, once; None where all are alone
    already, and where there are more than MOST_ISOLATED."""
    if all(len(phase.messages) < 2 for phase in schedule.phases):
        return None
    different = dict.fromkeys(one for phase in schedule.phases for one in phase.messages if one.size)
    if len(different) > MOST_ISOLATED:
        return None
    return Schedule(schedule.name, schedule.ranks, tuple(Loop(1, (_alone(one),)) for one in different))


def without_gaps(schedule: Schedule) -> Schedule:
    """As fast as it goes: nobody computes between the phases."""
    loops = tuple(Loop(loop.repeats, tuple(replace(one, gap_s=0.0) for one in loop.phases)) for loop in schedule.loops)
    return replace(schedule, loops=loops)


def near_cube(ranks: int) -> tuple[int, int, int]:
    """So many ranks as I x J x K bricks, I >= J >= K, of all such the one whose sides differ least: 4 are 2 x 2 x 1."""
    grids = [
        (ranks // (j * k), j, k)
        for k in range(1, int(ranks ** (1 / 3) + 1e-9) + 1)
        if ranks % k == 0
        for j in range(k, ranks // k + 1)
        if ranks // k % j == 0 and ranks // (j * k) >= j
    ]
    return min(grids, key=lambda grid: grid[0] - grid[2])


def _alone(message: Message) -> Phase:
    return Phase(f"{message.source} to {message.destination}, {message.size} B", (message,))


def _cells(deck: str) -> int:
    return DECKS[deck][0] * DECKS[deck][1]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
