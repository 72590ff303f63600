"""Schedules: what an application's messages take on a machine model, phase by phase.

In a phase all ranks begin at once. A rank packs all its messages (and copies their buffers to the host, where they are
staged), then sends them; messages share links and memories max-min fairly. Once all that a rank sent and expects has
arrived it (copies back and) unpacks. Packs share memories and links with one another, but not with messages. Then the
phase's collectives follow, one after another. What an application computes or allocates takes no time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkscope.machine.modelled_methods import ModelledMethod
from linkscope.modelled.machine import ModelledMachine
from linkscope.modelled.play import Lane, LaneRun, play
from linkscope.modelled.schedule_costs import ScheduleCosts
from linkscope.modelled.work import NotModelledError, Work

Json = dict[str, Any]
Moments = list[float]
"""Seconds from the beginning of the phase, by rank."""

_PACKED = (
    "packing and unpacking are modelled; launches after a message's first, and what is allocated, take no time unless "
    "the description says so"
)


def schedule(flow: Json, method: ModelledMethod, machine: ModelledMachine) -> Work:
    """Return the work of a flow. Raises NotModelledError."""
    costs = ScheduleCosts(flow, method, machine)
    costs.check()
    breakdown = _played(costs, machine.capacities)
    seconds = sum(breakdown[0]["phases_s"])
    if not seconds > 0:
        raise NotModelledError("nothing in the schedule takes time")
    return Work(
        Lane(seconds),
        payload=flow["bytes"],
        bandwidth=flow["bytes"] > 0,
        measured=True,
        members=costs.ranks,
        breakdown=tuple(breakdown),
        notes=(_PACKED,) if costs.unpacks else (),
    )


def _played(costs: ScheduleCosts, capacities: Mapping[str, float]) -> list[Json]:
    """Return what each rank's time went for; all ranks take equally long, because a phase ends when all have done
    their part."""
    parts: list[Counter[str]] = [Counter() for _ in range(costs.ranks)]
    phases_s: list[float] = []
    for loop in costs.loops:
        for index, phase in enumerate(loop["phases"]):
            times = loop.get("repeats", 1) // phase.get("every", 1)
            collectives_s = _collectives_s(costs, loop["phases"], index)
            messages_s = 0.0
            if phase["messages"]:
                once = _Phase(costs, phase, capacities)
                messages_s = once.end
                for rank, name, seconds in once.parts():
                    parts[rank][name] += times * seconds
            if collectives_s > 0:
                for rank in range(costs.ranks):
                    parts[rank]["collectives"] += times * collectives_s
            phases_s.append(times * (messages_s + collectives_s))
    return [{"parts_s": dict(one), "phases_s": phases_s} for one in parts]


def _collectives_s(costs: ScheduleCosts, phases: Sequence[Json], index: int) -> float:
    """Return the seconds of a phase's collectives.

    A round's test is an all-reduce; what has not blocked is confirmed by one that does, where the rounds end.
    """
    phase = phases[index]
    kinds = [one["collective"] for one in phase.get("collectives", ())]
    termination = phase.get("termination", "none")
    if termination != "none":
        kinds.append("all-reduce")
    if termination == "non-blocking" and all(one.get("termination", "none") == "none" for one in phases[index + 1 :]):
        kinds.append("all-reduce")
    return sum(costs.collective_s(kind) for kind in kinds)


class _Phase:
    """One time that one phase takes place: by rank, when each of its steps is over."""

    def __init__(self, costs: ScheduleCosts, phase: Json, capacities: Mapping[str, float]) -> None:
        self._costs, self._phase, self._capacities = costs, phase, capacities
        begun = [0.0] * costs.ranks
        self.packed = self._after("packing", begun, sends=True) if costs.packs else begun
        self.ready = self._after("staging", self.packed, sends=True) if costs.stages else self.packed
        self.sent, self.arrived = list(self.ready), list(self.ready)
        self._deliver()
        self.back = self._after("staging", self.arrived, sends=False) if costs.stages else self.arrived
        self.unpacked = self._after("packing", self.back, sends=False) if costs.unpacks else self.back
        self.end = max(self.unpacked)

    def parts(self) -> Iterator[tuple[int, str, float]]:
        """Yield each rank, what it did or waited for, and for how long."""
        costs = self._costs
        for rank in range(costs.ranks):
            ready, sent, arrived = self.ready[rank], self.sent[rank], self.arrived[rank]
            back, unpacked = self.back[rank], self.unpacked[rank]
            if costs.packs:
                yield rank, "pack", self.packed[rank]
            if costs.stages:
                yield rank, "copy", ready - self.packed[rank] + back - arrived
            if costs.stores:
                yield rank, "pack" if costs.unpacks else "send", sent - ready
            yield rank, "wait", arrived - (sent if costs.stores else ready) + self.end - unpacked
            if costs.unpacks:
                yield rank, "unpack", unpacked - back

    def _after(self, step: str, begin: Moments, sends: bool) -> Moments:
        """Return when each rank has done what it does by itself from ``begin`` on."""
        cost = self._costs.packing if step == "packing" else self._costs.staging
        return self._play([(cost(self._phase, rank, sends), begin[rank]) for rank in range(self._costs.ranks)])

    def _deliver(self) -> None:
        """``sent``: when a rank's last message is at its destination; ``arrived``: that and all that it expects."""
        messages = self._phase["messages"]
        lanes = [(self._costs.message(self._phase, *one), self.ready[one[0]]) for one in messages]
        for (source, destination, _), end in zip(messages, self._play(lanes), strict=True):
            self.sent[source] = max(self.sent[source], end)
            for rank in (source, destination):
                self.arrived[rank] = max(self.arrived[rank], end)

    def _play(self, lanes: Sequence[tuple[Lane, float]]) -> Moments:
        """Return the end of each lane, which begins at its moment."""
        return play(
            [LaneRun(replace(lane, latency_s=lane.latency_s + begin)) for lane, begin in lanes], self._capacities
        )
