"""Flows: what a slot of a layout becomes in a plan, and the background that runs beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from linkscope.machine.paths import Paths
from linkscope.plan.axes import AxisPoint, region_bytes
from linkscope.plan.candidates import Candidates, FlowLayout, Slot, nearest_gpu, nearest_numa, tier_of
from linkscope.plan.suite_row import Allocation, Background, SuiteRow

Json = dict[str, Any]


@dataclass(frozen=True)
class _Work:
    """Describe the work of a flow on the devices of its slot; ``group``: cases of one kind whose launch shapes are
    alike.
    """

    method: str
    executor: str
    source: Allocation | None
    destination: Allocation | None
    size: int
    parameters: Json
    group: str
    ranks: Ranks


Ranks = Callable[[Slot], tuple[int, int]]
"""The processes of a slot's source and destination."""
BackgroundPlaces = Mapping[str, Sequence[Slot]]
"""Slots of a case's background that are not those of its measured flows, by the word of ``beside``."""


def case_flows(
    row: SuiteRow, paths: Paths, layout: FlowLayout, point: AxisPoint, places: BackgroundPlaces
) -> list[Json]:
    """The plan's flows of a case between ends, measured ones first: each slot of the layout ``point.flows`` times, then
    those beside them. ``places``: as background_places() gives them.
    """
    group = f"{row.pattern}-{len(layout.slots) * point.flows}"
    ranks = _ranks(layout) if point.processes == "each" else _one_process
    forward = _Work(
        point.method, point.executor, point.source, point.destination, point.size, point.parameters, group, ranks
    )
    flows = [
        _flow(forward, paths, slot, reverse=slot.reverse, role=slot.role)
        for slot in layout.slots
        for _ in range(point.flows)
    ]
    return flows + beside_flows(row, paths, layout, point, places)


def beside_flows(
    row: SuiteRow, paths: Paths, layout: FlowLayout, point: AxisPoint, places: BackgroundPlaces
) -> list[Json]:
    """The flows of a case that the row has beside its own."""
    flows = []
    for beside in row.background:
        work = _Work(
            beside.method,
            beside.executor,
            beside.source,
            beside.destination,
            beside.size or point.size,
            beside.parameters,
            f"{row.pattern}-{len(layout.slots) * point.flows}-beside",
            _one_process,
        )
        slots = background_slots(beside, layout, places)
        flows += [_flow(work, paths, slot, reverse=False, role=beside.role) for slot in slots]
    return flows


def background_slots(beside: Background, layout: FlowLayout, places: BackgroundPlaces) -> list[Slot]:
    """Return the places of a row's background, each once: for every measured flow, or in ``places``."""
    measured = [slot for slot in layout.slots if slot.role == "measured"]
    ends = {
        "same": [(slot.source, slot.destination) for slot in measured],
        "opposite": [(slot.destination, slot.source) for slot in measured],
        "source": [(slot.source, slot.source) for slot in measured],
        "destination": [(slot.destination, slot.destination) for slot in measured],
        "members": [(device, device) for device in layout.members],
        **{word: [(slot.source, slot.destination) for slot in slots] for word, slots in places.items()},
    }
    return [Slot(*pair) for pair in dict.fromkeys(ends[beside.beside])]


def background_places(layout: FlowLayout, layouts: Sequence[FlowLayout], candidates: Candidates) -> BackgroundPlaces:
    """Return the places of the background of the case of ``layout``, one of the row's ``layouts``."""
    return {"others": other_slots(layout, layouts), "peer": peer_slots(layout, candidates)}


def peer_slots(layout: FlowLayout, candidates: Candidates) -> list[Slot]:
    """From every GPU that takes part in a measured flow to the next GPU that takes part in none."""
    measured = [slot for slot in layout.slots if slot.role == "measured"]
    busy = dict.fromkeys(end for slot in measured for end in _contended(slot) if end.startswith("gpu:"))
    gpus = [gpu.id for gpu in candidates.paths.node.of_kind("gpu") if gpu.id in candidates.selected]
    slots = []
    for gpu in busy:
        after = gpus.index(gpu) + 1
        idle = [other for other in gpus[after:] + gpus[:after] if other not in busy]
        slots += [Slot(gpu, idle[0])] if idle else []
    return slots


def other_slots(layout: FlowLayout, layouts: Sequence[FlowLayout]) -> list[Slot]:
    """Every flow that any of ``layouts`` measures and that shares no GPU with those that ``layout`` measures.

    Host memory may be shared, since there is one host; where no GPU takes part, no NUMA node is shared either.
    """
    measured = [slot for slot in layout.slots if slot.role == "measured"]
    busy = {device for slot in measured for device in _contended(slot)}
    candidates = dict.fromkeys(slot for other in layouts for slot in other.slots if slot.role == "measured")
    return [slot for slot in candidates if not busy & set(_contended(slot))]


def _contended(slot: Slot) -> list[str]:
    ends = [slot.source, slot.destination]
    return [end for end in ends if end.startswith("gpu:")] or ends


