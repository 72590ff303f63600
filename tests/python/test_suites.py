"""The packaged suites, and suite files that people write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from launching import TINY_SUITE
from suite_text import OFFER, ROW
from test_expand import cases
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.node import Node
from linkscope.machine.recording import from_recording
from linkscope.plan.budget import SamplingOptions, estimate_s
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite, suite_names

ROOT = Path(__file__).resolve().parents[2]

RECORDED = ROOT / "tests" / "fixtures" / "machines" / "h200x4-recorded.json"
TOPICS = {
    "host-device", "peer", "duplex", "unified", "direct-access",
    "allocators", "latency", "strided", "calls", "contention",
    "p2p-processes", "collectives", "mpi-allocators", "torch",
}  # fmt: skip
STUDIES = {"commscope", "nvbandwidth", "pearson23", "schieffer24", "schieffer25", "scalarlm25"}
MIGRATING = {"page-fault", "prefetch", "fault-chase"}

NVBANDWIDTH_CASES = {
    "host_to_device_memcpy_ce", "device_to_host_memcpy_ce", "host_to_device_bidirectional_memcpy_ce",
    "device_to_host_bidirectional_memcpy_ce", "device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce",
    "device_to_device_bidirectional_memcpy_read_ce", "device_to_device_bidirectional_memcpy_write_ce",
    "all_to_host_memcpy_ce", "all_to_host_bidirectional_memcpy_ce", "host_to_all_memcpy_ce",
    "host_to_all_bidirectional_memcpy_ce", "all_to_one_write_ce", "all_to_one_read_ce", "one_to_all_write_ce",
    "one_to_all_read_ce", "host_to_device_memcpy_sm", "device_to_host_memcpy_sm",
    "host_to_device_bidirectional_memcpy_sm", "device_to_host_bidirectional_memcpy_sm",
    "device_to_device_memcpy_read_sm", "device_to_device_memcpy_write_sm",
    "device_to_device_bidirectional_memcpy_read_sm", "device_to_device_bidirectional_memcpy_write_sm",
    "all_to_host_memcpy_sm", "all_to_host_bidirectional_memcpy_sm", "host_to_all_memcpy_sm",
    "host_to_all_bidirectional_memcpy_sm", "all_to_one_write_sm", "all_to_one_read_sm", "one_to_all_write_sm",
    "one_to_all_read_sm", "host_device_latency_sm", "device_to_device_latency_sm", "device_local_copy",
    "device_to_device_memcpy_read_tma", "device_to_device_memcpy_write_tma",
    "device_to_device_bidirectional_memcpy_read_tma", "device_to_device_bidirectional_memcpy_write_tma",
    "device_local_copy_sm", "device_local_read_sm", "device_local_write_sm", "device_to_device_latency_tma",
    "device_local_copy_tma",
}  # fmt: skip


@pytest.mark.parametrize("name", suite_names())
def test_packaged_suites_load_and_ask_a_question(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.answers.endswith("?")


def test_nvbandwidths_cases_are_all_there_once() -> None:
    peers = [row.peer["case"] for row in load_suite("nvbandwidth").rows if row.peer is not None]
    assert len(peers) == 44
    assert set(peers) == NVBANDWIDTH_CASES


@pytest.mark.parametrize(
    ("case", "moved", "executor", "column", "figure"),
    [
        ("all_to_one_write_ce", "all to one", "source", "gpu:2", "aggregate"),
        ("all_to_one_read_ce", "one to all", "destination", "gpu:2", "aggregate"),
        ("all_to_one_read_sm", "one to all", "source", "gpu:2", "aggregate"),
        ("one_to_all_write_sm", "one to all", "source", "gpu:2", "aggregate"),
        ("one_to_all_read_ce", "all to one", "destination", "gpu:2", "aggregate"),
        ("one_to_all_read_sm", "all to one", "source", "gpu:2", "aggregate"),
    ],
)
def test_nvbandwidths_gathering_cases_move_and_drive_as_its_source_does(
    case: str, moved: str, executor: str, column: str, figure: str
) -> None:
    found = [one.case for one in cases("nvbandwidth", node(4)) if one.case["labels"]["peer"]["case"] == case]
    picked = next(one for one in found if one["labels"]["column"] == column)
    hub, rim = ("source", "destination") if moved == "one to all" else ("destination", "source")
    assert {flow[hub]["device"] for flow in picked["flows"]} == {column}
    assert {flow[rim]["device"] for flow in picked["flows"]} == {"gpu:0", "gpu:1", "gpu:3"}
    assert all(flow["executor"] == flow[executor]["device"] for flow in picked["flows"])
    assert picked["labels"]["figure"] == figure


def test_nvbandwidths_read_and_write_differ_in_the_driver_and_in_the_rows_meaning() -> None:
    by_peer = {(one.case["labels"]["peer"]["case"], one.case["labels"]["row"], one.case["labels"]["column"]): one.case
               for one in cases("nvbandwidth", node(4))}  # fmt: skip
    read = by_peer["device_to_device_memcpy_read_ce", "gpu:1", "gpu:3"]["flows"][0]
    write = by_peer["device_to_device_memcpy_write_ce", "gpu:1", "gpu:3"]["flows"][0]
    assert (read["source"]["device"], read["destination"]["device"], read["executor"]) == ("gpu:3", "gpu:1", "gpu:1")
    assert (write["source"]["device"], write["destination"]["device"], write["executor"]) == ("gpu:1", "gpu:3", "gpu:1")
    chase = by_peer["device_to_device_latency_sm", "gpu:1", "gpu:3"]["flows"][0]
    assert (chase["source"]["device"], chase["executor"]) == ("gpu:3", "gpu:1")
    assert "destination" not in chase


def test_nvbandwidths_interference_is_sustained_load_and_its_split_kernels_are_halved() -> None:
    for one in cases("nvbandwidth", node(4)):
        peer, flows = one.case["labels"]["peer"]["case"], one.case["flows"]
        measured = [flow for flow in flows if flow.get("role", "measured") == "measured"]
        if peer in ("all_to_host_memcpy_ce", "host_to_all_memcpy_sm"):
            assert (len(measured), len(flows), one.case["load"]) == (4, 4, "sustained")
        if peer == "host_to_all_bidirectional_memcpy_ce":
            assert (len(measured), len(flows), one.case["load"]) == (4, 8, "sustained")
        if "bidirectional" in peer and peer.endswith("sm") and "device_to_device" not in peer:
            assert one.case["labels"]["figure"] == "half"
            assert {flow["method"] for flow in flows} == {"kernel-exchange"}


@pytest.fixture(scope="module")
def h200s() -> Node:
    return from_recording(RECORDED)


EXPANDED: dict[tuple[object, ...], list[PlannedCase]] = {}
"""What tests of this file share: cases by suite, machine, sizes, hosts and slots."""


def whole(suite: str, machine: Node, *sizes: int, hosts: int = 1, slots: int = 0) -> list[PlannedCase]:
    """The suite's cases with an engine that lacks nothing the suite names; of these ``sizes`` if given."""
    key = (suite, machine.name, sizes, hosts, slots)
    if key not in EXPANDED:
        chosen = Selection(sizes=sizes, hosts=hosts, slots=slots)
        EXPANDED[key] = expand([load_suite(suite)], machine, whole_catalog(load_suite(suite)), chosen)
    return EXPANDED[key]


