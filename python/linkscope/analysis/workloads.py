"""Workloads: of each application's communication that a run carried out in several ways, which way is fastest.

Times are of one transfer, the whole schedule once, of the member that takes longest: packing and waiting included, what
the application computes left out. Two ways are told apart as ``choose`` tells them apart, each pair for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from linkscope.analysis.combination import Combination
from linkscope.analysis.reasons import reason_of
from linkscope.analysis.schedule_times import FormerScheduleTimes, schedule_times
from linkscope.analysis.size_ranges import Cost
from linkscope.displayed import Displayed, Picture, displays
from linkscope.machine.paths import Paths
from linkscope.results.member_time import PARTS, MemberTime, slowest
from linkscope.results.row import Row, Stats
from linkscope.workload.planned_schedule import planned_schedule

Json = dict[str, Any]

STEPS, PARTICLES = "steps/s", "particles sent/s"
HEADER_BYTES, PARTICLE_BYTES = 8, 136
"""Of a message of particles: before them, and of each."""


@dataclass(frozen=True)
class Speedup:
    """Against the baseline: 1.5 for 1.5 times as fast, with its 95 % interval. ``told``: that is more than noise."""

    ratio: float
    low: float
    high: float
    told: bool


@dataclass(frozen=True)
class TimedWay:
    """One combination and what came of it. ``name`` among the others; ``member``: where the time of the slowest member
    went; ``merit``: the workload's figure of merit; ``equal``: not told apart from the fastest. ``speedup`` is None
    where there is no baseline."""

    id: str
    combination: Combination
    name: str
    seconds: Stats
    gbps: float
    merit: float | None
    member: MemberTime | None
    speedup: Speedup | None
    baseline: bool
    equal: bool
    within_run: bool
    modelled: bool

    @property
    def shares(self) -> tuple[tuple[str, float], ...]:
        """Of its slowest member's mean time: each part that took any."""
        if self.member is None:
            return ()
        return tuple((part, share) for part in PARTS if (share := self.member.share(part)) > 0)


@dataclass(frozen=True)
class NotTimed:
    """Combinations that have no time for one ``reason``; ``status``: skipped or failed. ``baseline`` is among them."""

    reason: str
    status: str
    names: tuple[str, ...]
    baseline: bool


@dataclass(frozen=True, repr=False)
class WorkloadTable(Displayed):
    """One application's communication by all ways that the run has, the fastest first.

    ``bytes`` and ``messages``: of the whole schedule. ``merit``: unit of the figure of merit, "" where there is none:
    of a halo exchange steps/s, of a particle exchange particles that are sent, for without physics there are no
    segments; per second of communication. ``times``: phases, ranks and links of the fastest way. ``pattern``: it packs
    nothing, messages are all there is.
    """

    application: str
    deck: str
    ranks: int
    bytes: int
    messages: int
    merit: str
    ways: tuple[TimedWay, ...]
    missing: tuple[NotTimed, ...]
    times: FormerScheduleTimes | None
    modelled: bool
    pattern: bool
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> TimedWay | None:
        return self.ways[0] if self.ways else None

    @property
    def baseline(self) -> TimedWay | None:
        """What the study began with, or what stands in for it; None where neither has a time, or none was asked for."""
        return next((way for way in self.ways if way.baseline), None)

    @property
    def stood_in_for(self) -> str | None:
        """Why the application's own way has no time, where another way stands in for it."""
        lacks = next((gone for gone in self.missing if gone.baseline), None)
        return lacks.reason if lacks is not None and self.baseline is not None else None

    @property
    def equals(self) -> tuple[TimedWay, ...]:
        """Ways that are not told apart from the fastest, it first."""
        return tuple(way for way in self.ways if way.equal)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.application, self.deck, self.ranks

    def plot(self) -> Picture:
        """Bars as long as the time of each way, in its parts. Raises LinkscopeError where none has a time."""
        picture: Picture = displays().picture(self)
        return picture

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {**asdict(self), "parts": [dict(way.shares) for way in self.ways]}


def carries_workload(row: Row) -> bool:
    """Whether the row is of a workload."""
    return "workload" in row.labels


def workloads(rows: Iterable[Row], paths: Paths) -> tuple[WorkloadTable, ...]:
    """A table for each application, deck and number of ranks, in the order of the run; none where no row has one."""
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        if carries_workload(row):
            label = row.labels["workload"]
            found.setdefault((str(label["application"]), str(label["deck"]), int(label["ranks"])), []).append(row)
    return tuple(_table(key, of_key, paths) for key, of_key in found.items())


