"""Transfer: one process's part of a flow, made ready to run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol


class Transfer(ABC):
    """Run what the clock times. All processes with a part of a flow call the same methods in the same order."""

    operations: int = 1
    """Operations in one call, one after the other: 2 for there and back. Time is told per operation."""
    accumulates: bool = False
    """True where each call adds to what the last one left: verify() then holds of the first since arm() alone, and the
    measurement makes one for it."""
    led_in_by_a_call: bool = False
    """True where lead_in() is a call like those that are measured."""

    @abstractmethod
    def arm(self, seed: int) -> None:
        """Fills sources with the pattern of ``seed`` and poisons destinations."""

    @abstractmethod
    def call(self) -> None:
        """The measured work, once."""

    @abstractmethod
    def verify(self, seed: int) -> str | None:
        """Return what is wrong with what arrived since arm(seed), in one line; None where nothing is."""

    @abstractmethod
    def verified_bytes(self) -> int:
        """Bytes that verify() compares."""

    is_recorded: bool = False
    """True where calls are replays once record() was called."""

    def record(self) -> None:  # noqa: B027
        """Makes calls replays from now on, after a first call and in all processes with a part. Nothing is under way
        meanwhile.
        """

    def capturing(self) -> AbstractContextManager[Any]:
        """Return the context of its calls while another transfer records them, and until the graph is whole."""
        return nullcontext()

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
        """End a call by the host's clock, and a series of calls in a row, measured: the sender hears that
        all has arrived.
        """

    def settle(self) -> None:  # noqa: B027
        """Waits until all that was called is done."""

    def notes(self) -> list[str]:
        """Remarks for the row."""
        return []


@dataclass(frozen=True)
class Reading:
    """Hold what the clock says of a start: when its work began, by time.perf_counter(), and how long it took.

    ``held``: no launch cost is inside, where the clock is the device's.
    """

    start: float
    seconds: float
    held: bool = True


class Stopwatch(Protocol):
    """Times a transfer by one of the clocks."""

    @property
    def max_repeats(self) -> int:
        """As many as can be held back at once."""

    @property
    def min_sample_s(self) -> float:
        """Return how long a start must last at least."""

    @property
    def holds(self) -> bool:
        """Return whether it holds starts back, and so may fail to."""

    def take(self, transfer: Transfer, repeats: int) -> Reading:
        """Runs it so often."""

    def hold_longer(self) -> None:
        """After a reading that was not held."""

    def notes(self) -> list[str]:
        """Remarks for the row."""
