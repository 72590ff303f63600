"""Workload cases: what an application sends, by every interface and memory of a test, as cases of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from linkscope.documents.sizes import parse_counts
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.machine.traits import LABEL, label_of
from linkscope.machine.vendor import vendor_of
from linkscope.plan.application import isolated
from linkscope.plan.candidates import host_memories
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.modelled import modelled_case
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.rank_places import devices_of_ranks, rank_places, usual_ranks
from linkscope.plan.select import Selection, allowed_devices
from linkscope.plan.suite_row import Variant, own_variants
from linkscope.plan.unsupported import unsupported
from linkscope.plan.workload_labels import workload_id, workload_labels
from linkscope.plan.workload_point import Sent, WorkloadPoint, WorkloadSetting
from linkscope.plan.workload_row import INTERFACES, MOST_RANKS, WorkloadRow
from linkscope.workload.schedule import Schedule

Json = dict[str, Any]

MOST_LISTED = 200_000
"""Messages that a schedule lists, each once: every row of a run file holds them all."""


def workload_cases(
    row: WorkloadRow, paths: Paths, catalog: EngineCatalog, selected: Selection
) -> Iterator[PlannedCase]:
    """The cases of a row; those that cannot run say why. Nothing where the node shows no device to run on.

    Raises LinkscopeError for what is wrong with the row: a decomposition that is none, an order of other devices.
    """
    node = paths.node
    devices = devices_of_ranks(node, allowed_devices(node, selected.devices))
    if not devices:
        return
    variants = own_variants(row.variants, vendor_of(node, catalog.engine)) or (Variant(),)
    for ranks in _counts(row, node, usual_ranks(node, devices, selected.hosts)):
        try:
            places = rank_places(node, devices, ranks, row.order, selected.hosts)
            deck = row.application.deck(ranks, places)
            _check_listed(deck.schedule)
        except LinkscopeError as error:
            raise LinkscopeError(f"{_where(row)}: {error}") from error
        setting = WorkloadSetting(row, paths, catalog, places, deck)
        everything = [Sent(deck.schedule, deck.schedule.to_plan())]
        if row.application.from_file and (alone := isolated(deck.schedule)) is not None:
            everything.append(Sent(alone, alone.to_plan(), ", each message alone"))
        for point in _points(setting, variants):
            for sent in everything:
                yield _planned(setting, point, sent)


def workload_notes(cases: Sequence[PlannedCase]) -> tuple[str, ...]:
    """Return what a user should know of the workloads among ``cases`` before they run, each once."""
    told = [one.case["labels"].get("workload", {}).get("notes", ()) for one in cases]
    return tuple(dict.fromkeys(note for notes in told for note in notes))


def _where(row: WorkloadRow) -> str:
    """Return what an error begins with; a command of `app` has no suite's file that a user could look into."""
    return row.suite if row.suite == row.name else f"suite {row.suite}, row {row.name}"


def _counts(row: WorkloadRow, node: Node, usual: int) -> tuple[int, ...]:
    """Return how many ranks there shall be, one after another."""
    if not row.counts:
        return _several(row, (row.application.ranks or len(row.order) or usual,))
    cpus = max(sum(len(device.cpus) for device in node.of_kind("numa")), 2)
    found = (count for text in row.counts for count in parse_counts(text, cpus if "max" in text else MOST_RANKS))
    return _several(row, tuple(dict.fromkeys(found)))


def _several(row: WorkloadRow, counts: tuple[int, ...]) -> tuple[int, ...]:
    if min(counts, default=0) < 2:
        raise LinkscopeError(f"{_where(row)}: {min(counts, default=0)} ranks: it takes 2 to {MOST_RANKS}")
    return counts


def _check_listed(schedule: Schedule) -> None:
    listed = sum(len(phase.messages) for phase in schedule.phases)
    if listed > MOST_LISTED:
        raise LinkscopeError(f"{listed:,} different messages; {MOST_LISTED:,} are the most")


