"""Processes and collectives in suites: ranks, members, sizes that all can share, and what is wrong with a row."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from schema_files import load_schema
from suite_text import OFFER, expanded, suite_of
from test_patterns import lay, node

from linkscope.documents.sizes import parse_sizes
from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Paths
from linkscope.plan.budget import SamplingOptions, estimate_s
from linkscope.plan.candidates import Candidates
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.select import Selection, parse_clock
from linkscope.plan.suites import load_suite, suite_names

Json = dict[str, Any]
METHODS = ("mpi", "mpi-collective", "xccl", "xccl-collective", "direct-collective", "torch-collective", "ipc-copy")
KNOWN = frozenset({"call", "staging", "window", "form", "launch", "type", "in_place", "blocks"})
WITH_PROCESSES = EngineCatalog("cuda", {**OFFER.methods, **dict.fromkeys(METHODS, KNOWN)}, OFFER.memories)
GPU = {"on": "gpu", "memory": "device"}
MESSAGE: Json = {
    "source": GPU,
    "destination": GPU,
    "method": "mpi",
    "executor": "source",
    "processes": "each",
    "clock": "host",
}
GATHERING: Json = {
    "source": None,
    "destination": None,
    "executor": None,
    "collective": "all-reduce",
    "members": GPU,
    "pattern": "all",
    "method": "xccl-collective",
    "clock": "batch",
}


def cases(row: Json, machine: Node | None = None) -> list[Json]:
    """The row's cases, all of which must be ready to run."""
    planned = expanded(row, machine, WITH_PROCESSES)
    assert [one.skip for one in planned if one.skip is not None] == []
    plan = {"schema": 1, "options": {}, "cases": [one.case for one in planned]}
    Draft202012Validator(load_schema("plan")).validate(plan)
    return [one.case for one in planned]


def reasons(row: Json, machine: Node | None = None) -> set[str | None]:
    return {one.skip for one in expanded(row, machine, WITH_PROCESSES)}


def ranks(flow: Json) -> tuple[int, ...]:
    ends = [flow[end] for end in ("source", "destination") if end in flow]
    return tuple(end.get("rank", 0) for end in (flow, *ends, *flow.get("members", ())))


def test_each_end_of_a_message_lies_in_a_process_of_its_own() -> None:
    there, back = cases(MESSAGE)
    assert (there["processes"], back["processes"]) == (2, 2)
    assert ranks(there["flows"][0]) == ranks(back["flows"][0]) == (0, 0, 1)
    assert back["flows"][0]["source"]["device"] == "gpu:1"


def test_who_pulls_drives_from_the_destinations_process() -> None:
    case, _ = cases({**MESSAGE, "method": "ipc-copy", "executor": "destination"})
    assert ranks(case["flows"][0]) == (1, 0, 1)
    assert case["flows"][0]["executor"] == "gpu:1"


def test_both_directions_share_two_processes_and_a_ring_has_one_for_each_gpu() -> None:
    (both,) = cases({**MESSAGE, "pattern": "both-ways"})
    assert [ranks(flow) for flow in both["flows"]] == [(0, 0, 1), (1, 1, 0)]
    (ring,) = cases({**MESSAGE, "pattern": "ring"}, node(3))
    assert ring["processes"] == 3
    assert [ranks(flow) for flow in ring["flows"]] == [(0, 0, 1), (1, 1, 2), (2, 2, 0)]


def test_two_processes_may_share_a_device() -> None:
    host = {"on": "numa", "memory": "pageable"}
    (case,) = cases({**MESSAGE, "source": host, "destination": host, "pattern": "every-tier"}, node(0, numa=1))
    assert ranks(case["flows"][0]) == (0, 0, 1)
    assert case["flows"][0]["source"]["device"] == case["flows"][0]["destination"]["device"] == "numa:0"


def test_one_process_is_not_mentioned() -> None:
    for row in ({**MESSAGE, "processes": "one", "method": "xccl"}, GATHERING):
        for case in cases(row):
            assert "processes" not in case
            assert set(ranks(case["flows"][0])) == {0}