def of_row(planned: list[PlannedCase], row: str) -> list[dict[str, Any]]:
    return [one.case for one in planned if one.case["name"] == row and one.skip is None]


def test_what_people_look_for_is_there() -> None:
    assert set(suite_names()) >= TOPICS | STUDIES


@pytest.mark.parametrize("name", sorted(TOPICS | STUDIES))
def test_every_row_has_cases_on_four_gpus_and_the_suite_takes_minutes(name: str, h200s: Node) -> None:
    planned = whole(name, h200s)
    rows = set(load_suite(name).row_names)
    assert {one.case["name"] for one in planned} == rows
    most = 900 if name == "commscope" else 300
    assert sum(estimate_s(one.case, SamplingOptions()) for one in planned if one.skip is None) <= most


@pytest.mark.parametrize("name", sorted(TOPICS | STUDIES))
def test_only_rows_for_other_nodes_are_skipped_beforehand_on_four_h200(name: str, h200s: Node) -> None:
    """Rows for AMD's GPUs, for GPUs that share a package, and from one NUMA node to another; sizes no four share."""
    rows = {row.name: row for row in load_suite(name).rows}
    for row in (rows[one.case["name"]] for one in whole(name, h200s) if one.skip is not None):
        between_nodes = row.source.on == row.destination.on == "numa"
        shared_out = row.collectives and row.sizes[0] < 16
        assert row.vendor == "amd" or row.pattern == "same-package" or between_nodes or shared_out, row.name


