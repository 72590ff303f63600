"""Schedule: the messages of an application, in phases that follow one another, and what they are packed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """``size`` bytes from rank ``source`` to rank ``destination``."""

    source: int
    destination: int
    size: int


@dataclass(frozen=True)
class Halo:
    """Describe a phase whose messages carry the outermost ``depth`` layers of ``fields`` (indices into CellGrid.fields)
    across the sides between neighbours along ``axis``, x or y."""

    fields: tuple[int, ...]
    depth: int
    axis: str


@dataclass(frozen=True)
class SmallCollective:
    """Over all ranks, of ``count`` numbers in host memory: an all-reduce, or with none a barrier."""

    type: str = "float64"
    reduction: str = "sum"
    count: int = 1

    def to_plan(self) -> Json:
        if not self.count:
            return {"collective": "barrier"}
        return {"collective": "all-reduce", "type": self.type, "reduction": self.reduction, "count": self.count}


@dataclass(frozen=True)
class Phase:
    """Messages that are under way at the same time, then ``collectives``; the next phase begins when all have arrived.

    ``repeats``: how often the phase takes place in the whole schedule. ``every``: it takes place in every so-many-th
    repeat of its loop. ``gap_s``: the application computes before it. ``termination``: none, blocking or non-blocking.
    """

    name: str
    messages: tuple[Message, ...]
    repeats: int = 1
    every: int = 1
    gap_s: float = 0.0
    halo: Halo | None = None
    termination: str = "none"
    collectives: tuple[SmallCollective, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Source and destination of every message."""
        return tuple((one.source, one.destination) for one in self.messages)

    def to_plan(self) -> Json:
        """Return the phase as schema/plan.schema.json has it."""
        phase: Json = {
            "name": self.name,
            "messages": [[one.source, one.destination, one.size] for one in self.messages],
        }
        if self.every != 1:
            phase["every"] = self.every
        if self.gap_s:
            phase["gap_s"] = self.gap_s
        if self.halo is not None:
            phase["halo"] = {"fields": list(self.halo.fields), "depth": self.halo.depth, "axis": self.halo.axis}
        if self.termination != "none":
            phase["termination"] = self.termination
        if self.collectives:
            phase["collectives"] = [one.to_plan() for one in self.collectives]
        return phase


@dataclass(frozen=True)
class Loop:
    """``phases`` one after another, ``repeats`` times. The phases state their own repeats: the loop's, by ``every``."""

    repeats: int
    phases: tuple[Phase, ...]

    def to_plan(self) -> Json:
        return {"repeats": self.repeats, "phases": [one.to_plan() for one in self.phases]}


@dataclass(frozen=True)
class GridField:
    """A field on the grid's cells, or (``extra`` 1) on their corners or sides, of which there is one more."""

    name: str
    extra_x: int = 0
    extra_y: int = 0


@dataclass(frozen=True)
class CellGrid:
    """``cells``: columns and rows. ``chunks``: by rank first column, first row, columns, rows."""

    cells: tuple[int, int]
    fields: tuple[GridField, ...]
    chunks: tuple[tuple[int, int, int, int], ...]

    def to_plan(self) -> Json:
        return {
            "cells": list(self.cells),
            "fields": [{"name": one.name, "extra_x": one.extra_x, "extra_y": one.extra_y} for one in self.fields],
            "chunks": [list(chunk) for chunk in self.chunks],
        }


@dataclass(frozen=True)
class Particles:
    """Hold the particles that each rank begins with, and the ranks it expects some from; ``batch``: the most of a
    message. A message of n particles has 8 + 136 n bytes."""

    stock: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]
    batch: int

    def to_plan(self) -> Json:
        return {
            "stock": list(self.stock),
            "neighbours": [list(one) for one in self.neighbours],
            "batch": self.batch,
        }


@dataclass(frozen=True)
class Schedule:
    """``ranks`` processes that carry out ``loops`` one after another."""

    name: str
    ranks: int
    loops: tuple[Loop, ...]
    grid: CellGrid | None = None
    particles: Particles | None = None
    own_bytes: tuple[tuple[int, ...], ...] = ()
    """Bytes that a rank would send itself, by phase and rank: counted apart, in no message."""

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Return the phases of all loops, each once; their repeats say how often they take place."""
        return tuple(phase for loop in self.loops for phase in loop.phases)

    @cached_property
    def bytes(self) -> int:
        """Return the bytes of all messages."""
        return self.sent().total()

    def sent(self) -> Counter[int]:
        """Bytes that each rank sends in all."""
        return self._per_rank(lambda message: message.size)

    def messages(self) -> Counter[int]:
        """Return how many messages each rank sends in all."""
        return self._per_rank(lambda _: 1)

    def to_plan(self) -> Json:
        """Return the schedule of a flow as schema/plan.schema.json has it."""
        plan: Json = {"loops": [one.to_plan() for one in self.loops]}
        if self.grid is not None:
            plan["grid"] = self.grid.to_plan()
        if self.particles is not None:
            plan["particles"] = self.particles.to_plan()
        return plan

    def _per_rank(self, count: Callable[[Message], int]) -> Counter[int]:
        found: Counter[int] = Counter()
        for phase in self.phases:
            for one in phase.messages:
                found[one.source] += count(one) * phase.repeats
        return found


def in_order(phases: tuple[Phase, ...]) -> tuple[Loop, ...]:
    """A loop for each phase: it takes place as often as it repeats, then the next one does."""
    return tuple(Loop(phase.repeats, (phase,)) for phase in phases)