def _points(setting: WorkloadSetting, variants: Sequence[Variant]) -> Iterator[WorkloadPoint]:
    """Memory that only GPUs have is left out where ranks are on CPUs, unless nothing else is asked for; own staging is
    MPI's, of what does not lie in host memory; MPI has a process for each rank, and a model one for all."""
    row, catalog, places = setting.row, setting.catalog, setting.places
    memories: tuple[str, ...] = row.memories
    if not places.on_gpus and catalog.gpu_problem is None:
        on_cpus = (one for one in memories if one in catalog.memories and catalog.memory(one).lies_on != "gpu")
        memories = tuple(on_cpus) or memories
    for variant, interface, memory, state, staging, processes in product(
        variants, row.interfaces, memories, _states(setting), row.stagings, row.processes
    ):
        by_mpi = catalog.method(INTERFACES[interface]).by_mpi
        staged = by_mpi and not setting.in_host_memory(memory)
        apart = "each" if by_mpi else processes
        if staging != row.stagings[0] and not staged:
            continue
        if processes != row.processes[0] and (by_mpi or setting.paths.node.modelled):
            continue
        yield WorkloadPoint(interface, memory, state, staging if staged else "none", apart, variant)


def _states(setting: WorkloadSetting) -> tuple[str | None, ...]:
    row = setting.row
    if not row.application.has_state:
        return (None,)
    return (row.states or ("device",)) if setting.places.on_gpus else ("pageable",)


def _planned(setting: WorkloadSetting, point: WorkloadPoint, sent: Sent) -> PlannedCase:
    case = _case(setting, point, sent)
    reason = _obstacle(setting, point)
    if reason is None and setting.paths.node.modelled:
        return modelled_case(case, setting.paths, setting.catalog)
    return PlannedCase(case, reason)


def _obstacle(setting: WorkloadSetting, point: WorkloadPoint) -> str | None:
    """Return why it cannot run. Raises LinkscopeError for an unknown name."""
    row, catalog, places = setting.row, setting.catalog, setting.places
    if catalog.gpu_problem is not None and not places.on_gpus and point.memory not in catalog.memories:
        return f"no GPU can be used: {catalog.gpu_problem}"
    reason = unsupported(_where(row), (point.method,), point.memories, point.variant.settings, catalog)
    in_host_memory = point.staging != "none" or any(catalog.memory(one).lies_on == "host" for one in point.memories)
    if in_host_memory and not host_memories(setting.paths.node):
        reason = reason or f"{setting.paths.node.name} shows no NUMA node"
    reason = reason or places.crowded or setting.deck.problem
    if reason is None and catalog.method(point.method).by_xccl and places.shared is not None:
        return f"NCCL and RCCL want a GPU for each rank: {places.shared}"
    maps = catalog.method(point.method).maps_members
    if reason is None and maps and places.hosts > 1 and len(places.homes) > len(set(places.homes)):
        return f"{point.method} maps its members' memory: they are on one host"
    return reason


def _case(setting: WorkloadSetting, point: WorkloadPoint, sent: Sent) -> Json:
    row, catalog, ranks = setting.row, setting.catalog, sent.schedule.ranks
    apart = point.processes == "each" and not setting.paths.node.modelled
    processes = range(ranks) if apart else [0] * ranks
    members = _endpoints(setting, point.memory, processes)
    flow: Json = {
        "method": point.method,
        "executor": members[0]["device"],
        "bytes": sent.schedule.bytes,
        "members": members,
        **({} if point.state is None else {"state": _endpoints(setting, point.state, processes)}),
        "schedule": sent.plan,
        **({"parameters": {"staging": point.staging}} if point.staging != "none" else {}),
    }
    traits = label_of(
        {point.method: catalog.method(point.method)}, {one: catalog.memory(one) for one in point.memories}
    )
    return {
        "id": workload_id(setting, point, sent),
        "suite": row.suite,
        "name": row.name,
        "clock": "host",
        "cache": "warm",
        "load": "once",
        **({"point_budget_s": row.point_budget_s} if row.point_budget_s is not None else {}),
        **({"processes": ranks} if apart else {}),
        "flows": [flow],
        "labels": workload_labels(setting, point, sent) | {LABEL: traits},
        **({"environment": point.variant.settings} if point.variant.settings else {}),
    }


def _endpoints(setting: WorkloadSetting, memory: str, processes: Sequence[int]) -> list[Json]:
    """Return for each rank where its memory of a kind lies, and which process allocates it."""
    devices = setting.places.devices_for(setting.catalog.memory(memory))
    return [
        {"device": device, "memory": memory, **({"rank": process} if process else {})}
        for device, process in zip(devices, processes, strict=True)
    ]