def test_pages_that_are_to_migrate_are_not_bound_where_they_lie() -> None:
    for name in suite_names():
        for row in load_suite(name).rows:
            if MIGRATING & set(row.methods):
                assert row.source.placement == "first-touch", f"{name}/{row.name}"
            for beside in row.background:
                if beside.method in MIGRATING:
                    assert beside.source is not None
                    assert beside.source.placement == "first-touch", f"{name}/{row.name}"


def test_prefetches_to_the_host_are_driven_by_the_gpu_that_has_the_pages(h200s: Node) -> None:
    flows = [case["flows"][0] for case in of_row(whole("unified", h200s), "prefetch-d2h")]
    assert flows
    for flow in flows:
        assert flow["executor"] == flow["source"]["device"] == "gpu:0"
        assert "destination" not in flow


def test_both_readings_of_a_stream_copy_on_peer_memory_are_there(h200s: Node) -> None:
    planned = whole("direct-access", h200s)
    both, sources = of_row(planned, "stream-peer-all"), of_row(planned, "stream-peer-sources")
    assert len(both) == len(sources) == 12 * 4
    for case in both:
        (flow,) = case["flows"]
        assert flow["source"]["device"] == flow["destination"]["device"] != flow["executor"]
    for case in sources:
        (flow,) = case["flows"]
        assert flow["source"]["device"] != flow["destination"]["device"] == flow["executor"]


@pytest.mark.parametrize(
    "row",
    [
        "host-to-gpu",
        "gpu-to-host",
        "copy-engines-gpu-to-host",
        "by-size-gpu-to-host",
        "by-size-gpu-to-host-large",
    ],
)
def test_messages_between_host_and_gpu_memory_cross_the_link_between_apus(row: str) -> None:
    """schieffer25 Fig. 10 to 12 are of two APUs: within one, both memories are the same."""
    machine = load_machine("mi300a")
    found = of_row(whole("mpi-allocators", machine), row)
    flows = [flow for case in found for flow in case["flows"] if case["labels"]["tier"] == "dual"]
    memories = {(flow["source"]["memory"], flow["destination"]["memory"]) for case in found for flow in case["flows"]}
    assert {(flow["source"]["memory"], flow["destination"]["memory"]) for flow in flows} == memories
    for flow in flows:
        packages = {machine.device(flow[end]["device"]).package for end in ("source", "destination")}
        assert len(packages) == 2


def test_every_allocator_of_a_gpu_is_paired_with_every_other() -> None:
    kinds = ("device", "managed", "pool", "vmm", "coarse-grained", "fine-grained")
    planned = whole("mpi-allocators", load_machine("mi300a"))
    rows = ("gpu-to-gpu", "gpu-to-gpu-grained", "gpu-to-gpu-from-grained")
    pairs = [
        (flow["source"]["memory"], flow["destination"]["memory"])
        for row in rows
        for case in of_row(planned, row)
        for flow in case["flows"]
    ]
    assert sorted(pairs) == sorted((source, destination) for source in kinds for destination in kinds)


def test_interference_rows_run_the_traffic_they_name(h200s: Node) -> None:
    planned = whole("contention", h200s)
    others = of_row(planned, "h2d-beside-others")
    assert len(others) == 4
    for case in others:
        measured, *background = case["flows"]
        assert {flow["role"] for flow in background} == {"background"}
        gpus = {f"gpu:{i}" for i in range(4)} - {measured["destination"]["device"]}
        assert {flow["destination"]["device"] for flow in background} == gpus
    for case in of_row(planned, "chase-under-peer-load"):
        chase, load = case["flows"]
        assert (chase["method"], load["method"]) == ("pointer-chase", "copy-engine")
        assert load["source"]["device"] == chase["source"]["device"]
        assert load["destination"]["device"] == chase["executor"]


