"""Expansion: tests x patterns x axes -> the cases of a plan (schema/plan.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from linkscope.documents.sizes import parse_counts
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Paths
from linkscope.machine.traits import LABEL, MethodTraits, label_of
from linkscope.machine.vendor import VENDORS, vendor_of
from linkscope.plan.axes import AxisPoint, point_count, points
from linkscope.plan.candidates import Candidates, FlowLayout, Slot, host_memories
from linkscope.plan.collectives import collective_flow, undivided, uneven
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.flows import (
    BackgroundPlaces,
    background_places,
    background_slots,
    beside_flows,
    case_flows,
    ends_of,
)
from linkscope.plan.labels import case_id, case_labels
from linkscope.plan.modelled import modelled_case
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection, allowed_devices
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow, own_variants
from linkscope.plan.suites import MOST_MEMBERS, SLOTS
from linkscope.plan.unsupported import unsupported
from linkscope.plan.workload_cases import workload_cases
from linkscope.without_collection import without_collection

Json = dict[str, Any]

MOST_CASES = 1_000_000
"""Cases of one plan; more would take days."""


@without_collection()
def expand(suites: Sequence[Suite], node: Node, catalog: EngineCatalog, selected: Selection) -> list[PlannedCase]:
    """All cases of ``suites`` on ``node``, in the suites' order, ids unique.

    Rows whose kind of device the node lacks yield nothing; rows that want more devices than there are yield one
    case that is skipped with the reason. Raises LinkscopeError for an unknown method or memory, where there
    are more than MOST_CASES, and where nothing at all is left to run.
    """
    paths = Paths(node)
    suites = [catalog.filled(suite) for suite in suites]
    for row in (row for suite in suites for row in suite.rows):
        _check_empty(row, catalog)
    rows = [row for suite in suites for row in selected.rows_of(suite, catalog.method)]
    _check_number(rows, paths, selected)
    cases = [case for row in rows for case in _expand_row(row, paths, catalog, selected)]
    workloads = [row for suite in suites for row in selected.workloads_of(suite)]
    cases += [case for row in workloads for case in workload_cases(row, paths, catalog, selected)]
    cases = _told_apart(cases) if node.modelled else cases
    if not cases:
        raise LinkscopeError(_nothing(suites, node, catalog, selected))
    seen: dict[str, PlannedCase] = {}
    for planned in cases:
        if planned.id in seen:
            raise LinkscopeError(f"two cases have the id {planned.id!r}: name each suite once, and its rows uniquely")
        seen[planned.id] = planned
    return cases


def _check_empty(row: SuiteRow, catalog: EngineCatalog) -> None:
    """Raises LinkscopeError for empty messages of a method that sends none."""
    if 0 not in row.sizes or row.collectives == ("barrier",):
        return
    if all(catalog.method(method).takes_empty for method in row.methods):
        return
    those = ", ".join(method for method in sorted(catalog.methods) if catalog.method(method).takes_empty) or "none here"
    none = f"{' or '.join(row.methods)} takes no empty messages (those do: {those})"
    raise LinkscopeError(f"suite {row.suite}, row {row.name}: sizes: 0 bytes: {none}")


def _check_number(rows: Sequence[SuiteRow], paths: Paths, selected: Selection) -> None:
    """Raises LinkscopeError, which names the row that is too many, before any case is built."""
    total = 0
    for row in rows:
        layouts = PATTERNS[row.pattern](_candidates(row, paths, selected)) if _has_numa(row, paths.node) else []
        total += len(layouts) * point_count(row, paths.node)
        if total > MOST_CASES:
            where = f"suite {row.suite}, row {row.name}"
            raise LinkscopeError(f"{where}: with it the plan has {total:,} cases; {MOST_CASES:,} are the most")


def _candidates(row: SuiteRow, paths: Paths, selected: Selection) -> Candidates:
    allowed = allowed_devices(paths.node, selected.devices)
    counts = _counts(row, paths.node, selected)
    ends = (row.source.on, row.destination.on)
    return Candidates(paths, *ends, allowed, counts, selected.hosts, selected.permutations)


def _told_apart(cases: Sequence[PlannedCase]) -> list[PlannedCase]:
    """The cases without those that a model makes the same as an earlier one: same place in the same shared table."""
    seen: set[str] = set()
    kept = []
    for planned in cases:
        labels = planned.case["labels"]
        if "table" not in labels:
            kept.append(planned)
            continue
        place = [labels.get(name) for name in ("table", "title", "row", "column", "series", "x", "variant")]
        key = json.dumps([planned.case["suite"], *place])
        if key not in seen:
            kept.append(planned)
        seen.add(key)
    return kept


def _expand_row(row: SuiteRow, paths: Paths, catalog: EngineCatalog, selected: Selection) -> Iterator[PlannedCase]:
    node = paths.node
    candidates = _candidates(row, paths, selected)
    if row.needs_gpu and not node.of_kind("gpu"):
        if catalog.gpu_problem is not None:
            yield _absent(row, catalog, f"no GPU can be used: {catalog.gpu_problem}")
        return
    if selected.devices and row.needs_gpu and not any(device.startswith("gpu:") for device in selected.devices):
        return
    vendor = vendor_of(node, catalog.engine)
    if row.vendor is not None and vendor not in (row.vendor, None):
        yield _absent(row, catalog, f"for {VENDORS[row.vendor]} GPUs")
        return
    layouts = PATTERNS[row.pattern](candidates) if _has_numa(row, node) else []
    if not layouts:
        if row.needs_gpu:
            yield _absent(row, catalog, _too_few(row, candidates))
        return
    if not node.modelled:
        _check_parameters(row, catalog)
    row = replace(row, variants=own_variants(row.variants, vendor))
    supported = [(point, _unsupported(row, point, catalog)) for point in points(row, node, catalog.memory)]
    for layout in layouts:
        places = background_places(layout, layouts, candidates) if row.background else {}
        alone = _alone(row, layout, places)
        apart = {method: _apart(paths, layout, catalog.method(method)) for method in row.methods}
        for point, lacking in supported:
            if _over_hosts(layout) and point.processes != "each":
                continue
            reason = lacking or alone or apart[point.method]
            reason = reason or _far(layout, point, catalog) or _crowded(layout, point, node, selected)
            case = _case(row, paths, layout, point, places, catalog)
            if node.modelled and not reason:
                yield modelled_case(case, paths, catalog)
            else:
                yield PlannedCase(case, reason)


def _counts(row: SuiteRow, node: Node, selected: Selection) -> tuple[int, ...]:
    """Return the numbers of members of the row's collectives; empty where devices or unknown slots decide."""
    cpus = selected.slots if selected.hosts > 1 and selected.slots else max(_cpus(node), 2)
    slots = {SLOTS: [selected.slots] if selected.slots > 1 else []}
    counts = (
        slots[text] if text in slots else parse_counts(text, cpus if "max" in text else MOST_MEMBERS)
        for text in row.counts
    )
    return tuple(dict.fromkeys(count for some in counts for count in some))


