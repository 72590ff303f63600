"""Schedule times: how long the phases and ranks of a schedule took, and what bounds them.

A link bounds a phase by the bytes that the phase sends over it, at its peak. ``of_alone`` is the phase's time over that
of its slowest message alone, where the run has every message in a phase of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import polars

from linkscope.machine.paths import Paths
from linkscope.results.row import FlowResult, Row
from linkscope.workload.planned_schedule import planned_schedule
from linkscope.workload.schedule import Phase, Schedule

Json = dict[str, Any]

_LINK: dict[str, Any] = {
    **{"link": polars.String, "bytes": polars.Int64},
    **dict.fromkeys(("peak_gbps", "seconds", "share"), polars.Float64),
}
_PHASE: dict[str, Any] = {
    **{"phase": polars.String, "times": polars.Int64, "seconds": polars.Float64, "bytes": polars.Int64},
    **{"link": polars.String, "share": polars.Float64, "of_alone": polars.Float64},
    **{"rank_bytes": polars.Int64, "rank_gbps": polars.Float64, "own": polars.Int64},
}
_RANK: dict[str, Any] = {
    **{"rank": polars.Int64, "device": polars.String, "seconds": polars.Float64},
    **{"sent": polars.Int64, "received": polars.Int64, "own": polars.Int64, "waits": polars.Float64},
}


@dataclass(frozen=True)
class ScheduleTimes:
    """Frames of one way of carrying out a schedule.

    ``phases`` in the schedule's order: ``seconds`` of all ``times`` that it took place, of the rank that took longest;
    its busiest ``link``, whose bytes take the ``share`` of the time at the link's peak; ``of_alone``: 1.2 where the
    phase takes 1.2 times its slowest message alone, null where that is not known; ``rank_bytes``: the most that a rank
    sends or receives in the phase once, ``rank_gbps``: that over the time of once; ``own``: the most that a rank keeps
    instead of sending. ``ranks``: median seconds of one transfer, bytes sent, received and kept, the share of the time
    that the rank waits. ``links``, of the whole schedule, the busiest first; none of unknown peak.
    """

    phases: polars.DataFrame = field(default_factory=lambda: polars.DataFrame(schema=_PHASE))
    ranks: polars.DataFrame = field(default_factory=lambda: polars.DataFrame(schema=_RANK))
    links: polars.DataFrame = field(default_factory=lambda: polars.DataFrame(schema=_LINK))


def schedule_times(row: Row, paths: Paths, isolated: Row | None = None) -> ScheduleTimes:
    """Return the times of an ok row with a schedule. ``isolated``: the same, every message in a phase of its own."""
    flow, result = row.measured_flows[0]
    schedule = planned_schedule(flow, "")
    devices = [str(end["device"]) for end in flow["members"]]
    alone = _alone(isolated) if isolated is not None else {}
    own = row.labels.get("workload", {}).get("own_bytes", ())
    phases = []
    for index, (phase, seconds) in enumerate(zip(schedule.phases, _phase_seconds(schedule, result), strict=False)):
        lone = [alone.get((one.source, one.destination, one.size)) for one in phase.messages]
        slowest = max(filter(None, lone), default=None) if lone and None not in lone else None
        busiest = _loads([phase], paths, devices, row, seconds)[:1]
        most = _most_of_a_rank(phase)
        phases.append(
            {
                **{"phase": phase.name, "times": phase.repeats, "seconds": seconds},
                "bytes": sum(one.size for one in phase.messages) * phase.repeats,
                **({"link": busiest[0]["link"], "share": busiest[0]["share"]} if busiest else {}),
                "of_alone": seconds / phase.repeats / slowest if slowest and phase.repeats else None,
                **{"rank_bytes": most, "rank_gbps": most * phase.repeats / seconds * 1e-9 if seconds else None},
                "own": max((kept for phase_own in own[index : index + 1] for kept in phase_own), default=None),
            }
        )
    links = _loads(schedule.phases, paths, devices, row, result.seconds.median)
    return ScheduleTimes(
        polars.DataFrame(phases, schema=_PHASE, orient="row"),
        polars.DataFrame(_ranks(schedule, devices, row), schema=_RANK, orient="row"),
        polars.DataFrame(links, schema=_LINK, orient="row"),
    )


def _phase_seconds(schedule: Schedule, result: FlowResult) -> list[float]:
    """Return for each phase the time of the rank that took longest; [] where members do not tell of each phase.

    It is the phase's share of the rank's mean time, of the rank's median time, so that a few slow transfers do not make
    phases longer than the whole.
    """
    phases, members = len(schedule.phases), result.breakdown
    if not members or any(len(one.phases_s) != phases for one in members):
        return []
    medians = result.parts_s if len(result.parts_s) == len(members) else [one.seconds for one in members]
    scales = [median / one.seconds if one.seconds else 1.0 for median, one in zip(medians, members, strict=True)]
    times = zip(*(one.phases_s for one in members), strict=True)
    return [max(time * scale for time, scale in zip(phase, scales, strict=True)) for phase in times]


def _alone(isolated: Row) -> dict[tuple[int, int, int], float]:
    """Return the seconds of each message alone, by source rank, destination rank and bytes."""
    flow, result = isolated.measured_flows[0]
    schedule = planned_schedule(flow, "")
    found = {}
    for phase, seconds in zip(schedule.phases, _phase_seconds(schedule, result), strict=False):
        if len(phase.messages) == 1 and phase.repeats and seconds > 0:
            (one,) = phase.messages
            found[one.source, one.destination, one.size] = seconds / phase.repeats
    return found


def _most_of_a_rank(phase: Phase) -> int:
    sent, received = Counter[int](), Counter[int]()
    for one in phase.messages:
        sent[one.source] += one.size
        received[one.destination] += one.size
    return max((sent | received).values(), default=0)


def _ranks(schedule: Schedule, devices: list[str], row: Row) -> list[Json]:
    result = row.measured_flows[0][1]
    if len(result.parts_s) != len(devices):
        return []
    sent, received = schedule.sent(), Counter[int]()
    for phase in schedule.phases:
        for one in phase.messages:
            received[one.destination] += one.size * phase.repeats
    members = result.breakdown
    waits = [one.share("wait") for one in members] if len(members) == len(devices) else [0.0] * len(devices)
    own = row.labels.get("workload", {}).get("own_bytes", ())
    return [
        {"rank": rank, "device": device, "seconds": result.parts_s[rank], "sent": sent[rank]}
        | {"received": received[rank], "own": sum(sum(phase[rank : rank + 1]) for phase in own), "waits": waits[rank]}
        for rank, device in enumerate(devices)
    ]


def _loads(phases: Iterable[Phase], paths: Paths, devices: list[str], row: Row, seconds: float) -> list[Json]:
    """Return what each link carries of phases that took so long together, the busiest first.

    Links are those between devices of one host; ranks on several hosts use unknown links.
    """
    carried: Counter[str] = Counter()
    for phase in phases:
        for one in phase.messages:
            for link in _route(paths, devices[one.source], devices[one.destination]) if not row.between else ():
                carried[link] += one.size * phase.repeats
    found = []
    for link, count in carried.items():
        peak = paths.links[link].link.peak_gbps
        if peak and count:
            least = count / peak * 1e-9
            share = least / seconds if seconds else 0.0
            found.append({"link": link, "bytes": count, "peak_gbps": peak, "seconds": least, "share": share})
    return sorted(found, key=lambda one: (-one["seconds"], one["link"]))


def _route(paths: Paths, source: str, destination: str) -> tuple[str, ...]:
    if source == destination:
        return ()
    try:
        path = paths.between(source, destination)
    except KeyError:  # a device that the recorded topology lacks
        return ()
    return path.route if path is not None else ()
