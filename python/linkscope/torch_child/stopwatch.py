"""Stopwatches: a transfer timed by the host's clock, in a batch, or by a GPU's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum

import torch

from linkscope.torch_child.transfer import Reading, Stopwatch, Transfer

CALLS_HELD = 128  # calls of several commands each, of about a thousand that a stream takes before it blocks its caller
_UNLIMITED = 1 << 22
_FIRST_HOLD_S = 0.002
_LONGEST_HOLD_S = 0.5
_USUAL_KHZ = 2_000_000
_MIN_SAMPLE_S = 0.002
"""Between starts the threads of PyTorch's libraries sleep: a start of calls timed one by one has ten by Gloo or more,
so that their waking does not show.
"""


class Enqueue(Enum):
    """Say whether a call on a GPU is back before its work is done."""

    RETURNS = "at once"
    BLOCKS = "when the work is done, or nearly so"


@dataclass
class HostStopwatch:
    """Calls one by one, each from call to completion, the answer to a message included; between them, outside the time,
    the processes meet.
    """

    max_repeats: int = _UNLIMITED
    min_sample_s: float = _MIN_SAMPLE_S
    holds: bool = False

    def take(self, transfer: Transfer, repeats: int) -> Reading:
        """See Stopwatch.take."""
        now, call, finish = time.perf_counter, transfer.call, transfer.finish
        settle, meet = transfer.settle, transfer.meet
        start, total = None, 0.0
        for _ in range(repeats):
            meet()
            settle()
            begin = now()
            call()
            finish()
            settle()
            total += now() - begin
            start = begin if start is None else start
        return Reading(start or 0.0, total)

    def hold_longer(self) -> None:
        """Nothing is held."""

    def notes(self) -> list[str]:
        """None."""
        return []


@dataclass
class BatchStopwatch:
    """From the first of many calls, made one right after another, to the completion of the last."""

    max_repeats: int = _UNLIMITED
    min_sample_s: float = 0.0
    holds: bool = False

    def take(self, transfer: Transfer, repeats: int) -> Reading:
        """See Stopwatch.take."""
        now, call = time.perf_counter, transfer.call
        transfer.meet()
        transfer.settle()
        begin = now()
        for _ in range(repeats):
            call()
        transfer.finish()
        transfer.settle()
        return Reading(begin, now() - begin)

    def hold_longer(self) -> None:
        """Nothing is held."""

    def notes(self) -> list[str]:
        """None."""
        return []


class DeviceStopwatch:
    """Events around calls that a sleeping kernel holds back until all of them are enqueued.

    Whether it slept long enough shows afterwards: the start event must not have come before the last call was made.
    Calls that keep their caller (``enqueue`` BLOCKS) cannot be held: their launch cost is inside.
    """

    min_sample_s = 0.0  # the engine knows what GPUs' clocks resolve

    def __init__(self, index: int, enqueue: Enqueue, max_repeats: int) -> None:
        self._index = index
        self.max_repeats = max_repeats
        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._hold_s = _FIRST_HOLD_S if enqueue is Enqueue.RETURNS else 0.0
        rate_khz = getattr(torch.cuda.get_device_properties(index), "clock_rate", _USUAL_KHZ)
        self._cycles_per_s = 1e3 * float(rate_khz)

    def take(self, transfer: Transfer, repeats: int) -> Reading:
        """See Stopwatch.take."""
        with torch.cuda.device(self._index):
            torch.cuda.synchronize()
            if self._hold_s:
                torch.cuda._sleep(int(self._hold_s * self._cycles_per_s))
            transfer.lead_in()
            self._start.record()
            for _ in range(repeats):
                transfer.call()
            self._end.record()
            held = not self._start.query()
            self._end.synchronize()
            seconds = self._start.elapsed_time(self._end) * 1e-3
            return Reading(time.perf_counter() - seconds, seconds, held or not self._hold_s)

    @property
    def holds(self) -> bool:
        """See Stopwatch.holds."""
        return self._hold_s > 0

    def hold_longer(self) -> None:
        """See Stopwatch.hold_longer; gives up where no sleep is long enough."""
        self._hold_s = 2 * self._hold_s if self._hold_s < _LONGEST_HOLD_S else 0.0

    def notes(self) -> list[str]:
        """See Stopwatch.notes."""
        return [] if self._hold_s else ["not held back by a gate: launch cost is inside [launch-inside]"]


def stopwatch(clock: str, index: int | None, enqueue: Enqueue, held: int = CALLS_HELD) -> Stopwatch:
    """The watch of ``clock``; ``index``: the GPU whose clock it is, behind which so many calls may be ``held`` back."""
    if clock == "device":
        assert index is not None
        return DeviceStopwatch(index, enqueue, held)
    return HostStopwatch() if clock == "host" else BatchStopwatch()
