"""Expansion: suite rows become the cases of a plan, and what cannot run becomes a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from schema_files import load_schema
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Paths
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite, packaged_methods, suite_names

PARAMETERS = frozenset({"threads", "blocks", "unroll", "non_temporal", "stride", "hops", "order", "ordering"})
MEMORIES = frozenset({"pageable", "huge", "pinned", "registered", "write-combined", "device", "managed"})
FULL = EngineCatalog("cuda", dict.fromkeys(packaged_methods(), PARAMETERS), MEMORIES)
HOST = EngineCatalog("host", {"memcpy": PARAMETERS, "pointer-chase": PARAMETERS}, frozenset({"pageable", "huge"}))


def cases(
    suite: str, machine: Node, catalog: EngineCatalog = FULL, selected: Selection | None = None
) -> list[PlannedCase]:
    return expand([load_suite(suite)], machine, catalog, selected or Selection())


@pytest.mark.parametrize("suite", suite_names())
@pytest.mark.parametrize("machine", ["h200x4", "frontier", "s822lc"])
def test_every_suite_gives_a_valid_plan_on_described_nodes(suite: str, machine: str) -> None:
    described = load_machine(machine)
    everything = cases(suite, described)
    planned = [one.case for one in everything if one.skip is None]
    plan = {"schema": 1, "options": {}, "cases": [one.case for one in everything]}
    Draft202012Validator(load_schema("plan")).validate(plan)
    links = Paths(described).links.keys()
    assert all(set(flow.get("route", ())) <= links for case in planned for flow in case["flows"])


def test_ids_are_unique_readable_and_stable() -> None:
    first, second = cases("default", node(4)), cases("default", node(4))
    ids = [one.id for one in first]
    assert len(set(ids)) == len(ids)
    assert ids == [one.id for one in second]
    assert "default/d2d/gpu:0>gpu:1/copy-engine" in ids
    assert all(" " not in case_id for case_id in ids)


def test_axes_multiply() -> None:
    planned = cases("sweep", node(4))
    assert len(planned) == 25 * 12 * 4
    series = {(one.case["labels"]["series"]) for one in planned}
    assert len(series) == 12 * 4
    assert "gpu:0 > gpu:1, kernel-copy, pull" in series


def test_the_executor_is_the_side_that_drives() -> None:
    by_id = {one.id: one.case["flows"][0] for one in cases("sweep", node(2))}
    flow = by_id["sweep/d2d-by-size/gpu:0>gpu:1/kernel-copy/pull/1MiB"]
    assert (flow["executor"], flow["source"]["device"], flow["destination"]["device"]) == ("gpu:1", "gpu:0", "gpu:1")
    h2d = next(one.case["flows"][0] for one in cases("nvbandwidth", node(2)) if one.case["name"] == "h2d-ce")
    assert (h2d["executor"], h2d["source"]) == ("gpu:0", {"device": "numa:0", "memory": "pinned"})


def test_reversed_flows_keep_each_ends_memory() -> None:
    case = next(one.case for one in cases("nvbandwidth", node(2)) if one.case["name"] == "h2d-against-ce")
    measured, background = case["flows"]
    assert background["role"] == "background"
    assert background["source"] == measured["destination"] == {"device": "gpu:0", "memory": "device"}
    assert background["destination"] == measured["source"]
    assert background["executor"] == measured["executor"] == "gpu:0"


def test_cases_that_differ_in_shape_are_tuned_apart() -> None:
    groups: dict[str, set[Any]] = {}
    for one in cases("default", node(4)):
        flow = one.case["flows"][0]
        groups.setdefault(flow["tuning_group"], set()).add((flow["method"], len(one.case["flows"])))
    assert all(len(shapes) == 1 for shapes in groups.values())


def test_a_host_without_gpus_gets_only_what_it_can_do() -> None:
    planned = cases("default", node(0), HOST)
    assert {flow["method"] for one in planned for flow in one.case["flows"]} == {"memcpy", "pointer-chase"}
    assert all(one.skip is None for one in planned)


def test_a_driver_without_device_is_a_reason_in_every_gpu_row() -> None:
    planned = cases("default", node(0), replace(HOST, gpu_problem="no CUDA-capable device is detected"))
    reasons = {one.skip for one in planned if one.skip is not None}
    assert reasons == {"no GPU can be used: no CUDA-capable device is detected"}
    skipped = [one.case["name"] for one in planned if one.skip is not None]
    rows = [row.name for row in load_suite("default").rows if row.needs_gpu]
    assert skipped == rows


def test_a_single_gpu_skips_what_needs_a_peer_and_runs_the_rest() -> None:
    planned = cases("nvbandwidth", node(1))
    skipped = {one.case["name"]: one.skip for one in planned if one.skip is not None}
    assert skipped["d2d-write-ce"] == "needs at least two GPUs; 1 on made up"
    assert {"h2d-ce", "local-copy-ce", "h2d-latency-sm"} <= {one.case["name"] for one in planned if one.skip is None}
    assert {one.case["name"] for one in planned} == {row.name for row in load_suite("nvbandwidth").rows}


def test_selected_devices_alone_are_used() -> None:
    planned = cases("default", node(4), selected=Selection(devices=("gpu:1", "gpu:3")))
    used = {end["device"] for one in planned for flow in one.case["flows"] for end in _ends(flow)}
    assert used == {"gpu:1", "gpu:3", "numa:0", "numa:1"}
    only_host = cases("default", node(4), selected=Selection(devices=("numa:1",)))
    assert {end["device"] for one in only_host for flow in one.case["flows"] for end in _ends(flow)} == {"numa:1"}


def test_sizes_replace_those_of_bandwidth_rows_only() -> None:
    planned = cases("default", node(2), selected=Selection(sizes=(3000, 5000)))
    for one in planned:
        size = one.case["flows"][0]["bytes"]
        assert (size in (3000, 5000)) == (one.case["labels"]["figure"] != "latency"), one.id
    titles = {one.case["labels"]["title"] for one in planned if one.case["name"] == "local"}
    assert len(titles) == 4  # a table for each method and size


@pytest.mark.parametrize(
    "narrowed",
    [
        Selection(methods=("kernel-copy",)),
        Selection(sizes=(256 << 20,)),
        Selection(sizes=(4096, 256 << 20)),
        Selection(sizes=(512 << 20,), methods=("copy-engine",)),
        Selection(devices=("gpu:0", "gpu:1")),
    ],
)
@pytest.mark.parametrize("suite", ["default", "sweep"])
def test_what_a_request_narrows_keeps_its_id(suite: str, narrowed: Selection) -> None:
    """Else `compare` could not find it: of one id there is one case, and of one case one id."""

    def told(one: PlannedCase) -> str:
        kept = {key: value for key, value in one.case.items() if key not in ("id", "labels")}
        return json.dumps(kept, sort_keys=True)

    whole = {told(one): one.id for one in cases(suite, node(2))}
    ids = set(whole.values())
    part = {told(one): one.id for one in cases(suite, node(2), selected=narrowed)}
    assert len(set(part.values())) == len(part)
    shared = part.keys() & whole.keys()
    assert shared
    assert {one: part[one] for one in shared} == {one: whole[one] for one in shared}
    assert not {part[one] for one in part.keys() - whole.keys()} & ids, "another case has another id"


def test_another_clock_than_the_suites_is_in_the_id() -> None:
    whole = {one.id for one in cases("default", node(2))}
    by_host = {one.id: one.case["clock"] for one in cases("default", node(2), selected=Selection(clock="host"))}
    assert "default/d2d-by-size/nvlink-18:gpu:0>gpu:1/copy-engine/host-clock/64KiB" in by_host
    assert all(by_host[one] == "host" for one in by_host)
    usual = {one.id for one in cases("default", node(2)) if one.case["clock"] == "host"}
    assert whole & by_host.keys() == usual


def test_methods_narrow_rows() -> None:
    planned = cases("default", node(2), selected=Selection(methods=("kernel-copy",)))
    assert {flow["method"] for one in planned for flow in one.case["flows"]} == {"kernel-copy"}


def test_gpus_without_a_gpu_engine_are_skipped_with_the_reason() -> None:
    planned = cases("sweep", node(2), HOST)
    assert {one.skip for one in planned} == {
        "the host engine has no method copy-engine",
        "the host engine has no method kernel-copy",
    }


def test_described_gpus_without_peer_access_are_skipped_for_kernels_only() -> None:
    planned = cases("sweep", load_machine("s822lc"))
    across = [one for one in planned if "/gpu:0>gpu:3/" in one.id]
    reasons = {one.case["flows"][0]["method"]: one.skip for one in across}
    assert reasons == {"copy-engine": None, "kernel-copy": "gpu:0 and gpu:3 have no peer access [no-peer-access]"}


def test_a_parameter_that_the_engine_lacks_is_refused() -> None:
    catalog = replace(FULL, methods=dict.fromkeys(packaged_methods(), frozenset({"threads"})))
    with pytest.raises(LinkscopeError, match="has no parameter"):
        cases("default", node(0), catalog)


def test_nothing_to_run_is_an_error_that_says_why() -> None:
    with pytest.raises(LinkscopeError, match="needs GPUs and made up has none"):
        cases("nvbandwidth", node(0), HOST)
    with pytest.raises(LinkscopeError, match="ipc-copy needs a GPU in suite p2p-processes"):
        cases("p2p-processes", node(0), selected=Selection(methods=("ipc-copy",)))
    with pytest.raises(LinkscopeError, match="nothing of suite host is left"):
        cases("host", node(0), HOST, Selection(methods=("kernel-copy",)))


def test_naming_a_suite_twice_is_an_error() -> None:
    suite = load_suite("host")
    with pytest.raises(LinkscopeError, match="name each suite once"):
        expand([suite, suite], node(0), HOST, Selection())


def test_threads_follow_the_cpus_of_a_node() -> None:
    six = Node("six", (Device("numa:0", "numa", cpus=tuple(range(6))),), ())
    threads = {one.case["labels"]["x"] for one in cases("host", six, HOST) if one.case["name"] == "memcpy-by-threads"}
    assert threads == {1, 2, 4, 5}, "one CPU is left for the thread that starts and waits"
    many = Node("many", (Device("numa:0", "numa", cpus=tuple(range(64))),), ())
    most = {one.case["labels"]["x"] for one in cases("host", many, HOST) if one.case["name"] == "memcpy-by-threads"}
    assert max(most) == 62, "and of many another one for the process that supervises"
    halves = tuple(Device(f"numa:{i}", "numa", cpus=tuple(range(6 * i, 6 * i + 6))) for i in range(2))
    both = {one.case["labels"]["x"] for one in cases("host", Node("two", halves, ()), HOST)
            if one.case["name"] == "memcpy-by-threads"}  # fmt: skip
    assert both == {1, 2, 4, 6}, "the other node has one to spare"


def _ends(flow: dict[str, Any]) -> list[dict[str, Any]]:
    return [flow[end] for end in ("source", "destination") if end in flow]