def test_processes_are_an_axis_that_lines_name() -> None:
    planned = cases({**MESSAGE, "method": "xccl", "processes": ["one", "each"], "show": "curve"})
    assert [case.get("processes", 1) for case in planned] == [1, 2, 1, 2]
    assert "one process" in planned[0]["labels"]["series"]
    assert "a process each" in planned[1]["labels"]["series"]
    assert planned[1]["id"].split("/")[3] == "a-process-each"


def test_processes_of_several_devices_have_as_many_each() -> None:
    (case,) = cases({**GATHERING, "processes": 2}, node(4))
    assert [(end["device"], end.get("rank", 0)) for end in case["flows"][0]["members"]] == [
        ("gpu:0", 0),
        ("gpu:1", 0),
        ("gpu:2", 1),
        ("gpu:3", 1),
    ]
    assert case["processes"] == 2
    planned = cases({**GATHERING, "processes": [2, "each"], "show": "curve"}, node(4))
    assert ["2 processes" in one["labels"]["series"] for one in planned] == [True, False]
    assert reasons({**GATHERING, "processes": 3}, node(4)) == {"4 members do not divide into 3 processes"}


def test_the_members_of_a_collective_are_the_devices_in_order() -> None:
    (case,) = cases({**GATHERING, "processes": "each"}, node(4))
    (flow,) = case["flows"]
    assert [(end["device"], end.get("rank", 0)) for end in flow["members"]] == [(f"gpu:{i}", i) for i in range(4)]
    assert (flow["executor"], flow["bytes"], case["processes"]) == ("gpu:0", 1 << 20, 4)
    assert flow["parameters"]["collective"] == "all-reduce"
    assert "source" not in flow
    assert case["clock"] == "batch"


def test_collectives_at_once_are_flows_of_one_case_on_the_same_members() -> None:
    one, two = cases({**GATHERING, "flows": [1, 2], "clock": "device", "show": "curve", "x": "flows"}, node(4))
    assert (len(one["flows"]), len(two["flows"])) == (1, 2)
    assert two["flows"][0] == two["flows"][1] == one["flows"][0]
    assert two["flows"][0] is not two["flows"][1], "what a model settles of one is not of the other"
    assert (one["labels"]["x"], two["labels"]["x"]) == (1, 2)


def test_the_device_sets_are_those_of_the_mi250x_study() -> None:
    frontier = load_machine("frontier")
    everything = frozenset(device.id for device in frontier.devices)
    layouts = PATTERNS["device-sets"](Candidates(Paths(frontier), "gpu", "gpu", everything))
    assert [len(layout.members) for layout in layouts] == [2, 3, 4, 5, 6, 7, 8]
    assert [int(member.split(":")[1]) for member in layouts[-1].members] == [0, 1, 6, 7, 2, 3, 4, 5]
    assert [layout.members for layout in layouts] == [layouts[-1].members[:count] for count in range(2, 9)]


def test_among_equals_sets_grow_by_number() -> None:
    assert [layout.members for layout in lay("device-sets")] == [layout.members for layout in lay("growing")]
    assert [layout.column for layout in lay("growing")] == ["2 GPUs", "3 GPUs", "4 GPUs"]


def hosts(nodes: int, cpus: int) -> Node:
    each = cpus // nodes
    devices = [Device(f"numa:{i}", "numa", cpus=tuple(range(i * each, (i + 1) * each))) for i in range(nodes)]
    return Node("made up", tuple(devices), ())


HOSTS = {**GATHERING, "method": "mpi-collective", "processes": "each"}


def test_members_on_the_host_fill_the_numa_nodes_evenly() -> None:
    (case,) = cases({**HOSTS, "members": {"on": "numa", "memory": "pageable", "count": 4}}, hosts(2, 8))
    assert [end["device"] for end in case["flows"][0]["members"]] == ["numa:0", "numa:0", "numa:1", "numa:1"]
    (pair,) = cases({**HOSTS, "members": {"on": "numa", "memory": "pageable"}}, hosts(1, 8))
    assert [end["device"] for end in pair["flows"][0]["members"]] == ["numa:0", "numa:0"]