def test_variants_of_the_environment_are_cases_of_their_own_on_the_vendor_they_are_for(h200s: Node) -> None:
    (skipped,) = [one for one in whole("peer", h200s) if one.case["name"] == "without-copy-engines"]
    assert skipped.skip is not None
    (order,) = {one.case["environment"].get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID" for one in whole("peer", h200s)
                if one.case["name"] == "device-order" and "pci-bus-id" in one.id}  # fmt: skip
    assert order


@pytest.mark.parametrize(
    ("suite", "row"),
    [
        ("schieffer25", "message-mpi"),
        ("schieffer25", "messages-mpi"),
        ("schieffer25", "messages-mpi-large"),
        ("p2p-processes", "gpu-bandwidth-mpi"),
        ("p2p-processes", "gpu-bandwidth-large"),
    ],
)
def test_an_mpis_own_staging_stands_beside_its_way_from_gpu_to_gpu(suite: str, row: str, h200s: Node) -> None:
    def settings(machine: Node) -> set[tuple[tuple[str, str], ...]]:
        planned = [one for one in whole(suite, machine) if one.case["name"] == row]
        assert all("staging" not in flow.get("parameters", {}) or flow["parameters"]["staging"] == "none"
                   for one in planned for flow in one.case["flows"])  # fmt: skip
        return {tuple(sorted(one.environment.items())) for one in planned}

    of_open_mpi = {(("OMPI_MCA_btl_smcuda_use_cuda_ipc", "0"),)} if suite == "p2p-processes" else set()
    assert settings(h200s) == {(), *of_open_mpi}
    assert settings(load_machine("mi300a")) == {
        (),
        (("MPICH_GPU_IPC_THRESHOLD", "0"),),
        (("MPICH_GPU_IPC_ENABLED", "0"),),
    }


def test_host_streaming_grows_from_one_gpu_to_all(h200s: Node) -> None:
    cases = of_row(whole("schieffer24", h200s), "host-stream-spread")
    assert [case["labels"]["x"] for case in cases] == [1, 2, 4]
    for case in cases:
        assert len(case["flows"]) == case["labels"]["x"]
        assert all(flow["source"]["device"] == flow["destination"]["device"] == "numa:0" for flow in case["flows"])
        assert all(flow["executor"].startswith("gpu:") for flow in case["flows"])


def test_chases_reach_several_times_the_last_level_cache() -> None:
    for suite, row_name in (("latency", "chase-gpu-by-size"), ("latency-host", "chase-by-size")):
        (row,) = [row for row in load_suite(suite).rows if row.name == row_name]
        assert row.sizes[0] == 4 << 10
        assert row.sizes[-1] >= 3 * 314572800


def test_pearsons_tiers_are_one_curve_each_on_frontier() -> None:
    planned = whole("pearson23", load_machine("frontier"))
    series = {case["labels"]["series"] for case in of_row(planned, "explicit-d2d")}
    assert len(series) >= 3


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [", "is not YAML"),
        ("[]", "line 1: Expected `object`, got `array`"),
        ("name: x\nanswers: y", "has neither rows nor includes"),
        (TINY_SUITE.replace("pattern: first-device", "pattern: spiral"), "unknown pattern 'spiral'"),
        (TINY_SUITE.replace("sizes: 4K:128K:2x", "sizes: huge"), "malformed size 'huge'"),
        (TINY_SUITE.replace("executor: source", "executor: me"), "executor"),
        (
            TINY_SUITE.replace("title: Copies", "title: Copies\n    colour: red"),
            r"line 7: rows\[0\].colour: ",
        ),
        (TINY_SUITE + TINY_SUITE.partition("rows:\n")[2], "two rows are named 'copy'"),
        (TINY_SUITE.replace("on: numa", "on: disk"), r"rows\[0\].source.on: 'disk' is none of gpu, numa, "),
        (TINY_SUITE.replace("sizes: 4K:128K:2x", "sizes: 4K:1K:2x"), "row copy: malformed range '4K:1K:2x'"),
        (TINY_SUITE.replace("title: Copies", "title: Copies\n    x: gpus"), "x: gpus wants a pattern that grows"),
        (
            TINY_SUITE.replace("title: Copies", "title: Copies\n    parameters: {threads: '1:x:2x'}"),
            "row copy: malformed count",
        ),
        (
            TINY_SUITE.replace("title: Copies", "title: Copies\n    clock: sun"),
            r"rows\[0\].clock: 'sun' is none of device, ",
        ),
        (
            TINY_SUITE.replace("memory: pageable", "memory: {lies_on: host, colour: red}"),
            r"line \d+: rows\[0\].\w+.memory.colour: no field has that name",
        ),
        (TINY_SUITE.replace("memory: pageable", "memory: {uncached: no}"), "memory.lies_on: is missing"),
        (TINY_SUITE.replace("memory: pageable", "memory: {lies_on: gpu, uncached: yes}"), "none has these traits"),
        (TINY_SUITE + "  - " + "[" * 100_000, "nested more than 32 deep|maximum nesting depth"),
        (TINY_SUITE.replace("title: Copies", "title: &me [*me]"), "holds itself"),
        (
            "0: &a0 [0]\n" + "".join(f"{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)),
            "more than 1,000,000 values",
        ),
    ],
)
def test_a_wrong_suite_file_is_one_clear_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(LinkscopeError, match=complaint) as refusal:
        load_suite(str(path))
    assert "\n" not in str(refusal.value)