def _cpus(node: Node) -> int:
    return sum(len(device.cpus) for device in node.of_kind("numa"))


def _over_hosts(layout: FlowLayout) -> bool:
    """Return whether members have GPUs of several hosts: the same number then stands for one of each."""
    return bool(layout.members) and layout.members[0].startswith("gpu:") and layout.members[0] in layout.members[1:]


def _far(layout: FlowLayout, point: AxisPoint, catalog: EngineCatalog) -> str | None:
    """Return why members on several hosts cannot do it."""
    maps = catalog.method(point.method).maps_members and _over_hosts(layout)
    return f"{point.method} maps its members' memory: they are on one host" if maps else None


def _crowded(layout: FlowLayout, point: AxisPoint, node: Node, selected: Selection) -> str | None:
    """Explain why a collective cannot have so many members: each needs a CPU, since they wait for one another. Slots
    of several hosts promise CPUs."""
    kind = str(point.parameters.get("type", "float32"))
    if len(layout.members) > MOST_MEMBERS and "reduce" in str(point.collective) and kind not in ("float32", "int32"):
        return f"{MOST_MEMBERS} members are the most: sums over more are not exact in {kind}"
    hosts, promised = selected.hosts, selected.slots if selected.hosts > 1 else 0
    cpus = max(_cpus(node) * hosts, promised)
    if point.processes == "each" and len(layout.members) > cpus > 0:
        among = f"{hosts} hosts like {node.name} show" if hosts > 1 else f"{node.name} shows"
        return f"{len(layout.members)} processes want a CPU each; {among} {cpus}"
    return undivided(point, len(layout.members)) or uneven(point, len(layout.members)) if layout.members else None