def test_counts_of_members_are_an_axis_up_to_the_cpus() -> None:
    row = {**HOSTS, "members": {"on": "numa", "memory": "pageable", "count": "2:max:2x"}}
    assert [case["processes"] for case in cases(row, hosts(1, 6))] == [2, 4, 6]


def test_more_processes_than_cpus_are_skipped() -> None:
    row = {**HOSTS, "members": {"on": "numa", "memory": "pageable", "count": [2, 4]}}
    assert reasons(row, hosts(1, 2)) == {None, "4 processes want a CPU each; made up shows 2"}


def test_a_single_gpu_has_nobody_to_gather_with() -> None:
    assert reasons(GATHERING, node(1)) == {"needs at least two GPUs; 1 on made up"}
    assert reasons(MESSAGE, node(1)) == {"needs at least two GPUs; 1 on made up"}


def test_an_interface_that_is_not_there_is_a_skip_with_its_reason() -> None:
    catalog = EngineCatalog("cuda", WITH_PROCESSES.methods, WITH_PROCESSES.memories, lacking={"mpi": "no MPI library"})
    assert {one.skip for one in expanded(MESSAGE, None, catalog)} == {"mpi: no MPI library"}


@pytest.mark.parametrize(
    ("collective", "members", "asked", "planned"),
    [
        ("all-reduce", 3, 1 << 20, 1 << 20),
        ("all-gather", 2, 1 << 20, 1 << 20),
        ("all-gather", 3, 1 << 20, (1 << 20) // 48 * 48),
        ("reduce-scatter", 3, 32, 24),
        ("all-to-all", 4, 16, 16),
    ],
)
def test_sizes_are_cut_to_whole_blocks(collective: str, members: int, asked: int, planned: int) -> None:
    (case,) = cases({**GATHERING, "collective": collective, "sizes": asked}, node(members))
    assert case["flows"][0]["bytes"] == planned


def test_a_size_that_members_cannot_share_is_skipped() -> None:
    row = {**GATHERING, "collective": ["all-reduce", "all-gather"], "sizes": "4", "parameters": {"type": "float32"}}
    assert reasons(row, node(4)) == {None, "4 B is not a whole number of float32 for each of 4 members"}
    assert reasons({**GATHERING, "sizes": "2"}, node(2)) == {"2 B is not a whole number of float32"}
    (half,) = cases({**GATHERING, "sizes": "2", "parameters": {"type": "bfloat16"}}, node(2))
    assert half["flows"][0]["bytes"] == 2


def test_lines_of_collectives_always_say_who_calls_and_what_times_them() -> None:
    row = {**GATHERING, "show": "curve", "parameters": {"form": "eager", "launch": "one-thread"}}
    (case,) = cases(row, node(4))
    assert case["labels"]["series"] == "4 GPUs, xccl-collective, one process, eager, one-thread, batch clock"


@pytest.mark.parametrize(
    ("clock", "launch"), [("batch", "thread-per-gpu"), ("host", "thread-per-gpu"), ("device", "one-thread")]
)
def test_lines_of_direct_collectives_say_who_launches(clock: str, launch: str) -> None:
    row = {**GATHERING, "method": "direct-collective", "show": "curve", "parameters": {"form": "eager"}}
    (case,) = cases({**row, "clock": clock}, node(4))
    assert case["labels"]["series"] == f"4 GPUs, direct-collective, one process, eager, {launch}, {clock} clock"
    assert "launch" not in case["flows"][0]["parameters"]
    (apart,) = cases({**row, "clock": clock, "processes": "each"}, node(4))
    assert apart["labels"]["series"] == f"4 GPUs, direct-collective, a process each, eager, {clock} clock"


def test_a_list_of_direct_collectives_says_who_launches_where_it_stands_beside_others() -> None:
    row = {**GATHERING, "method": "direct-collective", "table": "shared", "parameters": {"form": "eager"}}
    (case,) = cases(row, node(4))
    assert list(case["labels"]["variant"]) == ["method", "processes", "form", "launch", "clock"]
    assert case["labels"]["variant"]["launch"] == "thread-per-gpu"


def test_lines_say_that_calls_work_in_place() -> None:
    row = {**GATHERING, "method": "torch-collective", "processes": "each", "show": "curve"}
    (case,) = cases({**row, "parameters": {"in_place": "yes"}}, node(4))
    assert case["labels"]["series"] == "4 GPUs, torch-collective, a process each, in place, batch clock"


def test_collectives_of_other_devices_or_memories_are_tuned_apart() -> None:
    frontier = load_machine("frontier")

    def group(members: Json, *devices: str) -> str:
        suite = suite_of({**GATHERING, "members": members})
        catalog = EngineCatalog("cuda", WITH_PROCESSES.methods, WITH_PROCESSES.memories)
        (one,) = expand([suite], frontier, catalog, Selection(devices=devices))
        (flow,) = one.case["flows"]
        assert tuple(member["device"] for member in flow["members"]) == devices
        return str(flow["tuning_group"])

    near, far = ("gpu:0", "gpu:1", "gpu:2"), ("gpu:0", "gpu:1", "gpu:6")
    touched = [{"on": "gpu", "memory": "managed", "first_touch": word} for word in ("cpu", "gpu")]
    groups = [group(GPU, *near), group(GPU, *far), *(group(members, *near) for members in touched)]
    assert len(set(groups)) == 4
    assert group(GPU, *near) == groups[0]


def test_collectives_have_a_table_each_and_figures_too() -> None:
    row = {**GATHERING, "collective": ["all-reduce", "reduce"], "show": "curve", "figure": ["latency", "bus"]}
    first, second = cases({**row, "table": "by-size"}, node(2))
    assert [first["labels"]["title"], second["labels"]["title"]] == ["Row, all-reduce", "Row, reduce"]
    assert (first["labels"]["figure"], first["labels"]["figures"]) == ("latency", ["latency", "bus"])
    assert first["labels"]["table"] == "by-size"


def test_members_can_be_the_x_of_a_curve() -> None:
    planned = cases({**GATHERING, "pattern": "growing", "show": "curve", "x": "members"}, node(4))
    assert [case["labels"]["x"] for case in planned] == [2, 3, 4]
    assert {case["labels"]["series"] for case in planned} == {"xccl-collective, one process, batch clock"}


def test_a_barrier_moves_nothing() -> None:
    (case,) = cases({**GATHERING, "collective": "barrier", "sizes": None, "method": "direct-collective"}, node(2))
    assert case["flows"][0]["bytes"] == 0


def test_messages_may_be_empty() -> None:
    planned = cases({**MESSAGE, "sizes": "0,1:4:2x"})
    assert sorted({case["flows"][0]["bytes"] for case in planned}) == [0, 1, 2, 4]
    assert parse_sizes("0,1:1G:2x", least=0)[:3] == [0, 1, 2]


@pytest.mark.parametrize("row", [GATHERING, {**MESSAGE, "method": "copy-engine"}])
def test_empty_messages_of_a_method_that_sends_none_are_one_clear_line(row: Json) -> None:
    with pytest.raises(LinkscopeError, match=f"{row['method']} takes no empty messages .those do: mpi") as refusal:
        cases({**row, "sizes": "0"})
    assert "\n" not in str(refusal.value)


def test_asked_sizes_reach_messages_and_collectives_and_empty_ones_only_who_takes_them() -> None:
    suite = suite_of({**MESSAGE, "figure": "latency"}, GATHERING, {})
    selected = Selection(sizes=(0, 64))
    rows = selected.rows_of(suite)
    assert [row.sizes for row in rows] == [(0, 64), (64,), (64,)]
    assert [row.methods for row in Selection(sizes=(0,)).rows_of(suite)] == [("mpi",)]


def test_the_batch_clock_can_be_asked_for() -> None:
    assert parse_clock("batch") == "batch"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"members": None}, "members: is missing"),
        ({"pattern": "pairs"}, "pattern pairs lays out flows between two ends"),
        ({"source": GPU}, "source: a collective has only members"),
        ({"clock": None}, "clock is missing"),
        ({"collective": ["barrier", "reduce"]}, "barrier moves nothing"),
        ({"collective": "gossip"}, "'gossip' is none of"),
        ({"pattern": "growing", "members": {**GPU, "count": 2}}, "says itself how many"),
        ({"x": "gpus", "show": "curve"}, "x: gpus is neither bytes, members nor flows"),
        ({"members": {"on": "gpu"}}, "members.memory: is missing"),
    ],
)
def test_a_wrong_collective_is_one_clear_line(change: Json, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint) as refusal:
        suite_of({**GATHERING, **change})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"pattern": "all"}, "pattern all lays out the members of a collective"),
        ({"figure": "bus"}, "only collectives have"),
        ({"processes": 2}, "a number is for the members of a collective"),
        ({"table": "shared", "clock": None}, "clock is missing"),
        ({"executor": None}, "executor: is missing"),
    ],
)
def test_a_wrong_message_is_one_clear_line(change: Json, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint):
        suite_of({**MESSAGE, **change})


