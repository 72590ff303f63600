"""ScheduleCosts: what every step of a schedule asks of a machine model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any

from linkscope.machine.modelled_methods import ModelledMethod, Steps, modelled_methods
from linkscope.messages import numbers
from linkscope.modelled.collectives import latency_of_steps, steps_of
from linkscope.modelled.machine import ModelledMachine, memory_of
from linkscope.modelled.play import Lane
from linkscope.modelled.transfers import summed
from linkscope.modelled.work import NotModelledError
from linkscope.workload.particles import PARTICLE

Json = dict[str, Any]
Ranks = tuple[int, int]

_HALO_LAYERS = 4
"""Two at either side, as applications keep them."""
_NUMBER_BYTES = 8


class ScheduleCosts:
    """The steps of one flow, whose figures the plan holds for every two ranks and size.

    ``packs``, ``unpacks``: whether messages are packed before they are sent, and unpacked where they arrive.
    ``stores``: whether kernels store into the receiver's memory. ``stages``: whether whole buffers go through host
    memory, however much of them a message fills.
    """

    def __init__(self, flow: Json, method: ModelledMethod, machine: ModelledMachine) -> None:
        assert method.steps is not None
        self._flow, self._method, self._machine = flow, method, machine
        self._steps: Steps = method.steps
        self._buffers: list[str] = [one["device"] for one in flow["members"]]
        self._state: list[str] = [one["device"] for one in flow.get("state", ())]
        self._figures: Json = flow["schedule_figures"]
        self._found = {kind: _by_ranks(steps) for kind, steps in self._figures.items() if kind in _STEPS}
        self.ranks = len(self._buffers)
        self.loops: list[Json] = flow["schedule"]["loops"]
        self.stages = flow.get("parameters", {}).get("staging", "none") != "none"
        self.stores = self._steps.stores
        self.unpacks = bool(self._state)
        self.packs = self.unpacks and not self.stores
        self._full = _most_at_once(self._phases())

    def check(self) -> None:
        """Raises NotModelledError where the machine cannot carry the schedule out."""
        for device in self._buffers:
            if self._method.driver == "gpu" and not device.startswith("gpu:"):
                raise NotModelledError(f"the model of {self._flow['method']} has GPUs alone as ranks, not {device}")
        for phase in self._phases():
            for source, destination, _ in phase["messages"]:
                start, end = self._end(source), self._end(destination)
                if self.stores and not self._machine.peers(start, end):
                    raise NotModelledError(f"{start} has no peer access to {end}")
                self._route(start, end)
        self._check_memory()

    def message(self, phase: Json, source: int, destination: int, size: int) -> Lane:
        """Return what a message takes: where it is packed on its way, with the launches of its pack."""
        figures = self._of("messages", (source, destination), size)
        start, end = self._end(source), self._end(destination)
        more = launches_of(phase) - 1 if self.unpacks and not self.packs else 0
        return self._lane(size, self._latency_s(figures, more, start, end), figures, start, end)

    def packing(self, phase: Json, rank: int, sends: bool) -> Lane:
        """Return what a rank's messages of a phase take, one after another: packed, or where they arrive unpacked."""
        state, buffers = self._state[rank], self._buffers[rank]
        ends = (state, buffers) if sends else (buffers, state)
        sizes = [size for _, _, size in _of_rank(phase, rank, sends)]
        return self._own_steps("packs", sizes, launches_of(phase), rank, ends)

    def staging(self, phase: Json, rank: int, sends: bool) -> Lane:
        """Return what their buffers take, between the rank's memory and the host's."""
        host, buffers = self._figures["staged_on"][rank], self._buffers[rank]
        ends = (buffers, host) if sends else (host, buffers)
        sizes = [self._full[source, destination] for source, destination, _ in _of_rank(phase, rank, sends)]
        return self._own_steps("copies_out" if sends else "copies_in", sizes, 1, rank, ends)

    def collective_s(self, kind: str) -> float:
        """Return the seconds of a collective of a few numbers."""
        passing = modelled_methods()[self._steps.collectives].passing
        neighbours = zip(self._buffers, (*self._buffers[1:], self._buffers[0]), strict=True)
        longest_ns = max(self._machine.latency_ns(self._route(one, other)) for one, other in neighbours)
        return latency_of_steps(self._figures["collectives"][kind], steps_of(kind, passing, self.ranks), longest_ns)

    def _phases(self) -> Iterator[Json]:
        return (phase for loop in self.loops for phase in loop["phases"])

    def _own_steps(self, kind: str, sizes: Sequence[int], launches: int, rank: int, ends: tuple[str, str]) -> Lane:
        """Return what a rank does by itself: the latencies one after another, then all bytes at the rate of the
        largest step."""
        all_figures = [self._of(kind, (rank, rank), size) for size in sizes]
        if not sizes:
            return Lane()
        latency_s = sum(self._latency_s(figures, launches - 1, *ends) for figures in all_figures)
        return self._lane(sum(sizes), latency_s, all_figures[sizes.index(max(sizes))], *ends)

    def _lane(self, size: int, latency_s: float, figures: Json, start: str, end: str) -> Lane:
        if "cached_gbps" in figures:
            return Lane(latency_s, size, ceiling=figures["cached_gbps"] * 1e9)
        passed = ((name, 1.0) for name in (*self._route(start, end), memory_of(start), memory_of(end)))
        return Lane(latency_s, size, summed(passed, figures), figures.get("ceiling_gbps", inf) * 1e9)

    def _latency_s(self, figures: Json, more_launches: int, start: str, end: str) -> float:
        launched_us = figures.get("latency_us", 0.0) + more_launches * figures.get("step_us", 0.0)
        return float(launched_us * 1e-6 + self._machine.latency_ns(self._route(start, end)) * 1e-9)

    def _of(self, kind: str, ranks: Ranks, size: int) -> Json:
        """Return the first figures that are for the two ranks and a step of ``size`` bytes."""
        steps = self._found[kind][ranks]
        found = (one for one in steps if one.get("from_bytes", 0) <= size < one.get("below_bytes", inf))
        figures: Json = next(found)["figures"]
        return figures

    def _end(self, rank: int) -> str:
        """Return the device that the rank's messages leave and reach."""
        device: str = self._figures["staged_on"][rank] if self.stages else self._buffers[rank]
        return device

    def _route(self, start: str, end: str) -> tuple[str, ...]:
        route = self._machine.route(start, end)
        if route is None:
            raise NotModelledError(f"the plan gives no route from {start} to {end}")
        return route

    def _check_memory(self) -> None:
        """Fields, particles and buffers of all ranks on a device at once must fit into it."""
        held: Counter[str] = Counter()
        for (source, destination), size in self._full.items():
            held[self._buffers[source]] += size
            held[self._buffers[destination]] += size
        for device, size in zip(self._state, _state_bytes(self._flow["schedule"]), strict=False):
            held[device] += size
        for device, size in held.items():
            has = self._machine.memory_bytes(device)
            if has is not None and size > has:
                need = f"the ranks on {device} need {numbers.size(size)} of memory"
                raise NotModelledError(f"{need}; it has {numbers.size(has)}")


