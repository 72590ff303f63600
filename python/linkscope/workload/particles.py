"""Particles: the messages of Quicksilver's particle exchange. Stand-in until branch particles is merged."""

from __future__ import annotations

from dataclasses import dataclass

from linkscope.errors import LinkscopeError
from linkscope.workload.schedule import Loop, Message, Particles, Phase, Schedule, SmallCollective


@dataclass(frozen=True)
class _Deck:
    count: int


DECKS = {"problem1": _Deck(655_360), "problem2": _Deck(212_960)}


def particles(deck: str, grid: tuple[int, int, int], count: int, cycles: int, termination: str) -> Schedule:
    del deck
    ranks = grid[0] * grid[1] * grid[2]
    if ranks < 2:
        raise LinkscopeError("one rank exchanges no particles")
    sent = max(count // ranks // 100, 1)
    ring = tuple(Message(rank, (rank + 1) % ranks, 8 + 136 * sent) for rank in range(ranks))
    rounds = (
        Phase("round 1", ring, cycles, termination=termination),
        Phase("round 2", (), cycles, termination=termination),
        Phase("cycle end", (), cycles, collectives=(SmallCollective(count=0), SmallCollective())),
    )
    neighbours = tuple(((rank - 1) % ranks,) for rank in range(ranks))
    batch = -(-count // ranks // 10)
    return Schedule(
        "particles", ranks, (Loop(cycles, rounds),), particles=Particles((sent * 2,) * ranks, neighbours, batch)
    )