def test_a_suites_point_budget_holds_for_its_rows_unless_they_have_their_own(tmp_path: Path) -> None:
    rows = [ROW | {"name": "plain"}, ROW | {"name": "own", "point_budget_s": 0.1}]
    path = tmp_path / "s.yaml"
    path.write_text(yaml.dump({"name": "s", "answers": "A question?", "point_budget_s": 0.4, "rows": rows}))
    cases = expand([load_suite(str(path))], node(gpus=1), OFFER, Selection())
    assert {one.case["name"]: one.case["point_budget_s"] for one in cases} == {"plain": 0.4, "own": 0.1}


def test_a_missing_suite_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="No such file"):
        load_suite(str(tmp_path / "none.yaml"))


def test_a_memory_nobody_knows_is_one_clear_line_and_one_the_engine_lacks_a_reason(tmp_path: Path) -> None:
    def planned(memory: str) -> list[PlannedCase]:
        path = tmp_path / f"{memory}.yaml"
        path.write_text(TINY_SUITE.replace("memory: pageable", f"memory: {memory}"))
        suite = load_suite(str(path))
        return expand([suite], node(2), replace(whole_catalog(suite), memories=frozenset({"pageable"})), Selection())

    assert {one.skip for one in planned("vmm")} == {"the cuda engine has no memory vmm"}
    with pytest.raises(LinkscopeError, match="row copy: unknown memory 'gold'"):
        planned("gold")


@pytest.mark.parametrize("machine", sorted(machine_names()))
def test_every_suite_expands_on_every_described_machine(machine: str) -> None:
    """At one size: test_expand.py has the plans of all sizes on three of them."""
    described = load_machine(machine)
    for name in sorted(TOPICS | STUDIES):
        assert whole(name, described, 1 << 20), name


def test_kernels_that_pull_managed_pages_to_themselves_say_so() -> None:
    """Loads and stores of managed memory that nothing binds bring its pages along: no title may call that a path."""
    for name in suite_names():
        for row in load_suite(name).rows:
            free = [end for end in (row.source, row.destination) if "managed" in end.memories and end.placement]
            loads = [method for method in row.methods if method not in MIGRATING and not method.startswith("copy-")]
            if free and loads and "first-touch" not in loads:
                assert "again" in row.title or "memcpy" in row.title, f"{name}/{row.name}"


@pytest.mark.parametrize("name", suite_names())
def test_large_messages_have_few_under_way(name: str) -> None:
    """64 of 1 GiB would take a minute a sample on host memory, and end as a process that hangs."""
    for row in load_suite(name).rows:
        calls = row.parameters.get("call", [])
        if {"window", "both-ways"} & {*(calls if isinstance(calls, list) else [calls])}:
            assert max(row.sizes) * int(row.parameters.get("window", 64)) <= 4 << 30, row.name