def _alone(row: SuiteRow, layout: FlowLayout, places: BackgroundPlaces) -> str | None:
    if all(background_slots(one, layout, places) for one in row.background):
        return None
    return "no other GPU or pair is left for the background to run on"


def _check_parameters(row: SuiteRow, catalog: EngineCatalog) -> None:
    """Raises LinkscopeError for a parameter that the engine lacks."""
    methods = [catalog.methods[method] for method in row.methods if method in catalog.methods]
    unknown = ", ".join(name for name in row.parameters if not all(name in known for known in methods))
    if unknown:
        where = f"suite {row.suite}, row {row.name}"
        raise LinkscopeError(f"{where}: {' or '.join(row.methods)} has no parameter {unknown}: see list methods")


def _has_numa(row: SuiteRow, node: Node) -> bool:
    return not row.needs_numa or bool(host_memories(node))


def _absent(row: SuiteRow, catalog: EngineCatalog, reason: str) -> PlannedCase:
    """The row's place holder: its first point, between the devices it would need."""
    source = "gpu:0" if row.source.on == "gpu" else "numa:0"
    destination = "numa:0" if row.destination.on != "gpu" else "gpu:1" if source == "gpu:0" else "gpu:0"
    kinds = {"gpu": ("gpu:0", "gpu:1"), "numa": ("numa:0",)}
    devices = tuple(Device(device, kind) for kind, ids in kinds.items() for device in ids)
    nowhere = Paths(Node(name="absent", devices=devices, links=()))
    layout = FlowLayout((Slot(source, destination),), source, destination)
    if row.collectives:
        members = (source, "gpu:1") if source == "gpu:0" else (source, source)
        layout = FlowLayout((), "", f"{len(members)} {'GPUs' if source == 'gpu:0' else 'members'}", members=members)
    first = next(points(row, nowhere.node, catalog.memory))
    return PlannedCase(_case(row, nowhere, layout, first, {"others": (), "peer": ()}, catalog), reason)


def _too_few(row: SuiteRow, candidates: Candidates) -> str:
    node = candidates.paths.node
    gpus = node.of_kind("gpu")
    usable = [gpu for gpu in gpus if gpu.id in candidates.selected]
    if not host_memories(node):
        return f"{node.name} shows no NUMA node"
    if row.pattern == "same-package":
        return f"no package of {node.name} holds two GPUs"
    if row.source.on == row.destination.on == "numa":
        return f"needs two NUMA nodes; {node.name} shows one"
    where = "selected here" if len(usable) < len(gpus) else f"on {node.name}"
    return f"needs at least two GPUs; {len(usable)} {where}"


def _unsupported(row: SuiteRow, point: AxisPoint, catalog: EngineCatalog) -> str | None:
    """Return why the engine cannot run the point at all. Raises LinkscopeError for an unknown name."""
    ends = (point.source, point.destination, *(end for b in row.background for end in (b.source, b.destination)))
    return unsupported(
        f"suite {row.suite}, row {row.name}",
        (point.method, *(one.method for one in row.background)),
        [end.memory for end in ends if end is not None],
        point.variant.settings,
        catalog,
    )


