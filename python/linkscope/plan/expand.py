"""Expansion: suite rows x patterns x axes -> the cases of a plan (schema/plan.schema.json)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Paths
from linkscope.plan.patterns import PATTERNS, Ground, Layout, Slot, tier_of
from linkscope.plan.select import Selection, allowed_devices
from linkscope.plan.sizes import format_bytes, parse_counts
from linkscope.plan.suite import Suite, SuiteRow, packaged_methods

Json = dict[str, Any]

_DRIVES = {"source": "push", "destination": "pull", "gpu": ""}


@dataclass(frozen=True)
class PlannedCase:
    """A case as the plan holds it; ``skip`` says why it cannot run, known before any engine is asked."""

    case: Json
    skip: str | None = None

    @property
    def id(self) -> str:
        return str(self.case["id"])


@dataclass(frozen=True)
class Point:
    """One value of every axis of a row; ``varied`` names in words those that differ within the row."""

    method: str
    executor: str
    source_memory: str | None
    destination_memory: str | None
    parameters: Json
    size: int
    varied: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Offer:
    """What the engine at hand can do: its catalog's methods with their parameters, its memories.

    ``gpu_problem`` is set where a GPU driver is present and yet no GPU can be used: rows then say so.
    """

    engine: str
    methods: Mapping[str, frozenset[str]]
    memories: frozenset[str]
    gpu_problem: str | None = None


def expand(suites: Sequence[Suite], node: Node, offer: Offer, selected: Selection) -> list[PlannedCase]:
    """All cases of ``suites`` on ``node``, in the suites' order, ids unique.

    Rows whose kind of device the node lacks yield nothing; rows that want more devices than there are yield one
    case that is skipped with the reason. Raises LinkscopeError for a method or memory that nobody knows, and
    where nothing at all is left to run.
    """
    paths = Paths(node)
    rows = [row for suite in suites for row in selected.rows_of(suite)]
    cases = [case for row in rows for case in _expand_row(row, paths, offer, selected)]
    if not cases:
        raise LinkscopeError(_nothing(suites, node, offer, selected))
    seen: dict[str, PlannedCase] = {}
    for planned in cases:
        if planned.id in seen:
            raise LinkscopeError(f"two cases have the id {planned.id!r}: name each suite once, and its rows uniquely")
        seen[planned.id] = planned
    return cases


def _expand_row(row: SuiteRow, paths: Paths, offer: Offer, selected: Selection) -> Iterator[PlannedCase]:
    node = paths.node
    ground = Ground(paths, row.source.on, row.destination.on, allowed_devices(node, selected.devices))
    if row.needs_gpu and not node.of_kind("gpu"):
        if offer.gpu_problem is not None:
            yield _absent(row, f"no GPU can be used: {offer.gpu_problem}")
        return
    if selected.devices and row.needs_gpu and not any(device.startswith("gpu:") for device in selected.devices):
        return
    layouts = PATTERNS[row.pattern](ground) if _has_numa(row, node) else []
    if not layouts:
        if row.needs_gpu:
            yield _absent(row, _too_few(ground))
        return
    row = _with_known_parameters(row, offer, node)
    for layout, point in product(layouts, _points(row, node)):
        yield PlannedCase(
            _case(row, paths, layout, point), _unsupported(row, point, offer) or _apart(paths, layout, point)
        )


def _with_known_parameters(row: SuiteRow, offer: Offer, node: Node) -> SuiteRow:
    """The row without what a model does not model. Raises LinkscopeError for a parameter a real engine lacks."""
    known = {
        name: value
        for name, value in row.parameters.items()
        if all(name in offer.methods[method] for method in row.methods if method in offer.methods)
    }
    if len(known) < len(row.parameters) and not node.modelled:
        unknown = ", ".join(name for name in row.parameters if name not in known)
        where = f"suite {row.suite}, row {row.name}"
        raise LinkscopeError(f"{where}: {' or '.join(row.methods)} has no parameter {unknown}: see list methods")
    return replace(row, parameters=known)


def _has_numa(row: SuiteRow, node: Node) -> bool:
    return "nearest-numa" not in (row.source.on, row.destination.on) or bool(node.of_kind("numa"))


def _absent(row: SuiteRow, reason: str) -> PlannedCase:
    """The row's place holder: its first point, between the devices it would need."""
    source = "gpu:0" if row.source.on == "gpu" else "numa:0"
    destination = "numa:0" if row.destination.on != "gpu" else "gpu:1" if source == "gpu:0" else "gpu:0"
    kinds = {"gpu": ("gpu:0", "gpu:1"), "numa": ("numa:0",)}
    devices = tuple(Device(device, kind) for kind, ids in kinds.items() for device in ids)
    nowhere = Paths(Node(name="absent", devices=devices, links=()))
    layout = Layout((Slot(source, destination),), source, destination)
    return PlannedCase(_case(row, nowhere, layout, next(_points(row, nowhere.node))), reason)