def test_collectives_from_graphs_of_one_call_stand_beside_graphs_of_twenty() -> None:
    rows = [row for row in load_suite("collectives").rows if row.table == "by-size" and "graph" in str(row.parameters)]
    for method in ("xccl-collective", "direct-collective", "torch-collective"):
        found = [row.parameters.get("recorded", 1) for row in rows if row.methods == (method,)]
        assert {calls for some in found for calls in (some if isinstance(some, list) else [some])} == {1, 20}


def test_pytorchs_collectives_are_all_there_from_graphs_but_none_that_could_not_be_checked() -> None:
    rows = [row for row in load_suite("collectives").rows if row.methods == ("torch-collective",)]
    graphs = [row for row in rows if row.parameters.get("form") == "graph"]
    assert {kind for row in graphs for kind in row.collectives} == {
        "all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all",
    }  # fmt: skip
    assert {"device"} == {clock for row in graphs for clock in row.clocks}
    for row in graphs:
        if "reduce" in row.collectives:
            assert "recorded" not in row.parameters, row.name


def over(hosts: int, machine: Node, slots: int = 0) -> dict[str, list[PlannedCase]]:
    """Cases of suite collectives by row, where processes are started on so many hosts that have so many slots."""
    by_row: dict[str, list[PlannedCase]] = {}
    for one in whole("collectives", machine, hosts=hosts, slots=slots):
        by_row.setdefault(one.case["name"], []).append(one)
    return by_row


def members_of(planned: PlannedCase) -> list[tuple[str, int]]:
    return [(member["device"], member.get("rank", 0)) for member in planned.case["flows"][0]["members"]]


def test_several_hosts_have_collectives_on_the_gpus_of_one_and_of_all(h200s: Node) -> None:
    found = over(2, h200s)["xccl-processes"]
    assert {len(members_of(one)) for one in found} == {4, 8}
    eight = next(one for one in found if len(members_of(one)) == 8 and one.skip is None)
    assert members_of(eight) == [(f"gpu:{rank % 4}", rank) for rank in range(8)]
    assert eight.case["processes"] == 8


def test_one_process_and_mapped_memory_stay_on_one_host(h200s: Node) -> None:
    found = over(2, h200s)
    assert {len(members_of(one)) for one in found["xccl-calls"]} == {4}
    eight = [one for one in found["direct-calls"] if len(members_of(one)) == 8]
    assert {one.skip for one in eight} == {"direct-collective maps its members' memory: they are on one host"}
    alone = over(1, h200s)
    assert {one.id for row in alone.values() for one in row} < {one.id for row in found.values() for one in row}


def test_more_cases_than_a_plan_holds_are_refused_before_they_are_built(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    sizes = ",".join(str(size) for size in range(1, 10_001))
    path.write_text(
        TINY_SUITE.replace("4K:128K:2x", sizes).replace(
            "title: Copies", "title: Copies\n    flows: '1:64:1.01x'\n    cache: [rotated, warm]"
        )
    )
    suite = load_suite(str(path))
    with pytest.raises(LinkscopeError, match=r"row copy: with it the plan has 1,280,000 cases; 1,000,000 are the most"):
        expand([suite], node(2), whole_catalog(suite), Selection())


@pytest.mark.parametrize(
    ("hosts", "slots", "by_size", "by_members"),
    [
        (4, 32, {2, 4, 32}, {2, 4, 8, 16, 32}),
        (1, 6, {2, 4, 6}, {2, 4, 8, 16, 32, 64}),
        (1, 0, {2, 4}, {2, 4, 8, 16, 32, 64}),
    ],
)
def test_collectives_of_cpus_have_as_many_members_as_there_are_slots(
    h200s: Node, hosts: int, slots: int, by_size: set[int], by_members: set[int]
) -> None:
    found = over(hosts, h200s, slots)
    for row, counts in {"host-mpi": by_size, "host-mpi-by-members": by_members, "barrier-mpi": by_members}.items():
        assert {one.case["processes"] for one in found[row]} == counts, row


def test_more_members_than_sums_are_exact_for_are_left_to_wide_types(h200s: Node) -> None:
    of_all = [
        one
        for one in over(4, h200s, 256)["host-mpi"]
        if one.case["processes"] == 256 and one.case["flows"][0]["bytes"] > 1024
    ]
    assert of_all
    assert {one.skip for one in of_all} == {None}
