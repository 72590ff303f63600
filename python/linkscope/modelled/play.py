"""Play: flows that start together, on a virtual clock. Between two events every flow waits or moves at one rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isinf

from linkscope.machine.fair_share import max_min

_SIMULTANEOUS = 1e-12
"""Events closer than this, relative to the time, are one."""


@dataclass(frozen=True)
class Lane:
    """One transfer of a flow: ``latency_s``, then ``size`` bytes at the rate that other flows leave.

    ``uses``: how much of each capacity a byte takes. ``ceiling``: most bytes per second, whatever the capacities.
    ``size`` 0: the latency is all there is.
    """

    latency_s: float = 0.0
    size: float = 0
    uses: Mapping[str, float] = field(default_factory=dict)
    ceiling: float = inf


@dataclass(frozen=True)
class LaneRun:
    """``repeats`` transfers of a lane, back to back. ``tail``: more of them follow until all other runs have ended.

    A ``background`` run has no end of its own: it lasts until the last of the others ends.
    """

    lane: Lane
    repeats: int = 1
    tail: bool = False
    background: bool = False


def play(runs: Sequence[LaneRun], capacities: Mapping[str, float]) -> list[float]:
    """Return the seconds from the common start to the end of each run.

    ``capacities``: bytes per second. They are shared max-min fairly; rates change whenever a run starts or ends moving
    bytes. Where every run is background, all count as measured.
    """
    return _Play(runs, capacities).ends()


class _Runner:
    """Hold the state of one run: it waits until ``wake``, or moves ``remaining`` bytes at ``rate``, or has ended."""

    def __init__(self, run: LaneRun, endless: bool) -> None:
        self.lane, self.repeats, self.tail = run.lane, run.repeats, run.tail
        self.endless = endless
        self.active = True
        self.moving = False
        self.left = 0
        self.since = 0.0
        self.wake = 0.0
        self.remaining = 0.0
        self.rate = 0.0
        self.end: float | None = None

    def due(self, now: float) -> float:
        """Return when what it does now is over."""
        if not self.active:
            return inf
        if not self.moving:
            return self.wake
        return inf if isinf(self.remaining) else now + self.remaining / self.rate


@dataclass(frozen=True)
class _Cycle:
    """A moment at which all active runs began a transfer: how many more each had left."""

    began: float
    same: list[tuple[bool, bool]]
    left: dict[_Runner, int]


class _Play:
    def __init__(self, runs: Sequence[LaneRun], capacities: Mapping[str, float]) -> None:
        measured = any(not run.background for run in runs)
        self._runners = [_Runner(run, measured and run.background) for run in runs]
        self._unfinished = sum(not runner.endless for runner in self._runners)
        self._now = 0.0
        self._uses = [dict(run.lane.uses) for run in runs]
        self._capacities = {name: capacities[name] for uses in self._uses for name in uses}
        for number, run in enumerate(runs):
            if not isinf(run.lane.ceiling):
                self._uses[number][f"flow {number}"] = 1.0
                self._capacities[f"flow {number}"] = run.lane.ceiling
        self._rates: dict[tuple[int, ...], list[float]] = {}
        self._cycle: _Cycle | None = None

    def ends(self) -> list[float]:
        for runner in self._runners:
            self._begin(runner)
        while self._unfinished:
            self._skip_cycles()
            self._share()
            self._advance()
        return [self._now if runner.end is None else runner.end for runner in self._runners]

    def _begin(self, runner: _Runner) -> None:
        """Join transfers that nothing separates, so that the number of events does not grow with the repeats."""
        lane = runner.lane
        repeats = inf if runner.endless else runner.repeats
        runner.left = 0
        if lane.size == 0:
            self._wait(runner, repeats * lane.latency_s if lane.latency_s > 0 else 0.0)
        elif lane.latency_s == 0:
            self._move(runner, repeats * lane.size)
        else:
            runner.left = runner.repeats - 1
            self._wait(runner, lane.latency_s)

    def _wait(self, runner: _Runner, seconds: float) -> None:
        runner.moving, runner.since, runner.wake = False, self._now, self._now + seconds

    def _move(self, runner: _Runner, size: float) -> None:
        runner.moving, runner.remaining = True, size

    def _advance(self) -> None:
        """Go on to the next event, at which one run or several begin what comes next."""
        due = [runner.due(self._now) for runner in self._runners]
        then = min(due)
        arrived = []
        for runner, moment in zip(self._runners, due, strict=True):
            if moment <= then * (1 + _SIMULTANEOUS):
                arrived.append(runner)
            elif runner.moving:
                runner.remaining -= runner.rate * (then - self._now)
        self._now = then
        for runner in arrived:
            self._proceed(runner)

    def _proceed(self, runner: _Runner) -> None:
        lane = runner.lane
        if not runner.moving and lane.size > 0:
            self._move(runner, lane.size)
        elif runner.endless and lane.size > 0:
            self._wait(runner, lane.latency_s)
        elif runner.left > 0:
            runner.left -= 1
            self._wait(runner, lane.latency_s)
        else:
            self._finish(runner)

    def _finish(self, runner: _Runner) -> None:
        runner.active = runner.moving = False
        if runner.endless:
            return
        runner.end = self._now
        self._unfinished -= 1
        if runner.tail:
            runner.active = runner.endless = True
            self._begin(runner)

    def _share(self) -> None:
        """Give all that move their rates; those of the same runs are worked out once."""
        moving = tuple(number for number, runner in enumerate(self._runners) if runner.moving)
        if moving not in self._rates:
            share = max_min([self._uses[number] for number in moving], self._capacities)
            self._rates[moving] = [inf if rate is None else rate for rate in share.rates]
        for number, rate in zip(moving, self._rates[moving], strict=True):
            self._runners[number].rate = rate

    def _skip_cycles(self) -> None:
        """Go on to the last moment at which the same runs begin a transfer together, where they do for the second time.

        All that happens between two such moments happens again while no run is at its last transfer.
        """
        active = [runner for runner in self._runners if runner.active]
        if any(runner.moving or runner.since != self._now or runner.lane.size == 0 for runner in active):
            return
        same = [(runner.active, runner.endless) for runner in self._runners]
        if self._cycle is not None and self._cycle.same == same:
            period = self._now - self._cycle.began
            finite = [runner for runner in active if not runner.endless]
            taken = [self._cycle.left[runner] - runner.left for runner in finite]
            times = min(runner.left // count for runner, count in zip(finite, taken, strict=True))
            self._now += times * period
            for runner, count in zip(finite, taken, strict=True):
                runner.left -= times * count
            for runner in active:
                runner.since += times * period
                runner.wake += times * period
        self._cycle = _Cycle(self._now, same, {runner: runner.left for runner in active})