_STEPS = ("messages", "packs", "copies_out", "copies_in")


def launches_of(phase: Json) -> int:
    """Return how many kernels pack a message, as CloverLeaf does: left and right one for each field, bottom and top one
    for each of its layers."""
    halo = phase.get("halo")
    if halo is None:
        return 1
    return len(halo["fields"]) * (1 if halo["axis"] == "x" else halo["depth"])


def _by_ranks(steps: Sequence[Json]) -> dict[Ranks, list[Json]]:
    found: dict[Ranks, list[Json]] = {}
    for step in steps:
        for source, destination in step["pairs"]:
            found.setdefault((source, destination), []).append(step)
    return found


def _of_rank(phase: Json, rank: int, sends: bool) -> list[list[int]]:
    """Return the messages that it sends or receives."""
    return [message for message in phase["messages"] if message[0 if sends else 1] == rank]


def _most_at_once(phases: Iterable[Json]) -> Counter[Ranks]:
    """Return the buffer between every two ranks: as large as what any phase has under way between them at once."""
    most: Counter[Ranks] = Counter()
    for phase in phases:
        at_once: Counter[Ranks] = Counter()
        for source, destination, size in phase["messages"]:
            at_once[source, destination] += size
        most |= at_once
    return most


def _state_bytes(schedule: Json) -> list[int]:
    """Return, by rank, the bytes of its fields or particles."""
    if "grid" in schedule:
        fields = schedule["grid"]["fields"]
        return [
            sum(
                _NUMBER_BYTES
                * (columns + _HALO_LAYERS + field.get("extra_x", 0))
                * (rows + _HALO_LAYERS + field.get("extra_y", 0))
                for field in fields
            )
            for _, _, columns, rows in schedule["grid"]["chunks"]
        ]
    return [stock * PARTICLE for stock in schedule.get("particles", {}).get("stock", ())]
