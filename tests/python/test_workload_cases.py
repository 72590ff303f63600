"""Workloads in suites: what an application sends becomes cases, and what cannot run becomes a reason."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator
from schema_files import load_schema
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.machine.node import Device, Node
from linkscope.machine.traits import known_memories
from linkscope.plan.application import HaloApplication, PatternApplication, isolated, without_gaps
from linkscope.plan.budget import SamplingOptions, estimate_s, limits, setup_s
from linkscope.plan.case_groups import case_groups
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite, packaged_methods
from linkscope.plan.workload_cases import workload_notes
from linkscope.plan.workload_row import INTERFACES
from linkscope.workload.halo import field_bytes, halo
from linkscope.workload.moe import MoeLayer, moe
from linkscope.workload.schedule import Message, Phase, Schedule, in_order

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.coverage.points import whole_catalog

Json = dict[str, Any]
FULL = EngineCatalog("cuda", dict.fromkeys(packaged_methods(), frozenset({"staging"})), frozenset(known_memories()))
_OF_HOST = dict.fromkeys(("mpi-schedule", "direct-schedule"), frozenset({"staging"}))
HOST = EngineCatalog("host", _OF_HOST, frozenset({"pageable", "huge"}))
PATTERN = Schedule(
    "traffic.csv",
    3,
    in_order((
        Phase("a", (Message(0, 1, 4096), Message(1, 2, 4096), Message(0, 1, 4096)), repeats=5, gap_s=0.5),
        Phase("b", (Message(2, 0, 64),)),
    )),
)  # fmt: skip


def made(row: Json, machine: Node | None = None, catalog: EngineCatalog = FULL, **narrowed: Any) -> list[PlannedCase]:
    """The cases of one workload on four GPUs, a small halo by MPI in device memory but for what ``row`` says."""
    own = {
        "name": "row",
        "title": "Halo",
        "workload": {"application": "halo", "cells": "64x32", "steps": 10},
        "interface": "mpi",
        "memory": "device",
        **row,
    }
    return expand([suite_of(own)], machine or node(4), catalog, Selection(**narrowed))


def suite_of(row: Json) -> Suite:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.yaml"
        path.write_text(yaml.safe_dump({"name": "made", "answers": "Does it?", "workloads": [row]}))
        return load_suite(str(path))


def of(planned: list[PlannedCase]) -> list[tuple[str, str, str]]:
    found = [one.case["labels"]["workload"] for one in planned]
    return [(one["interface"], one["memory"], one["staging"]) for one in found]


def test_a_case_holds_the_schedule_and_a_member_and_its_fields_in_each_process() -> None:
    (planned,) = made({})
    (flow,) = planned.case["flows"]
    schedule = halo(4, (64, 32), 10)
    assert flow["schedule"] == schedule.to_plan()
    assert (flow["bytes"], flow["executor"], planned.case["processes"]) == (schedule.bytes, "gpu:0", 4)
    ranks = [{"device": f"gpu:{rank}", "memory": "device", **({"rank": rank} if rank else {})} for rank in range(4)]
    assert flow["members"] == flow["state"] == ranks
    assert (planned.case["clock"], planned.case["cache"]) == ("host", "warm")
    assert planned.case["labels"]["workload"] == {
        "application": "halo",
        "deck": "64 x 32, 10 steps",
        "ranks": 4,
        "interface": "mpi",
        "staging": "none",
        "memory": "device",
        "state": "device",
        "order": ["gpu:0", "gpu:1", "gpu:2", "gpu:3"],
        "messages": schedule.messages().total(),
        "bytes": schedule.bytes,
    }


def test_buffers_in_host_memory_lie_beside_the_gpu_and_fields_stay_on_it() -> None:
    (planned,) = made({"memory": "pinned"})
    (flow,) = planned.case["flows"]
    assert {end["device"] for end in flow["members"]} <= {"numa:0", "numa:1"}
    assert [end["device"] for end in flow["state"]] == [f"gpu:{rank}" for rank in range(4)]


def test_mpi_has_a_process_for_each_rank_and_the_others_one_for_all() -> None:
    planned = made({"interface": ["mpi", "xccl", "direct"]})
    assert [one.case.get("processes", 1) for one in planned] == [4, 1, 1]
    assert all("rank" not in end for one in planned[1:] for end in one.case["flows"][0]["members"])
    both = made({"interface": ["mpi", "direct"], "processes": ["one", "each"]})
    assert [one.case.get("processes", 1) for one in both] == [4, 1, 4]


def test_own_staging_is_of_mpi_and_of_memory_that_is_not_the_hosts() -> None:
    planned = made({"interface": ["mpi", "direct"], "memory": ["device", "pinned"], "staging": ["none", "full"]})
    assert of(planned) == [
        ("mpi", "device", "none"),
        ("mpi", "device", "full"),
        ("mpi", "pinned", "none"),
        ("direct", "device", "none"),
        ("direct", "pinned", "none"),
    ]
    assert planned[1].case["flows"][0]["parameters"] == {"staging": "full"}


def test_ids_are_unique_stable_and_tell_what_differs() -> None:
    row = {"interface": ["mpi", "direct"], "memory": ["device", "managed"], "staging": ["none", "full"],
           "ranks": [2, 4], "processes": ["one", "each"], "state": ["device", "managed"]}  # fmt: skip
    ids = [one.id for one in made(row)]
    assert len(set(ids)) == len(ids) == 2 * 2 * (2 * 2 + 2 * 2)
    assert ids == [one.id for one in made(row)]
    assert "made/row/64x32-10/4-ranks/mpi/managed/from-device/staged" in ids
    assert all(" " not in one for one in ids)


def test_a_layers_messages_are_not_measured_alone_and_own_bytes_stand_beside_them() -> None:
    (planned,) = made({"workload": {"application": "moe", "tokens": 8, "hidden": 256, "skew": 1}})
    schedule = moe(MoeLayer(tokens=8, hidden=256, skew=1.0), 4)
    assert planned.id == "made/row/8x256-top8of256-fp8-skew1/4-ranks/mpi/device"
    assert planned.case["flows"][0]["schedule"] == schedule.to_plan()
    assert planned.case["labels"]["workload"]["own_bytes"] == [list(one) for one in schedule.own_bytes]
    assert "state" not in planned.case["flows"][0]


def test_an_alltoallv_is_one_phase_of_unequal_messages() -> None:
    planned = expand([load_suite("moe")], node(4), FULL, Selection(methods=("xccl-schedule",)))
    skewed = next(one for one in planned if "skew1" in one.id)
    (loop,) = skewed.case["flows"][0]["schedule"]["loops"]
    assert [one["name"] for one in loop["phases"]] == ["dispatch", "combine"]
    messages = loop["phases"][0]["messages"]
    assert {(a, b) for a, b, _ in messages} == {(a, b) for a in range(4) for b in range(4) if a != b}
    assert len({size for *_, size in messages}) > 4


def test_variants_are_engines_of_their_own_and_those_of_another_vendor_stay_out() -> None:
    planned = made({
        "environment": [
            {"name": "default"},
            {"name": "off", "vendor": "nvidia", "set": {"NCCL_X": 1}},
            {"name": "xnack", "vendor": "amd", "set": {"HSA_XNACK": 1}},
        ],
        "baseline": {"interface": "mpi", "memory": "device", "environment": "off"},
    })  # fmt: skip
    assert [(one.environment, one.case["labels"]["environment"]) for one in planned] == [
        ({}, "default"),
        ({"NCCL_X": "1"}, "off"),
    ]
    assert ["baseline" in one.case["labels"]["workload"] for one in planned] == [False, True]
    assert len(case_groups(planned)) == 2


@pytest.mark.parametrize(("suite", "memory"), [("halo", "device"), ("particles", "pageable")])
def test_one_combination_is_the_baseline(suite: str, memory: str) -> None:
    planned = expand([load_suite(suite)], node(4), FULL, Selection())
    (baseline,) = [one.case["labels"]["workload"] for one in planned if "baseline" in one.case["labels"]["workload"]]
    assert (baseline["interface"], baseline["memory"], baseline["staging"]) == ("mpi", memory, "none")
    (of_host,) = [one for one in expand([load_suite(suite)], node(0), HOST, Selection())
                  if "baseline" in one.case["labels"]["workload"]]  # fmt: skip
    assert of_host.case["labels"]["workload"]["memory"] == "pageable"


def test_ranks_that_share_gpus_say_so_and_xccl_cannot() -> None:
    planned = made({"interface": ["xccl", "direct"], "ranks": 4}, node(2))
    assert [one.skip for one in planned] == ["NCCL and RCCL want a GPU for each rank: 4 ranks share 2 GPUs", None]
    assert planned[1].case["labels"]["workload"]["order"] == ["gpu:0", "gpu:1", "gpu:0", "gpu:1"]
    assert planned[1].case["labels"]["column"] == "4 ranks share 2 GPUs"
    assert workload_notes(planned) == ("4 ranks share 2 GPUs",)


def test_an_order_of_devices_places_the_ranks() -> None:
    (planned,) = made({"order": ["gpu:3", "gpu:1"]})
    assert [end["device"] for end in planned.case["flows"][0]["members"]] == ["gpu:3", "gpu:1"]
    assert planned.case["labels"]["workload"]["order"] == ["gpu:3", "gpu:1"]
    assert planned.id.endswith("/gpu:3+gpu:1")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"order": ["gpu:0", "gpu:9"]}, "order: unknown device 'gpu:9'"),
        ({"order": ["gpu:0", "gpu:1"], "ranks": 3}, "order: names 2 devices for 3 ranks"),
        ({"order": ["gpu:0", "numa:1"]}, "all on GPUs, or all on NUMA nodes"),
        ({"ranks": 1}, "ranks: it takes 2 to 4096"),
        ({"ranks": "x"}, "malformed count 'x'"),
        ({"memory": "gold"}, "unknown memory 'gold'"),
        ({"memory": ["device", "device"]}, "memory: a value is named twice"),
        ({"interface": ["mpi", "mpi"]}, "interface: a value is named twice"),
        ({"interface": "ucx"}, "'ucx' is none of mpi, xccl, direct"),
        ({"workload": {"application": "halo", "cells": "3x1"}}, "3 x 1 cells are too few for 4 ranks"),
        ({"workload": {"application": "halo", "cells": "3x3", "deck": "bm2"}}, "a deck or cells, not both"),
        ({"workload": {"application": "halo", "deck": "bm3"}}, "unknown deck 'bm3'"),
        ({"workload": {"application": "particles", "grid": "3x1x1"}, "ranks": 4}, "a grid of 3 x 1 x 1 is not of 4"),
        ({"workload": {"application": "particles", "deck": "problem-3"}}, "unknown deck 'problem-3'"),
        ({"workload": {"application": "pattern", "file": "/etc/passwd"}}, "workload"),
        ({"baseline": {"interface": "mpi", "memory": "device", "environment": "on"}}, "'on' is none of the row's"),
    ],
)
def test_a_wrong_row_is_one_clear_line(row: Json, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint) as refusal:
        made(row)
    assert "\n" not in str(refusal.value)


def test_on_cpus_what_only_gpus_have_is_left_out_unless_nothing_else_is_asked_for() -> None:
    planned = made({"memory": ["device", "pageable"], "interface": ["mpi", "xccl"]}, node(0), HOST)
    assert of(planned) == [("mpi", "pageable", "none"), ("xccl", "pageable", "none")]
    assert [one.skip for one in planned] == [None, "the host engine has no method xccl-schedule"]
    flow = planned[0].case["flows"][0]
    assert [end["device"] for end in flow["members"]] == ["numa:0", "numa:1"]
    assert {end["memory"] for end in flow["state"]} == {"pageable"}
    (asked,) = made({"memory": "device"}, node(0), HOST)
    assert asked.skip == "the host engine has no memory device"
    (absent,) = made({"memory": "device"}, node(0), replace(HOST, gpu_problem="no device"))
    assert absent.skip == "no GPU can be used: no device"


def test_each_rank_wants_a_cpu() -> None:
    two = replace_cpus(node(4), 2)
    (planned,) = made({"ranks": 8}, two)
    assert planned.skip == "8 ranks want a CPU each; made up shows 4"


def replace_cpus(machine: Node, cpus: int) -> Node:
    devices = (replace(one, cpus=tuple(range(cpus))) if one.kind == "numa" else one for one in machine.devices)
    return replace(machine, devices=tuple(devices))


def with_memory(size: int) -> Node:
    machine = node(2)
    return replace(machine, devices=tuple(replace(one, memory_bytes=size) for one in machine.devices))


def test_the_largest_deck_that_fits_is_chosen_and_told() -> None:
    (planned,) = made({"workload": {"application": "halo"}}, with_memory(1 << 30))
    deck = planned.case["labels"]["workload"]["deck"]
    chunks = planned.case["flows"][0]["schedule"]["grid"]["chunks"]
    held = max(field_bytes(tuple(chunk)) for chunk in chunks)
    assert (1 << 30) / 4 < held < 1 << 30
    assert planned.skip is None
    (note,) = workload_notes([planned])
    assert note.startswith(deck.partition(",")[0])


def test_a_deck_that_does_not_fit_is_skipped_and_names_the_largest_that_does() -> None:
    (planned,) = made({"workload": {"application": "halo", "deck": "bm2048"}}, with_memory(1 << 30))
    assert planned.skip is not None
    assert planned.skip.startswith("too little memory: ")
    (chosen,) = made({"workload": {"application": "halo"}}, with_memory(1 << 30))
    assert chosen.case["labels"]["workload"]["deck"].partition(",")[0] in planned.skip
    many = {"application": "particles", "particles": 10**10, "cycles": 1}
    (particles,) = made({"workload": many}, with_memory(1 << 28))
    assert particles.skip is not None
    assert particles.skip.startswith("too little memory: ")


@pytest.mark.parametrize("suite", ["halo", "particles"])
@pytest.mark.parametrize("machine", ["frontier", "mi300a", "h200x4"])
def test_a_described_node_plays_all_ranks_in_one_process(suite: str, machine: str) -> None:
    planned = expand([load_suite(suite)], load_machine(machine), FULL, Selection())
    assert all("processes" not in one.case for one in planned)
    assert {flow.get("rank", 0) for one in planned for flow in one.case["flows"]} == {0}
    gpus = len(load_machine(machine).of_kind("gpu"))
    assert {one.case["labels"]["workload"]["ranks"] for one in planned} == {gpus}


@pytest.mark.parametrize("suite", ["halo", "particles", "schieffer25"])
def test_plans_keep_to_their_schema(suite: str) -> None:
    loaded = load_suite(suite)
    found = expand([loaded], node(4), whole_catalog(loaded), Selection())
    planned = [one.case for one in found if one.skip is None]
    Draft202012Validator(load_schema("plan")).validate({"schema": 1, "options": {}, "cases": planned})
    assert {one["suite"] for one in planned} == {suite}


def test_the_study_has_its_allocators_and_settings() -> None:
    study = load_suite("schieffer25")
    planned = expand([study], node(4), replace(whole_catalog(study), engine="hip"), Selection())
    rows = {name: [one.case for one in planned if one.case["name"] == name] for name in ("app-halo", "app-particles")}
    combinations = {
        (one["labels"]["workload"]["interface"], one["labels"]["workload"]["memory"], one["labels"]["environment"])
        for one in rows["app-halo"]
    }
    assert {("mpi", "device", "xnack"), ("xccl", "registered", "xnack"), ("mpi", "managed", "xnack")} <= combinations
    assert {one["labels"]["workload"]["memory"] for one in rows["app-particles"]} == {"pageable", "device"}
    assert {one.get("environment", {}).get("HSA_XNACK") for one in rows["app-particles"]} == {None, "1"}
    for found in rows.values():
        assert sum("baseline" in one["labels"]["workload"] for one in found) == 1


def test_a_patterns_messages_are_measured_together_and_alone() -> None:
    suite = load_suite("halo")
    row = replace(
        suite.workloads[0], application=PatternApplication(PATTERN), memories=("device",), interfaces=("direct",)
    )
    together, alone = expand([replace(suite, workloads=(row,))], node(4), FULL, Selection())
    assert together.case["labels"]["workload"]["application"] == "traffic.csv"
    assert together.case["labels"]["workload"]["state"] is None
    assert "state" not in together.case["flows"][0]
    assert together.case["flows"][0]["schedule"] == PATTERN.to_plan()
    assert alone.case["labels"]["workload"]["isolated"] is True
    loops = alone.case["flows"][0]["schedule"]["loops"]
    assert [phase["messages"] for loop in loops for phase in loop["phases"]] == [
        [[0, 1, 4096]], [[1, 2, 4096]], [[2, 0, 64]],
    ]  # fmt: skip
    assert together.id + "/isolated" == alone.id


def test_another_pattern_of_the_same_name_is_another_case() -> None:
    other = replace(PATTERN, loops=PATTERN.loops[:1])
    room = HaloRoom()
    keys = {PatternApplication(one).deck(3, room).key for one in (PATTERN, other, without_gaps(PATTERN))}
    assert len(keys) == 3


class HaloRoom:
    """All that anyone wants."""

    bytes_per_rank = 1 << 60

    def problem(self, schedule: Schedule) -> str | None:
        del schedule


def test_gaps_can_be_taken_out() -> None:
    assert {phase.gap_s for phase in without_gaps(PATTERN).phases} == {0.0}
    assert without_gaps(PATTERN).bytes == PATTERN.bytes


def test_messages_that_are_alone_already_are_not_measured_twice() -> None:
    assert isolated(Schedule("x", 2, in_order((Phase("a", (Message(0, 1, 8),)),)))) is None


def test_the_methods_that_are_left_narrow_the_interfaces() -> None:
    planned = made({"interface": ["mpi", "xccl", "direct"]}, methods=("direct-schedule",))
    assert {flow["method"] for one in planned for flow in one.case["flows"]} == {INTERFACES["direct"]}
    (two,) = made({}, devices=("gpu:1", "gpu:3"))
    assert two.case["labels"]["workload"]["order"] == ["gpu:1", "gpu:3"]


def test_what_a_workload_costs_grows_with_it() -> None:
    def case(steps: int, cells: str = "960x960") -> Json:
        (planned,) = made({"workload": {"application": "halo", "cells": cells, "steps": steps}})
        return planned.case

    short, long, large = case(10), case(1000), case(10, "30720x15360")
    options = SamplingOptions()
    assert estimate_s(long, options) > 10 * estimate_s(short, options)
    assert setup_s(large) > setup_s(short) + 0.01
    assert limits(long, options)["timeout_s"] > limits(short, options)["timeout_s"]


def test_recorded_gaps_count_in_estimates() -> None:
    suite = load_suite("halo")

    def cost(schedule: Schedule) -> float:
        row = replace(
            suite.workloads[0], application=PatternApplication(schedule), memories=("device",), interfaces=("direct",)
        )
        planned = expand([replace(suite, workloads=(row,))], node(4), FULL, Selection())
        return estimate_s(planned[0].case, SamplingOptions(point_budget_s=100))

    assert cost(PATTERN) > 10 * cost(without_gaps(PATTERN))


def test_a_node_without_numa_nodes_has_no_buffers_in_host_memory() -> None:
    bare = Node("bare", (Device("gpu:0", "gpu"), Device("gpu:1", "gpu")), ())
    planned = made({"memory": ["device", "pinned"]}, bare)
    assert [one.skip for one in planned] == [None, "bare shows no NUMA node"]


def test_a_halo_takes_its_deck_by_either_name() -> None:
    room = HaloRoom()
    decks = [HaloApplication(name).deck(4, room) for name in ("bm4", "bm4_short")]
    assert decks[0] == decks[1]