def _table(key: tuple[str, str, int], rows: Sequence[Row], paths: Paths) -> WorkloadTable:
    whole = [row for row in rows if not row.labels["workload"].get("isolated")]
    alone = {Combination.of(row): row for row in rows if row not in whole and _has_time(row)}
    combinations = [Combination.of(row) for row in whole]
    names = [one.name(combinations) for one in combinations]
    timed = sorted(
        ((row, one, name) for row, one, name in zip(whole, combinations, names, strict=True) if _has_time(row)),
        key=lambda way: way[0].measured_flows[0][1].seconds.median,
    )
    based = next((row for row, *_ in timed if row.labels["workload"].get("baseline")), None)
    if based is None and any(row.labels["workload"].get("baseline") for row in whole):
        based = _stand_in(timed)
    ways = [_way(*one, timed[0][0], based) for one in timed]
    best = timed[0] if timed else None
    described = best[0] if best else (whole or rows)[0]
    flow = described.case["flows"][0]
    schedule = flow.get("schedule", {})
    return WorkloadTable(
        application=key[0],
        deck=key[1],
        ranks=key[2],
        bytes=int(flow["bytes"]),
        messages=_messages(described),
        merit=STEPS if "grid" in schedule else PARTICLES if "particles" in schedule else "",
        ways=tuple(ways),
        missing=tuple(_missing([(row, name) for row, name in zip(whole, names, strict=True) if not _has_time(row)])),
        times=schedule_times(best[0], paths, alone.get(best[1])) if best else None,
        modelled=any(row.modelled for row in rows),
        pattern="grid" not in schedule and "particles" not in schedule,
        notes=tuple(dict.fromkeys(str(note) for row in whole for note in row.labels["workload"].get("notes", ()))),
    )


def _stand_in(timed: Sequence[tuple[Row, Combination, str]]) -> Row | None:
    """Of ways, fastest first: device memory staged, as applications do where MPI takes no GPU memory; else the fastest
    by MPI."""
    by_mpi = [(row, one) for row, one, _ in timed if one.interface == "mpi"]
    staged = (row for row, one in by_mpi if one.staged and one.memory == "device")
    return next(staged, by_mpi[0][0] if by_mpi else None)


def _has_time(row: Row) -> bool:
    """Whether the row has a figure that can be held against others."""
    measured = row.measured_flows
    return bool(measured) and "schedule" in measured[0][0] and measured[0][1].seconds.low > 0


def _way(row: Row, combination: Combination, name: str, fastest: Row, based: Row | None) -> TimedWay:
    flow, result = row.measured_flows[0]
    return TimedWay(
        id=row.id,
        combination=combination,
        name=name,
        seconds=result.seconds,
        gbps=flow["bytes"] / result.seconds.median * 1e-9,
        merit=_merit(row),
        member=slowest(result.breakdown),
        speedup=None if based is None or row is based else _speedup(row, based),
        baseline=row is based,
        equal=row is fastest or not Cost.of_row(row).dearer_than(Cost.of_row(fastest)),
        within_run=row.within_run,
        modelled=row.modelled,
    )


def _speedup(row: Row, based: Row) -> Speedup:
    before, after = Cost.of_row(based), Cost.of_row(row)
    ratio, low, high = map(math.exp, before.over(after))
    return Speedup(ratio, low, high, before.dearer_than(after) or after.dearer_than(before))


def _merit(row: Row) -> float | None:
    flow, result = row.measured_flows[0]
    schedule = planned_schedule(flow, "")
    if "grid" in flow["schedule"]:
        return max((loop.repeats for loop in schedule.loops), default=0) / result.seconds.median
    if "particles" in flow["schedule"]:
        sent = sum(
            max(one.size - HEADER_BYTES, 0) // PARTICLE_BYTES * phase.repeats
            for phase in schedule.phases
            for one in phase.messages
        )
        return sent / result.seconds.median
    return None


def _messages(row: Row) -> int:
    flow = row.case["flows"][0]
    if "schedule" not in flow:
        return int(row.labels["workload"].get("messages", 0))
    return planned_schedule(flow, "").messages().total()


def _missing(rows: Sequence[tuple[Row, str]]) -> Iterable[NotTimed]:
    """Each reason once."""
    groups: dict[tuple[str, str], list[tuple[Row, str]]] = {}
    for row, name in rows:
        status: str = "failed" if row.status == "ok" else row.status
        groups.setdefault((reason_of(row), status), []).append((row, name))
    for (reason, status), found in groups.items():
        baseline = any(bool(row.labels["workload"].get("baseline")) for row, _ in found)
        yield NotTimed(reason, status, tuple(dict.fromkeys(name for _, name in found)), baseline)