def _apart(paths: Paths, layout: FlowLayout, method: MethodTraits) -> str | None:
    """Return why a machine model cannot run a method: ends that nothing connects, or GPUs without peer access.

    A real machine's engine says so itself. Copy engines and libraries need no peer access: they stage such copies.
    """
    slots = [*layout.slots, *(Slot(*ends) for ends in permutations(layout.members, 2))]
    for slot in slots if paths.node.modelled else ():
        if paths.between(slot.source, slot.destination) is None:
            return f"{paths.node.name} has no link between {slot.source} and {slot.destination}"
        peers = paths.node.device(slot.source).attributes.get("peers")
        between_gpus = slot.destination.startswith("gpu:") and slot.destination != slot.source
        if peers is not None and between_gpus and slot.destination not in peers and not method.stages:
            return f"{slot.source} and {slot.destination} have no peer access [no-peer-access]"
    return None


def _case(
    row: SuiteRow, paths: Paths, layout: FlowLayout, point: AxisPoint, places: BackgroundPlaces, catalog: EngineCatalog
) -> Json:
    if layout.members:
        collectives = [collective_flow(paths, layout, point) for _ in range(point.flows)]
        flows = [*collectives, *beside_flows(row, paths, layout, point, places)]
    else:
        flows = case_flows(row, paths, layout, point, places)
    on_gpu = any(flow["executor"].startswith("gpu:") for flow in flows if "role" not in flow)
    usual = "device" if on_gpu else "host"
    wanted = {"min_sample_s": row.min_sample_s, "point_budget_s": row.point_budget_s}
    environment = {"environment": point.variant.settings} if point.variant.settings else {}
    return {
        "id": case_id(row, layout, point, usual),
        "suite": row.suite,
        "name": row.name,
        "clock": point.clock or usual,
        "cache": point.cache,
        "load": "sustained" if layout.places else "once",
        **{name: seconds for name, seconds in wanted.items() if seconds is not None},
        **_processes(flows),
        "flows": flows,
        "labels": case_labels(row, paths, layout, point, catalog.method(point.method))
        | {LABEL: _traits(flows, catalog)},
        **environment,
    }


def _traits(flows: Sequence[Json], catalog: EngineCatalog) -> Json:
    """Return what the catalog states of the flows' methods and memories."""
    methods = {flow["method"]: catalog.method(flow["method"]) for flow in flows}
    memories = {end["memory"]: catalog.memory(end["memory"]) for flow in flows for end in ends_of(flow)}
    return label_of(methods, memories)


def _processes(flows: Sequence[Json]) -> Json:
    """Return how many processes the flows name; nothing where one carries them out."""
    named = [end.get("rank", 0) for flow in flows for end in (flow, *ends_of(flow))]
    return {"processes": max(named) + 1} if max(named) else {}


def _nothing(suites: Sequence[Suite], node: Node, catalog: EngineCatalog, selected: Selection) -> str:
    names = ", ".join(suite.name for suite in suites)
    if not node.of_kind("gpu") and not selected.methods and not selected.devices:
        return f"suite {names} needs GPUs and {node.name} has none: run host, or a machine model (--machine NAME)"
    if not selected.methods and not selected.devices:
        why = "no row of it fits the node's devices" if host_memories(node) else "the node shows no NUMA node"
        return f"suite {names} has nothing to run on {node.name}: {why}"
    if not node.of_kind("gpu") and selected.methods and _need_gpus(suites, catalog, replace(selected, devices=())):
        need = "need GPUs" if len(selected.methods) > 1 else "needs a GPU"
        return (
            f"{', '.join(selected.methods)} {need} in suite {names} and {node.name} has none: leave --methods out, or "
            "a machine model (`linkscope list machines`)"
        )
    return f"nothing of suite {names} is left on {node.name} with these --devices and --methods: widen them"


def _need_gpus(suites: Sequence[Suite], catalog: EngineCatalog, selected: Selection) -> bool:
    """Return whether the rows that are selected are there, and all need GPUs."""
    rows = [row for suite in suites for row in selected.rows_of(suite, catalog.method)]
    return bool(rows) and all(row.needs_gpu for row in rows)
