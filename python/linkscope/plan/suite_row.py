"""SuiteRow: one row of a suite as plain data (schema/suite.schema.json). Every tuple is an axis; axes multiply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.plan.suite_file import MemorySet


@dataclass(frozen=True)
class End:
    """One end of a row: the kind of device, and what its memory is (no memories: flows lack this end).

    ``every``: the set that ``memories`` are, those of it that everybody knows; an engine may have more.
    ``first_touches`` (cpu, gpu) and ``advices`` (none, or words joined by +) are empty where the row names none.
    ``at``: "other" where the buffer is on the device at the other end.
    """

    on: str
    memories: tuple[str, ...] = ()
    every: MemorySet | None = None
    placement: str | None = None
    first_touches: tuple[str, ...] = ()
    advices: tuple[str, ...] = ()
    at: str = "own"


@dataclass(frozen=True)
class Allocation:
    """The memory of one end with one value of each of its axes."""

    memory: str
    placement: str | None = None
    first_touch: str | None = None
    advice: str | None = None
    at: str = "own"


@dataclass(frozen=True)
class Background:
    """A flow beside each measured one: ``beside`` says between which devices.

    ``role``: background, it keeps going meanwhile; alongside, it is measured as well. ``size`` None: that of the
    measured flow.
    """

    beside: str
    method: str
    executor: str
    source: Allocation | None = None
    destination: Allocation | None = None
    size: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    role: str = "background"


@dataclass(frozen=True)
class Variant:
    """Settings of the engine's process: variables added to its environment; ``vendor``: whose GPUs they mean something
    to, None for all."""

    name: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    vendor: str | None = None


def own_variants(variants: Sequence[Variant], vendor: str | None) -> tuple[Variant, ...]:
    """Return the variants without settings for another vendor's GPUs; none where no settings are left."""
    own = tuple(one for one in variants if vendor is None or one.vendor in (vendor, None))
    return own if any(one.settings for one in own) else ()


@dataclass(frozen=True)
class SuiteRow:
    """``sizes`` is empty where ``by_region``: then the parameter ``region`` says how much is moved.

    No ``clocks``: the device's where a GPU executes, else the host's. ``figures``: a table for each. ``table``: rows
    that name the same one share it; empty: the row has its own.

    A row of ``collectives`` has members in the place of two ends: ``source`` is what each of them is, ``destination``
    is on the same kind of device and has no memory. ``counts``: how many members there are, where the devices do not
    say it (``max`` stands for the CPUs, of several hosts for their slots; ``SLOTS`` for those). ``processes``: one, or
    each: two ends in a process of their own each, or every member in its own; of a collective also a number: so many
    share the members out. ``declared``: the suite's own row, where a request has narrowed it.
    """

    suite: str
    name: str
    title: str
    pattern: str
    source: End
    destination: End
    methods: tuple[str, ...]
    executors: tuple[str, ...]
    sizes: tuple[int, ...]
    show: str
    by_region: bool = False
    flows: tuple[int, ...] = (1,)
    background: tuple[Background, ...] = ()
    variants: tuple[Variant, ...] = ()
    vendor: str | None = None
    covers: tuple[str, ...] = ()
    collectives: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    processes: tuple[str, ...] = ("one",)
    table: str = ""
    figures: tuple[str, ...] = ("first",)
    x: str = "bytes"
    rows: str = "source"
    clocks: tuple[str, ...] = ()
    caches: tuple[str, ...] = ("rotated",)
    min_sample_s: float | None = None
    point_budget_s: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    peer: dict[str, str] | None = None
    declared: SuiteRow | None = None

    @property
    def figure(self) -> str:
        """Return what stands in its first table."""
        return self.figures[0]

    @property
    def names_all(self) -> bool:
        """Return whether a line of its table says all that tells interfaces apart, be there one of them alone."""
        return bool(self.table or (self.collectives and self.show == "curve"))

    @property
    def memories(self) -> tuple[str, ...]:
        """Every memory that it names, of its background too."""
        return (*self.source.memories, *self.destination.memories, *(end.memory for end in self._beside))

    @property
    def needs_gpu(self) -> bool:
        """Return whether either end names GPUs, or a GPU touches memory or drives a flow, of the background too."""
        ends = any(end.on != "numa" or "gpu" in end.first_touches for end in (self.source, self.destination))
        return ends or "gpu" in self._executors or any(end.first_touch == "gpu" for end in self._beside)

    @property
    def needs_numa(self) -> bool:
        """Return whether flows can only be laid out where NUMA nodes are known."""
        ends = (self.source, self.destination)
        near = any(end.on not in ("gpu", "numa") or "cpu" in end.first_touches for end in ends)
        return near or "numa" in self._executors or any(end.first_touch == "cpu" for end in self._beside)

    @property
    def _executors(self) -> tuple[str, ...]:
        return (*self.executors, *(one.executor for one in self.background))

    @property
    def _beside(self) -> list[Allocation]:
        """Return the memories of its background."""
        return [end for one in self.background for end in (one.source, one.destination) if end is not None]
