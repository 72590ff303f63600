"""Transfer: one process's part of a flow, made ready to run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from linkscope.torch_engine.plan import Case, Flow
from linkscope.torch_engine.world import World


class Transfer(ABC):
    """What the clock runs. All processes with a part of a flow call the same methods in the same order."""

    operations: int = 1
    """Operations in one call, one after the other: 2 for there and back. Time is told per operation."""
    accumulates: bool = False
    """Whether each call adds to what the last one left: verify() then holds of the first since arm() alone, and the
    measurement makes one for it."""
    led_in_by_a_call: bool = False
    """Whether lead_in() is a call like those that are measured."""

    @abstractmethod
    def arm(self, seed: int) -> None:
        """Fills sources with the pattern of ``seed`` and poisons destinations."""

    @abstractmethod
    def call(self) -> None:
        """The measured work, once."""

    @abstractmethod
    def verify(self, seed: int) -> str | None:
        """What is wrong with what arrived since arm(seed), in one line; None where nothing is."""

    @abstractmethod
    def verified_bytes(self) -> int:
        """Bytes that verify() compares."""

    def record(self) -> bool:
        """Whether calls are replays from now on: of what was recorded just now, after a first call and in all processes
        with a part. Nothing is under way meanwhile.
        """
        return False

    def count_as_run(self, calls: int) -> None:  # noqa: B027
        """Has verify() take it that so many calls were made since arm(), where these were replays."""

    def release(self) -> None:  # noqa: B027
        """Gives back, before communicators go, what record() took."""

    def meet(self) -> None:  # noqa: B027
        """Brings the processes of the flow together, unmeasured."""

    def lead_in(self) -> None:
        """The same for GPUs whose work is held back: enqueued before the start, it must not wait for it."""
        if self.led_in_by_a_call:
            self.call()

    def finish(self) -> None:  # noqa: B027
        """What a call by the host's clock ends with, and a series of calls in a row, measured: the sender hears that
        all has arrived.
        """

    def settle(self) -> None:  # noqa: B027
        """Waits until all that was called is done."""

    def notes(self) -> list[str]:
        """Remarks for the row."""
        return []


@dataclass(frozen=True)
class Reading:
    """What the clock says of a start. ``held``: no launch cost is inside, where the clock is the device's."""

    seconds: float
    held: bool = True


class Stopwatch(Protocol):
    """Times a transfer by one of the clocks."""

    @property
    def resolution_s(self) -> float:
        """Shortest span that it resolves to a tenth of a percent."""

    @property
    def most_repeats(self) -> int:
        """As many as can be held back at once."""

    def take(self, transfer: Transfer, repeats: int) -> Reading:
        """Runs it so often."""

    def hold_longer(self) -> None:
        """After a reading that was not held."""

    def notes(self) -> list[str]:
        """Remarks for the row."""


@dataclass(frozen=True)
class Part:
    """A process's share of a flow. The mean over the timed parts is the flow's time."""

    rank: int
    timed: bool = True


@dataclass(frozen=True)
class Site:
    """Where a flow is made ready: among which processes, and with how much host memory at most (0: what there is)."""

    world: World
    memory_limit_bytes: int


@dataclass(frozen=True)
class Own:
    """This process's part of a flow, and the watch it is timed by."""

    transfer: Transfer
    watch: Stopwatch


class Method(ABC):
    """A way in which PyTorch moves bytes. The catalog says the rest of it."""

    @abstractmethod
    def check(self, flow: Flow, case: Case) -> None:
        """Raises EngineError where the flow cannot be, the same in every process."""

    @abstractmethod
    def parts(self, flow: Flow) -> tuple[Part, ...]:
        """Who does what of it."""

    @abstractmethod
    def assemble(self, flow: Flow, case: Case, site: Site) -> Own | None:
        """The part that lies in this process, if one does; called in every process."""

    def latency(self, flow: Flow) -> bool:
        """Whether a time is all that can be said of the flow, which then has no rate."""
        return False