def test_a_described_node_plays_processes_as_one_and_each_line_once() -> None:
    described = load_machine("h200x4")
    row = {**GATHERING, "processes": ["one", "each"], "clock": ["batch", "host"], "show": "curve", "table": "t"}
    catalog = EngineCatalog("modelled", {"xccl-collective": frozenset({"type"})}, OFFER.memories)
    (planned,) = expand([suite_of(row)], described, catalog, Selection())
    assert planned.skip is None
    assert "processes" not in planned.case
    assert planned.case["labels"]["series"] == "4 GPUs, xccl-collective"
    (odd,) = expand([suite_of({**row, "parameters": {"form": "odd"}})], described, catalog, Selection())
    assert odd.skip == "no data for form=odd"


def test_collectives_take_time_that_grows_with_members_and_processes() -> None:
    def seconds(machine: Node, **change: Any) -> float:
        (case,) = cases({**HOSTS, "sizes": "64M", "members": {"on": "numa", "memory": "pageable", **change}}, machine)
        return estimate_s(case, SamplingOptions())

    assert seconds(hosts(1, 8), count=8) > seconds(hosts(1, 8), count=2) > 0


def test_the_collectives_suite_has_every_interface_beside_the_others() -> None:
    rows = [row for row in load_suite("collectives").rows if row.table == "by-size"]
    assert {method for row in rows for method in row.methods} == {
        "xccl-collective", "direct-collective", "mpi-collective", "torch-collective",
    }  # fmt: skip
    assert len({row.title for row in rows}) == 1
    clocks: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for method in row.methods:
            for kind in row.collectives:
                clocks.setdefault((method, kind), []).extend(row.clocks)
    assert len(clocks) == 4 * 6
    assert {tuple(found) for (method, _), found in clocks.items() if method == "torch-collective"} == {
        ("batch", "host", "device")
    }


def test_sets_of_devices_are_there_by_each_interface_among_gpus_at_the_same_sizes() -> None:
    rows = [row for row in load_suite("collectives").rows if row.table == "by-members"]
    assert len({row.sizes for row in rows}) == len({row.title for row in rows}) == 1
    found = {(method, kind) for row in rows for method in row.methods for kind in row.collectives}
    assert {method for method, _ in found} == {f"{one}-collective" for one in ("xccl", "direct", "torch", "mpi")}
    assert len(found) == 4 * 6


def test_rows_of_torch_collectives_that_work_in_place_alone_say_so() -> None:
    for name in suite_names():
        for row in load_suite(name).rows:
            if "torch-collective" in row.methods and row.collectives != ("barrier",):
                alone = {kind in ("all-reduce", "reduce", "broadcast") for kind in row.collectives}
                assert alone == {row.parameters.get("in_place") == "yes"}, f"{name}/{row.name}"