def _too_few(ground: Ground) -> str:
    node = ground.paths.node
    gpus = node.of_kind("gpu")
    usable = [gpu for gpu in gpus if gpu.id in ground.selected]
    if not node.of_kind("numa"):
        return f"{node.name} shows no NUMA node"
    where = "selected here" if len(usable) < len(gpus) else f"on {node.name}"
    return f"needs at least two GPUs; {len(usable)} {where}"


def _points(row: SuiteRow, node: Node) -> Iterator[Point]:
    sources, destinations = row.source.memories or (None,), row.destination.memories or (None,)
    parameters = {name: _values(value, node) for name, value in row.parameters.items()}
    axes: dict[str, Sequence[Any]] = {
        "method": row.methods,
        "executor": row.executors,
        "source": sources,
        "destination": destinations,
        **parameters,
        "size": row.sizes,
    }
    for values in product(*axes.values()):
        value = dict(zip(axes, values, strict=True))
        varied = tuple((name, _word(name, value[name])) for name, axis in axes.items() if len(axis) > 1)
        yield Point(
            method=value["method"],
            executor=value["executor"],
            source_memory=value["source"],
            destination_memory=value["destination"],
            parameters={name: value[name] for name in parameters},
            size=value["size"],
            varied=tuple((name, word) for name, word in varied if word),
        )


def _values(value: Any, node: Node) -> tuple[int | str, ...]:
    """A parameter's axis: a list as it is, a range such as "1:max:2x" counted out (max: CPUs of a NUMA node)."""
    if isinstance(value, list):
        return tuple(dict.fromkeys(one for item in value for one in _values(item, node)))
    if isinstance(value, str) and (":" in value or value == "max"):
        cpus = max((len(device.cpus) for device in node.of_kind("numa")), default=1)
        return tuple(parse_counts(value, max(cpus, 1)))
    return (value,)


def _word(axis: str, value: Any) -> str:
    if axis == "size":
        return format_bytes(value)
    if axis == "executor":
        return _DRIVES[value]
    return f"{axis} {value}" if isinstance(value, int) else str(value)


def _unsupported(row: SuiteRow, point: Point, offer: Offer) -> str | None:
    """Why the engine cannot run the point at all. Raises LinkscopeError for a name that nobody knows."""
    if point.method not in offer.methods:
        if point.method not in packaged_methods():
            known = ", ".join(sorted(offer.methods))
            raise LinkscopeError(f"suite {row.suite}, row {row.name}: unknown method {point.method!r} (known: {known})")
        return f"the {offer.engine} engine has no method {point.method}"
    for memory in (point.source_memory, point.destination_memory):
        if memory is not None and memory not in offer.memories:
            return f"the {offer.engine} engine has no memory {memory}"
    return None


def _apart(paths: Paths, layout: Layout, point: Point) -> str | None:
    """Why a described node cannot run the point: ends that nothing connects, or GPUs without peer access.

    A real machine's engine says so itself. Copy engines need no peer access: drivers stage such copies.
    """
    for slot in layout.slots if paths.node.modelled else ():
        if paths.between(slot.source, slot.destination) is None:
            return f"nothing in the description of {paths.node.name} connects {slot.source} and {slot.destination}"
        peers = paths.node.device(slot.source).attributes.get("peers")
        between_gpus = slot.destination.startswith("gpu:") and slot.destination != slot.source
        if peers is not None and between_gpus and slot.destination not in peers and point.method != "copy-engine":
            return f"{slot.source} and {slot.destination} have no peer access"
    return None


