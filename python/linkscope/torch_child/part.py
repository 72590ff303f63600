"""Part: this process's part of a flow, and the watch that it is timed by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linkscope.torch_child.faults import ChildError, Fault, refused, unsupported
from linkscope.torch_child.stopwatch import BatchStopwatch
from linkscope.torch_child.transfer import Reading, Stopwatch, Transfer

Json = dict[str, Any]
Vote = Callable[[int], int]
"""Gives every process of the flow the lowest number that one of them gave."""

_MOST_TRIES = 12  # to hold a start back
_FIRST_SEED = 0  # of the first calls' data: the engine arms before what it times and checks


def alone(vote: int) -> int:
    """The Vote of a flow of one process."""
    return vote


@dataclass
class Part:
    """``calls_in_a_row``: of a sample whose first and last wait for other processes; 0: as many as make it long enough.

    ``vote``: among the processes of the flow.
    """

    transfer: Transfer
    watch: Stopwatch
    calls_in_a_row: int = 0
    vote: Vote = alone
    _fresh: bool = True

    def facts(self) -> Json:
        """Return what the engine must know of it."""
        return {
            "operations": self.transfer.operations,
            "accumulates": self.transfer.accumulates,
            "max_repeats": self.watch.max_repeats,
            "calls_in_a_row": self.calls_in_a_row,
            "min_sample_s": self.watch.min_sample_s,
            "notes": self.notes(),
        }

    def notes(self) -> list[str]:
        """Remarks for the row."""
        return [*self.transfer.notes(), *self.watch.notes()]

    def set_up(self) -> None:
        """First calls, for the library to set up what the later ones use; of those that are recorded the recording and
        a first replay, which may take what later ones have. No process goes on to what another could not do.

        Raises ChildError.
        """
        self.transfer.arm(_FIRST_SEED)
        if not self.transfer.is_recorded:
            self._rehearse()
            return
        for step in (self._rehearse, self.transfer.record, self._rehearse):
            failure: Exception | None = None
            try:
                step()
            except Exception as error:
                failure = error
            well = self.vote(0 if failure else 1)
            if failure:
                raise failure
            if not well:  # another says what it was
                return

    def arm(self, seed: int) -> None:
        """See Transfer.arm."""
        self.transfer.arm(seed)
        self._fresh = True

    def take(self, repeats: int) -> Reading:
        """One start, in all processes of the flow; again where a GPU's work was not held back until all of it was
        enqueued. Raises ChildError where it never is.
        """
        fresh, self._fresh = self._fresh, False
        if fresh and repeats == 1 and self.transfer.accumulates:
            return BatchStopwatch().take(self.transfer, 1)  # it may be the one that is checked: no other before it
        for _ in range(_MOST_TRIES):
            holds = self.watch.holds
            reading = self.watch.take(self.transfer, repeats)
            if not holds or self.vote(1 if reading.held else 0):
                return reading
            self.watch.hold_longer()
        raise ChildError(Fault.BROKEN, "samples could not be held back until all was enqueued")

    def _rehearse(self) -> None:
        """Raises ChildError where the library has no such call."""
        try:
            self.transfer.call()
            self.transfer.settle()
        except (RuntimeError, NotImplementedError) as error:
            if refused(str(error)):
                raise unsupported(str(error)) from error
            raise
