"""Schedule: the messages of an application, in phases that follow one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """``size`` bytes from rank ``source`` to rank ``destination``."""

    source: int
    destination: int
    size: int


@dataclass(frozen=True)
class Phase:
    """Messages that are under way at the same time; the next phase begins when all have arrived. ``repeats``: how often
    the phase takes place in the whole."""

    name: str
    messages: tuple[Message, ...]
    repeats: int = 1

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Source and destination of every message."""
        return tuple((one.source, one.destination) for one in self.messages)


@dataclass(frozen=True)
class Schedule:
    """``ranks`` processes that carry out ``phases`` one after another."""

    name: str
    ranks: int
    phases: tuple[Phase, ...]

    def sent(self) -> Counter[int]:
        """Bytes that each rank sends in all."""
        return self._per_rank(lambda message: message.size)

    def messages(self) -> Counter[int]:
        """How many messages each rank sends in all."""
        return self._per_rank(lambda _: 1)

    def _per_rank(self, count: Callable[[Message], int]) -> Counter[int]:
        found: Counter[int] = Counter()
        for phase in self.phases:
            for one in phase.messages:
                found[one.source] += count(one) * phase.repeats
        return found