def ends_of(flow: Json) -> list[Json]:
    """Every endpoint of a plan's flow: source and destination, or the members, and the state of a schedule."""
    ends = (flow[end] for end in ("source", "destination") if end in flow)
    return [*ends, *flow.get("members", ()), *flow.get("state", ())]


def _flow(work: _Work, paths: Paths, slot: Slot, *, reverse: bool, role: str) -> Json:
    ends = (work.destination, work.source) if reverse and _two_ended(work) else (work.source, work.destination)
    executor = _executor(paths, slot, work.executor)
    flow: Json = {"method": work.method, "executor": executor, "bytes": work.size}
    ranks = work.ranks(slot)
    if driver := _driving_rank(work.executor, executor, slot, ranks):
        flow["rank"] = driver
    if ends[0] is not None:
        flow["source"] = endpoint(ends[0], paths, slot.source, slot.destination) | _rank(ranks[0])
    if ends[1] is not None:
        flow["destination"] = endpoint(ends[1], paths, slot.destination, slot.source) | _rank(ranks[1])
    if role != "measured":
        flow["role"] = role
    if work.parameters:
        flow["parameters"] = work.parameters
    flow["tuning_group"] = "/".join(
        (
            work.method,
            "push" if executor == slot.source else "pull" if executor == slot.destination else executor,
            ">".join(kind_of(end) for end in ends),
            tier_of(paths, slot.source, slot.destination),
            work.group,
            _size_class(work.size),
            *_shape(work.parameters),
        )
    )
    if paths.node.modelled:
        path = paths.between(slot.source, slot.destination)
        flow["route"] = list(path.route if path is not None else ())
    return flow


def _two_ended(work: _Work) -> bool:
    """Then each end keeps its memory on the way back; else a read stays a read, of the other's memory."""
    return work.source is not None and work.destination is not None


def endpoint(what: Allocation, paths: Paths, own: str, other: str) -> Json:
    """An end on the device ``own`` (on ``other`` where its allocation says so), as a plan has it."""
    device = other if what.at == "other" else own
    endpoint: Json = {"device": device, "memory": what.memory}
    if what.placement is not None:
        endpoint["placement"] = what.placement
    if what.first_touch is not None:
        endpoint["first_touch"] = _toucher(what.first_touch, paths, device, own if what.at == "other" else other)
    if what.advice not in (None, "none"):
        endpoint["advice"] = what.advice
    return endpoint


def _toucher(word: str, paths: Paths, here: str, there: str) -> str:
    """cpu: this end's own NUMA node, or the nearest. gpu: the GPU here, else at the other end, else the nearest."""
    if word == "cpu":
        return here if here.startswith("numa:") else nearest_numa(paths.node, here)
    return next((end for end in (here, there) if end.startswith("gpu:")), None) or nearest_gpu(paths.node, here)


def _executor(paths: Paths, slot: Slot, word: str) -> str:
    ends = (slot.source, slot.destination)
    if word == "gpu":
        return next((end for end in ends if end.startswith("gpu:")), None) or nearest_gpu(paths.node, slot.source)
    if word == "numa":
        return next((end for end in ends if end.startswith("numa:")), None) or nearest_numa(paths.node, slot.source)
    return slot.source if word == "source" else slot.destination


def _one_process(slot: Slot) -> tuple[int, int]:
    del slot
    return 0, 0


def _ranks(layout: FlowLayout) -> Ranks:
    """A process for each device of the layout, in order of appearance; for both ends of a device with itself, two."""
    devices = list(dict.fromkeys(end for slot in layout.slots for end in (slot.source, slot.destination)))

    def of(slot: Slot) -> tuple[int, int]:
        source, destination = devices.index(slot.source), devices.index(slot.destination)
        return source, destination + (len(devices) if source == destination else 0)

    return of


def _driving_rank(word: str, executor: str, slot: Slot, ranks: tuple[int, int]) -> int:
    """The process of the end that drives; where a third device does, the source's."""
    at_destination = word == "destination" or (executor == slot.destination != slot.source)
    return ranks[1] if at_destination else ranks[0]


def _rank(rank: int) -> Json:
    return {"rank": rank} if rank else {}


@cache
def kind_of(end: Allocation | None) -> str:
    """An end's memory in a tuning group, such as "managed+gpu": its kind, who touches it first, the advice."""
    if end is None:
        return "-"
    return "+".join(word for word in (end.memory, end.first_touch, end.advice) if word and word != "none")


def _shape(parameters: Json) -> list[str]:
    """Parameters that change what launch shape is best; of a region its size class."""
    exact = [f"{name}={value}" for name, value in parameters.items() if name not in ("region", "in")]
    return exact + ([_size_class(region_bytes(parameters["in"]))] if "in" in parameters else [])


def _size_class(size: int) -> str:
    """Sizes that share a launch shape: latency-bound, in between, bandwidth-bound."""
    return "small" if size <= 64 << 10 else "medium" if size <= 16 << 20 else "large"