def _case(row: SuiteRow, paths: Paths, layout: Layout, point: Point) -> Json:
    flows = [_flow(row, paths, layout, slot, point) for slot in layout.slots]
    on_gpu = any(flow["executor"].startswith("gpu:") for flow in flows)
    longer = {} if row.min_sample_s is None else {"min_sample_s": row.min_sample_s}
    return {
        "id": _id(row, layout, point),
        "suite": row.suite,
        "name": row.name,
        "clock": row.clock or ("device" if on_gpu else "host"),
        "cache": row.cache,
        "load": "sustained" if layout.places else "once",
        **longer,
        "flows": flows,
        "labels": _labels(row, paths, layout, point),
    }


def _flow(row: SuiteRow, paths: Paths, layout: Layout, slot: Slot, point: Point) -> Json:
    memories = (point.source_memory, point.destination_memory)
    source_memory, destination_memory = reversed(memories) if slot.reverse else memories
    flow: Json = {"method": point.method, "executor": _executor(slot, point.executor), "bytes": point.size}
    if source_memory is not None:
        flow["source"] = {"device": slot.source, "memory": source_memory}
    if destination_memory is not None:
        flow["destination"] = {"device": slot.destination, "memory": destination_memory}
    if slot.role != "measured":
        flow["role"] = slot.role
    if point.parameters:
        flow["parameters"] = point.parameters
    flow["tuning_group"] = "/".join(
        (
            point.method,
            "push" if flow["executor"] == slot.source else "pull",
            f"{source_memory or '-'}>{destination_memory or '-'}",
            tier_of(paths, slot.source, slot.destination),
            f"{row.pattern}-{len(layout.slots)}",
            _size_class(point.size),
        )
    )
    if paths.node.modelled:
        path = paths.between(slot.source, slot.destination)
        flow["route"] = list(path.route if path is not None else ())
    return flow


def _executor(slot: Slot, executor: str) -> str:
    if executor == "gpu":
        return slot.source if slot.source.startswith("gpu:") else slot.destination
    return slot.source if executor == "source" else slot.destination


def _size_class(size: int) -> str:
    """Sizes that share a launch shape: latency-bound, in between, bandwidth-bound."""
    return "small" if size <= 64 << 10 else "medium" if size <= 16 << 20 else "large"


def _id(row: SuiteRow, layout: Layout, point: Point) -> str:
    """suite/row/where/axes: the same on every run of the same suite on the same machine."""
    where = f"{layout.row}>{layout.column}" if layout.row else layout.column
    axes = [word.replace(" ", "") for _, word in point.varied if word]
    return "/".join([row.suite, row.name, where.replace(" ", ""), *axes])


def _labels(row: SuiteRow, paths: Paths, layout: Layout, point: Point) -> Json:
    names = _oriented(row, layout.row, layout.column)
    labels: Json = {"title": row.title, "show": row.show, **names, "figure": row.figure}
    if layout.places:
        labels["cells"] = [_oriented(row, *place) for place in layout.places]
    x_axis = "size" if row.x == "bytes" else row.x
    variants = [word for axis, word in point.varied if not (row.show == "curve" and axis == x_axis)]
    if row.show == "curve":
        where = " > ".join(name for name in (layout.row, layout.column) if name)
        labels["series"] = ", ".join([where, *variants])
        labels["x"] = point.size if row.x == "bytes" else point.parameters[row.x]
        labels["x_name"] = row.x
    elif variants and row.show == "matrix":
        labels["title"] = ", ".join([row.title, *variants])
    elif variants:
        labels["row"] = ", ".join([name for name in (labels["row"],) if name] + variants)
    tiers = {tier_of(paths, slot.source, slot.destination) for slot in layout.slots if slot.role == "measured"}
    labels["tier"] = tiers.pop() if len(tiers) == 1 else "mixed"
    if row.peer is not None:
        labels["peer"] = row.peer
    return labels


def _oriented(row: SuiteRow, source: str, destination: str) -> dict[str, str]:
    names = (source, destination) if row.rows == "source" else (destination, source)
    return {"row": names[0], "column": names[1]}


def _nothing(suites: Sequence[Suite], node: Node, offer: Offer, selected: Selection) -> str:
    names = ", ".join(suite.name for suite in suites)
    if not node.of_kind("gpu") and not selected.methods and not selected.devices:
        return f"suite {names} needs GPUs and {node.name} has none: run host, or --machine NAME for a described node"
    return f"nothing of suite {names} is left on {node.name} with these --devices and --methods: widen them"
