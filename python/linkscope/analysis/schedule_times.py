"""Schedule times: of one way of carrying out a schedule how long its phases and ranks took, and what bounds them.

A link bounds a phase by the bytes that the phase sends over it, at its peak. Slowdown is the phase's time over that of
its slowest message alone, where the run has every message in a phase of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from linkscope.machine.paths import Paths
from linkscope.results.member_time import MemberTime
from linkscope.results.row import FlowResult, Row
from linkscope.workload.planned_schedule import planned_schedule
from linkscope.workload.schedule import Phase, Schedule

Alone = Mapping[tuple[int, int, int], float]
"""Seconds of a message by source rank, destination rank and bytes."""


@dataclass(frozen=True)
class LinkLoad:
    """``bytes`` over a directed link, which take ``seconds`` at its peak at least: ``share`` of the time."""

    link: str
    bytes: int
    peak_gbps: float
    seconds: float
    share: float


@dataclass(frozen=True)
class PhaseTime:
    """``seconds``: of all ``times`` that it took place, of the rank that took longest. ``bound``: its busiest link, if
    it has one of known peak. ``slowdown``: against its slowest message alone, 1.2 for 1.2 times; None where that is
    not known."""

    name: str
    times: int
    seconds: float
    bytes: int
    bound: LinkLoad | None
    slowdown: float | None


@dataclass(frozen=True)
class RankTime:
    """Median seconds of one transfer; bytes that the rank sends and receives in it; ``waits``: share of its time."""

    rank: int
    device: str
    seconds: float
    sent: int
    received: int
    waits: float


@dataclass(frozen=True)
class FormerScheduleTimes:
    """``phases`` in the schedule's order. ``links``: the busiest first, of the whole schedule; none of unknown peak."""

    phases: tuple[PhaseTime, ...]
    ranks: tuple[RankTime, ...]
    links: tuple[LinkLoad, ...]

    @property
    def longest(self) -> list[PhaseTime]:
        """The phases that take most of the time first."""
        return sorted(self.phases, key=lambda one: -one.seconds)


def schedule_times(row: Row, paths: Paths, isolated: Row | None = None) -> FormerScheduleTimes:
    """Of an ok row with a schedule. ``isolated``: the same, every message in a phase of its own."""
    flow, result = row.measured_flows[0]
    schedule = planned_schedule(flow, "")
    devices = [str(end["device"]) for end in flow["members"]]
    routes = _Routes(paths, devices, row.between)
    members = result.breakdown
    alone = _alone(isolated) if isolated is not None else {}
    times = _phase_seconds(schedule, result)
    seconds = result.seconds.median
    return FormerScheduleTimes(
        phases=tuple(_phase(one, time, routes, alone) for one, time in zip(schedule.phases, times, strict=False)),
        ranks=_ranks(schedule, devices, result.parts_s, members),
        links=tuple(routes.loads(schedule.phases, seconds)),
    )


def _phase_seconds(schedule: Schedule, result: FlowResult) -> list[float]:
    """By phase, of the rank that took longest: its share of the rank's mean time, of the rank's median time, so that a
    few slow transfers do not make phases longer than the whole. Nothing where the members do not tell of each phase."""
    phases, members = len(schedule.phases), result.breakdown
    if not members or any(len(one.phases_s) != phases for one in members):
        return []
    medians = result.parts_s if len(result.parts_s) == len(members) else [one.seconds for one in members]
    scales = [median / one.seconds if one.seconds else 1.0 for median, one in zip(medians, members, strict=True)]
    times = zip(*(one.phases_s for one in members), strict=True)
    return [max(time * scale for time, scale in zip(phase, scales, strict=True)) for phase in times]


def _alone(isolated: Row) -> dict[tuple[int, int, int], float]:
    flow, result = isolated.measured_flows[0]
    schedule = planned_schedule(flow, "")
    times = _phase_seconds(schedule, result)
    found = {}
    for phase, seconds in zip(schedule.phases, times, strict=False):
        if len(phase.messages) == 1 and phase.repeats and seconds > 0:
            (one,) = phase.messages
            found[one.source, one.destination, one.size] = seconds / phase.repeats
    return found


def _phase(phase: Phase, seconds: float, routes: _Routes, alone: Alone) -> PhaseTime:
    lone = [alone.get((one.source, one.destination, one.size)) for one in phase.messages]
    known = [one for one in lone if one is not None]
    slowest = max(known) if known and len(known) == len(lone) else None
    loads = routes.loads((phase,), seconds)
    return PhaseTime(
        name=phase.name,
        times=phase.repeats,
        seconds=seconds,
        bytes=sum(one.size for one in phase.messages) * phase.repeats,
        bound=loads[0] if loads else None,
        slowdown=seconds / phase.repeats / slowest if slowest and phase.repeats else None,
    )


def _ranks(
    schedule: Schedule, devices: list[str], seconds: tuple[float, ...], members: tuple[MemberTime, ...]
) -> tuple[RankTime, ...]:
    if len(seconds) != len(devices):
        return ()
    sent, received = schedule.sent(), Counter[int]()
    for phase in schedule.phases:
        for one in phase.messages:
            received[one.destination] += one.size * phase.repeats
    waits = [one.share("wait") for one in members] if len(members) == len(devices) else [0.0] * len(devices)
    return tuple(
        RankTime(rank, device, seconds[rank], sent[rank], received[rank], waits[rank])
        for rank, device in enumerate(devices)
    )


class _Routes:
    """Between the devices of the ranks' messages; none where they are on several hosts."""

    def __init__(self, paths: Paths, devices: list[str], hosts: tuple[str, ...]) -> None:
        self._paths, self._devices, self._hosts = paths, devices, hosts

    def loads(self, phases: tuple[Phase, ...], seconds: float) -> list[LinkLoad]:
        """Of all messages of ``phases``, which took so long together."""
        carried: Counter[str] = Counter()
        for phase in phases:
            for one in phase.messages:
                for link in self._between(one.source, one.destination):
                    carried[link] += one.size * phase.repeats
        found = []
        for link, count in carried.items():
            peak = self._paths.links[link].link.peak_gbps
            if peak and count:
                least = count / peak * 1e-9
                found.append(LinkLoad(link, count, peak, least, least / seconds if seconds else 0.0))
        return sorted(found, key=lambda one: (-one.seconds, one.link))

    def _between(self, source: int, destination: int) -> tuple[str, ...]:
        ends = self._devices[source], self._devices[destination]
        if self._hosts or ends[0] == ends[1]:
            return ()
        try:
            path = self._paths.between(*ends)
        except KeyError:  # a device that the recorded topology lacks
            return ()
        return path.route if path is not None else ()
