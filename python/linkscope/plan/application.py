"""Application: whose communication a workload is, and the deck that it computes on with so many ranks."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown
from linkscope.workload.halo import DECKS as HALO_DECKS
from linkscope.workload.halo import STEPS, HaloDeck, halo, largest_that_fits
from linkscope.workload.moe import MoeLayer, moe
from linkscope.workload.particles import CYCLES, particles, rank_grid
from linkscope.workload.problem import DECKS as PARTICLE_DECKS
from linkscope.workload.schedule import Loop, Message, Phase, Schedule

LARGEST = "largest"
"""The deck of a halo exchange that is the largest that fits."""
USUAL = "usual"
"""The deck of a halo exchange that nobody names: the largest that fits and is measured within a minute."""
STUDYS = "bm2048_short"
"""The deck that the study ran (schieffer25 7.2)."""
MOST_ISOLATED = 4096
"""Messages of a pattern that are measured one by one."""


class Room(Protocol):
    """The memory at hand."""

    @property
    def bytes_per_rank(self) -> int:
        """Return the bytes that every rank can have."""

    @property
    def usual_bytes_per_rank(self) -> int:
        """Return the bytes of a rank where nobody says how many: a run then takes less than a minute."""

    def problem(self, schedule: Schedule) -> str | None:
        """Return why what the ranks of a schedule hold does not fit; None where it does."""


@dataclass(frozen=True)
class Deck:
    """Describe an application's problem: ``name`` for people, ``key`` for ids, the messages.

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
        """In labels: halo, particles, moe, or a file's name."""

    @property
    def has_state(self) -> bool:
        """Return whether messages are packed from fields or particles."""

    @property
    def from_file(self) -> bool:
        """Return whether a file says the messages: then each is measured alone as well."""

    @property
    def ranks(self) -> int | None:
        """Return how many it has, where that is its own."""

    def deck(self, ranks: int, room: Room) -> Deck:
        """With so many ranks. Raises LinkscopeError where it cannot be cut into so many."""


@dataclass(frozen=True)
class HaloApplication:
    """CloverLeaf's halo exchange. ``deck_name``: one of DECKS, LARGEST or USUAL; ``cells`` stand in its place."""

    from_file: ClassVar[bool] = False

    deck_name: str = USUAL
    cells: tuple[int, int] | None = None
    steps: int = STEPS

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
            columns, rows = self.cells
            return self._refused(self._deck(f"{columns} x {rows}", f"{columns}x{rows}", self.cells, ranks), room)
        if self.deck_name not in (LARGEST, USUAL):
            return self._refused(self._named(_known(self.deck_name), ranks), room)
        chosen = largest_that_fits(room.bytes_per_rank, ranks)
        why = f"is the largest deck that fits {ranks} ranks"
        if self.deck_name == USUAL:
            usual = largest_that_fits(room.usual_bytes_per_rank, ranks)
            if usual != chosen:
                why = f"takes less than a minute here; {chosen.name} is the largest that fits"
            chosen = usual
        columns, rows = chosen.cells
        said = f"{chosen.name} ({columns} x {rows} cells) {why}"
        if chosen.name != STUDYS:
            said += f"; the study's is {STUDYS}"
        return replace(self._refused(self._named(chosen, ranks), room), chosen=said)

    def _refused(self, deck: Deck, room: Room) -> Deck:
        """With the reason why it does not fit, and what does, where it does not."""
        problem = room.problem(deck.schedule)
        if problem is None:
            return deck
        try:
            fits = f"the largest that fits is {largest_that_fits(room.bytes_per_rank, deck.schedule.ranks).name}"
        except LinkscopeError as error:
            fits = str(error)
        return replace(deck, problem=f"{problem}; {fits}")

    def _named(self, deck: HaloDeck, ranks: int) -> Deck:
        return self._deck(deck.name, deck.name, deck.cells, ranks)

    def _deck(self, name: str, key: str, cells: tuple[int, int], ranks: int) -> Deck:
        schedule = halo(ranks, cells, self.steps)
        return Deck(f"{name}, {_counted(self.steps, 'step')}", f"{key}-{self.steps}", schedule)


@dataclass(frozen=True)
class ParticleApplication:
    """Quicksilver's particle exchange. ``count``: particles of all ranks; None: the deck's. ``grid``: of ranks; None:
    as near to a cube as their number allows. ``termination``: blocking or non-blocking."""

    from_file: ClassVar[bool] = False

    deck_name: str = "problem-1"
    count: int | None = None
    grid: tuple[int, int, int] | None = None
    cycles: int = CYCLES
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
            raise unknown("deck", self.deck_name, PARTICLE_DECKS)
        grid = self.grid or rank_grid(ranks)
        if grid[0] * grid[1] * grid[2] != ranks:
            raise LinkscopeError(f"a grid of {grid[0]} x {grid[1]} x {grid[2]} is not of {ranks} ranks")
        problem = PARTICLE_DECKS[self.deck_name]
        count = self.count or problem.count
        schedule = particles(problem, grid, count, self.cycles, self.termination)
        across = "x".join(map(str, grid))
        words = [self.deck_name, f"{count} particles", _counted(self.cycles, "cycle"), f"{across} ranks"]
        key = [self.deck_name, str(count), str(self.cycles), across]
        if self.termination != "blocking":
            words.append(f"{self.termination} termination")
            key.append(self.termination)
        return Deck(", ".join(words), "-".join(key), schedule, room.problem(schedule))


@dataclass(frozen=True)
class MoeApplication:
    """Dispatch and combine of one layer with experts on all ranks."""

    layer: MoeLayer
    name: ClassVar[str] = "moe"
    has_state: ClassVar[bool] = False
    from_file: ClassVar[bool] = False
    ranks: ClassVar[int | None] = None

    def deck(self, ranks: int, room: Room) -> Deck:
        one = self.layer
        schedule = moe(one, ranks)
        if not schedule.bytes:
            raise LinkscopeError("no token leaves its rank: name more tokens or less skew")
        routing = f"skew {one.skew:g}" if one.skew else "uniform"
        words = f"{one.tokens}x{one.hidden}", f"top {one.topk} of {one.experts}", one.dtype, routing
        key = "-".join(word.replace(" ", "") for word in words)
        return Deck(", ".join(words), key, schedule, room.problem(schedule))


@dataclass(frozen=True)
class PatternApplication:
    """The messages that a file says."""

    from_file: ClassVar[bool] = True

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
        return Deck(f"{self.name}, {phases}{gaps}", digest, self.schedule, room.problem(self.schedule))


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


def _alone(message: Message) -> Phase:
    return Phase(f"{message.source} to {message.destination}, {message.size} B", (message,))


def _known(name: str) -> HaloDeck:
    """Return the deck of that name; the ending that all names share may be left out. Raises LinkscopeError."""
    found = HALO_DECKS.get(name) or HALO_DECKS.get(f"{name}_short")
    if found is None:
        raise unknown("deck", name, (USUAL, LARGEST, *HALO_DECKS))
    return found


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
