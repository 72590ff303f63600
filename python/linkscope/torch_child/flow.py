"""Flow: what the engine says of one, which has read it from the plan and checked its form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.torch_child.faults import ChildError, Fault

Json = dict[str, Any]


@dataclass(frozen=True)
class FlowDevice:
    """A place that owns memory or computes: ``kind`` is numa or gpu."""

    kind: str
    index: int

    @staticmethod
    def of(text: str) -> FlowDevice:
        kind, _, index = text.partition(":")
        return FlowDevice(kind, int(index))

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}"


@dataclass(frozen=True)
class Endpoint:
    """Say where one end's memory lives, and which process allocates it."""

    device: FlowDevice
    memory: str
    first_touch: FlowDevice
    advice: str
    rank: int

    @staticmethod
    def of(told: Json) -> Endpoint:
        places = FlowDevice.of(told["device"]), told["memory"], FlowDevice.of(told["first_touch"])
        return Endpoint(*places, told["advice"], told["rank"])


@dataclass(frozen=True)
class Flow:
    """One stream of bytes; a collective has ``members`` in place of two ends. ``bytes``: payload of one operation."""

    method: str
    source: Endpoint | None
    destination: Endpoint | None
    members: tuple[Endpoint, ...]
    executor: FlowDevice
    rank: int
    bytes: int
    parameters: Mapping[str, str]

    @staticmethod
    def of(told: Json) -> Flow:
        source, destination = (Endpoint.of(told[end]) if end in told else None for end in ("source", "destination"))
        members = tuple(Endpoint.of(member) for member in told["members"])
        executor, rank = FlowDevice.of(told["executor"]), told["rank"]
        return Flow(told["method"], source, destination, members, executor, rank, told["bytes"], told["parameters"])

    @property
    def ends(self) -> tuple[Endpoint, ...]:
        """All memory that the flow names."""
        return (*(end for end in (self.source, self.destination) if end is not None), *self.members)

    @property
    def ranks(self) -> tuple[int, ...]:
        """The processes that have a part in it, ascending."""
        return tuple(sorted({end.rank for end in self.ends}))

    def own_end(self, rank: int) -> Endpoint:
        """The first in that process, which has one."""
        return next(end for end in self.ends if end.rank == rank)

    def word(self, name: str, allowed: Sequence[str], otherwise: str) -> str:
        """A parameter that is one of ``allowed``. Raises ChildError."""
        value = self.parameters.get(name, otherwise)
        if value not in allowed:
            raise ChildError(Fault.BAD_INPUT, f"parameter {name}: '{value}' is none of {', '.join(allowed)}")
        return value

    def number(self, name: str, least: int, most: int, otherwise: int) -> int:
        """A parameter that is a whole number from ``least`` to ``most``. Raises ChildError."""
        value = self.parameters.get(name, str(otherwise))
        if not re.fullmatch(r"-?\d+", value) or not least <= int(value) <= most:
            raise ChildError(Fault.BAD_INPUT, f"parameter {name}: {least} to {most}")
        return int(value)


@dataclass(frozen=True)
class Regime:
    """Say how a case is timed: ``clock`` device, host or batch; ``cache`` warm, rotated or flushed."""

    clock: str
    cache: str

    @staticmethod
    def of(told: Json) -> Regime:
        return Regime(told["clock"], told["cache"])


@dataclass(frozen=True)
class Site:
    """This process among those of its run. ``root_host``: the address of rank 0. ``limit_s``: how long one process may
    keep the others waiting. ``memory_limit_bytes``: most host memory at once; 0: what there is.
    """

    rank: int
    size: int
    root_host: str
    limit_s: float
    memory_limit_bytes: int
