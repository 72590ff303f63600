"""Axes of a suite's row: what each value becomes in the plan, and that every one of several is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from schema_files import load_schema
from suite_text import MEMORIES, OFFER, expanded, suite_of
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection

Json = dict[str, Any]
HOST = {"on": "numa", "memory": "pageable"}
GPU = {"on": "gpu", "memory": "device"}


def flow_of(planned: PlannedCase) -> Json:
    found: Json = planned.case["flows"][0]
    return found


def test_who_touches_first_becomes_a_device_of_the_plan() -> None:
    ends = {"source": {**HOST, "placement": "first-touch", "first_touch": ["cpu", "gpu"]}, "destination": GPU}
    touched = {one.id: flow_of(one)["source"] for one in expanded(ends)}
    assert touched["made/row/numa:1>gpu:0/cpu-touched"] == {
        "device": "numa:1", "memory": "pageable", "placement": "first-touch", "first_touch": "numa:1",
    }  # fmt: skip
    assert touched["made/row/numa:1>gpu:0/gpu-touched"]["first_touch"] == "gpu:0"


def test_a_gpu_ends_memory_is_touched_by_its_own_gpu_or_by_the_node_next_to_it() -> None:
    managed = {"on": "gpu", "memory": "managed", "first_touch": ["cpu", "gpu"]}
    row = {"source": managed, "destination": GPU, "executor": "source"}
    touched = {one.id: flow_of(one)["source"]["first_touch"] for one in expanded(row)}
    assert touched["made/row/gpu:1>gpu:0/cpu-touched"] == "numa:1"
    assert touched["made/row/gpu:1>gpu:0/gpu-touched"] == "gpu:1"


def test_between_numa_nodes_the_nearest_gpu_touches() -> None:
    row = {"source": {**HOST, "first_touch": "gpu"}, "destination": HOST, "method": "memcpy", "executor": "source"}
    touched = {one.id: flow_of(one)["source"]["first_touch"] for one in expanded(row)}
    assert touched == {"made/row/numa:0>numa:1": "gpu:0", "made/row/numa:1>numa:0": "gpu:1"}
    with pytest.raises(LinkscopeError, match="needs GPUs"):
        expanded(row, node(0))


def test_advice_is_an_axis_and_none_stays_out_of_the_plan() -> None:
    managed = {"on": "gpu", "memory": "managed", "advice": ["none", "read-mostly+accessed-by"]}
    found = {one.id.split("/")[-1]: flow_of(one)["destination"] for one in expanded({"destination": managed})}
    assert "advice" not in found["no-advice"]
    assert found["read-mostly+accessed-by"]["advice"] == "read-mostly+accessed-by"


def test_ends_that_vary_alike_are_named_with_the_way_they_lie() -> None:
    row = {
        "source": {"on": "nearest-numa", "memory": ["pinned", "pageable"]},
        "destination": {"on": "gpu", "memory": ["device", "managed"]},
        "show": "matrix",
    }
    found = {one.id: one.case["labels"]["title"] for one in expanded(row)}
    assert found["made/row/numa:0>gpu:0/from-pinned/to-managed"] == "Row, from pinned, to managed"
    assert len(found) == 2 * 4


def test_both_arrays_may_lie_at_the_other_end() -> None:
    row = {"source": GPU, "destination": {**GPU, "at": "other"}, "method": "kernel-copy", "executor": "destination"}
    flow = flow_of(next(one for one in expanded(row) if one.id == "made/row/gpu:0>gpu:1"))
    assert (flow["source"]["device"], flow["destination"]["device"], flow["executor"]) == ("gpu:0", "gpu:0", "gpu:1")


def test_curves_are_named_by_what_moves_and_who_moves_it() -> None:
    away = {
        "source": {"on": "gpu", "memory": "pageable", "at": "other"},
        "destination": {**HOST, "memory": "registered"},
    }
    row = {**away, "pattern": "pairs", "method": "copy-engine", "executor": "source", "show": "curve"}
    found = {one.case["labels"]["series"]: flow_of(one) for one in expanded(row)}
    assert "numa:1 > numa:1 by gpu:0" in found
    flow = found["numa:1 > numa:1 by gpu:0"]
    assert (flow["source"]["device"], flow["destination"]["device"], flow["executor"]) == ("numa:1", "numa:1", "gpu:0")
    peer = {"source": GPU, "destination": {**GPU, "at": "other"}, "method": "kernel-copy", "executor": "destination"}
    assert "gpu:0 > gpu:0 by gpu:1" in {one.case["labels"]["series"] for one in expanded({**peer, "show": "curve"})}


def test_flows_multiply_every_flow_of_the_pattern() -> None:
    row = {"pattern": "both-ways", "flows": [1, 2, 4], "show": "curve", "x": "flows", "figure": "sum"}
    planned = [one.case for one in expanded(row, node(1))]
    assert [len(case["flows"]) for case in planned] == [2, 4, 8]
    assert [case["labels"]["x"] for case in planned] == [1, 2, 4]
    assert {case["labels"]["series"] for case in planned} == {"numa:0 > gpu:0"}
    assert [case["id"].split("/")[-1] for case in planned] == ["1flow", "2flows", "4flows"]
    ends = [(flow["source"]["device"], flow["destination"]["device"]) for flow in planned[1]["flows"]]
    assert ends == [("numa:0", "gpu:0")] * 2 + [("gpu:0", "numa:0")] * 2


def test_the_host_can_drive() -> None:
    row = {"source": {"on": "gpu", "memory": "managed"}, "destination": GPU, "executor": ["gpu", "numa"]}
    driven = {one.id: flow_of(one)["executor"] for one in expanded({**row, "method": "page-fault"})}
    assert driven["made/row/gpu:1>gpu:0/gpu-driven"] == "gpu:1"
    assert driven["made/row/gpu:1>gpu:0/cpu-driven"] == "numa:1"
    to_host = expanded({"source": GPU, "destination": HOST, "method": "page-fault", "executor": "numa"})
    assert all(flow_of(one)["executor"] == flow_of(one)["destination"]["device"] for one in to_host)


def test_a_regions_payload_is_its_product() -> None:
    parameters = {"region": ["64x2x1", "256x16x4"], "in": "512x64x64"}
    row = {"method": "copy-engine-3d", "sizes": "region", "parameters": parameters, "show": "curve"}
    planned = [one.case for one in expanded(row, node(1))]
    assert [(case["flows"][0]["bytes"], case["labels"]["x"]) for case in planned] == [(128, 128), (16384, 16384)]
    assert {case["labels"]["series"] for case in planned} == {"numa:0 > gpu:0"}
    assert planned[0]["id"].endswith("/64x2x1")


def test_regions_of_one_payload_are_series_of_their_own() -> None:
    row = {"method": "copy-engine-3d", "sizes": "region", "parameters": {"region": ["64x4x1", "4x64x1"]}}
    planned = [one.case for one in expanded({**row, "show": "curve"}, node(1))]
    assert [case["labels"]["series"] for case in planned] == ["numa:0 > gpu:0, 64x4x1", "numa:0 > gpu:0, 4x64x1"]


def test_sizes_asked_for_leave_regions_alone() -> None:
    row = {"method": "copy-engine-3d", "sizes": "region", "parameters": {"region": "64x4x1"}}
    planned = expand([suite_of(row)], node(1), OFFER, Selection(sizes=(4096,)))
    assert [flow_of(one)["bytes"] for one in planned] == [256]


@pytest.mark.parametrize("pattern", ["local", "first-device", "pairs"])
def test_a_call_has_no_ends_and_needs_no_size(pattern: str) -> None:
    row = {"source": {"on": "gpu"}, "destination": {"on": "gpu"}, "pattern": pattern, "sizes": None}
    planned = expanded({**row, "method": "launch", "executor": "source", "clock": "host", "figure": "latency"})
    assert len(planned) == {"local": 2, "first-device": 1, "pairs": 2}[pattern]
    for one in planned:
        assert set(flow_of(one)) == {"method", "executor", "bytes", "tuning_group"}
        assert flow_of(one)["bytes"] == 1


def test_every_environment_is_named_even_a_single_one() -> None:
    variants = [{"name": "default"}, {"name": "no-sdma", "set": {"HSA_ENABLE_SDMA": 0}}]
    found = {one.id: one.case for one in expanded({"environment": variants, "show": "matrix"}, node(1))}
    plain, without = found["made/row/numa:0>gpu:0/default"], found["made/row/numa:0>gpu:0/no-sdma"]
    assert "environment" not in plain
    assert without["environment"] == {"HSA_ENABLE_SDMA": "0"}
    assert (without["labels"]["title"], without["labels"]["environment"]) == ("Row, no-sdma", "no-sdma")
    (alone,) = expanded({"environment": variants[1:]}, node(1))
    assert alone.id.endswith("/no-sdma")


def test_a_described_node_has_no_environment() -> None:
    row = {"environment": [{"name": "default"}, {"name": "other", "set": {"HSA_XNACK": "1"}}]}
    skips = {one.id.split("/")[-1]: one.skip for one in expanded(row, load_machine("frontier"))}
    assert skips["default"] is None
    assert skips["other"] is not None
    assert "HSA_XNACK" in skips["other"]


def test_a_row_for_one_vendor_is_one_skipped_case_elsewhere() -> None:
    (skipped,) = expanded({"vendor": "amd"})
    assert skipped.skip == "for AMD GPUs"
    assert all(one.skip is None for one in expanded({"vendor": "nvidia"}))
    assert len(expanded({"vendor": "amd"}, load_machine("frontier"))) == 8
    assert [one.skip for one in expanded({"vendor": "amd"}, load_machine("h200x4"))] == ["for AMD GPUs"]


def test_the_number_of_gpus_can_be_the_x_axis() -> None:
    row = {
        "pattern": "spread",
        "show": "curve",
        "x": "gpus",
        "figure": "aggregate",
        "method": ["copy-engine", "kernel-copy"],
    }
    labels = [one.case["labels"] for one in expanded(row, node(4))]
    assert [(entry["x"], entry["series"]) for entry in labels] == [
        (count, method) for count in (1, 2, 4) for method in ("copy-engine", "kernel-copy")
    ]  # fmt: skip
    (skipped,) = expanded({**row, "pattern": "same-package"}, node(4))
    assert skipped.skip == "no package of made up holds two GPUs"


def test_lists_name_their_axes() -> None:
    row = {
        "source": {"on": "nearest-numa", "memory": ["pinned", "pageable"]},
        "parameters": {"call": ["async", "sync"]},
    }
    labels = [one.case["labels"] for one in expanded(row, node(1))]
    assert labels[3]["variant"] == {"source memory": "pageable", "call": "sync"}
    assert {(entry["row"], entry["column"]) for entry in labels} == {("numa:0", "gpu:0")}


def test_all_axes_together_give_unique_stable_ids_and_a_valid_plan() -> None:
    managed = {"on": "gpu", "memory": "managed"}
    row = {
        "source": {"on": "numa", "memory": ["pageable", "managed"], "first_touch": ["cpu", "gpu"]},
        "destination": {**managed, "first_touch": ["cpu", "gpu"], "advice": ["none", "read-mostly"]},
        "method": ["copy-engine", "kernel-copy"],
        "executor": ["source", "destination", "gpu", "numa"],
        "flows": [1, 3],
        "sizes": "64,1M",
        "environment": [{"name": "default"}, {"name": "spin", "set": {"LINKSCOPE_SYNC": "spin"}}],
        "covers": ["Comm_Something"],
    }  # fmt: skip
    first, second = expanded(row), expanded(row)
    ids = [one.id for one in first]
    assert len(set(ids)) == len(ids) == 4 * 2 * 2 * 2 * 2 * 2 * 4 * 2 * 2 * 2
    assert ids == [one.id for one in second]
    assert not any(" " in case_id for case_id in ids)
    plan = {"schema": 1, "options": {}, "cases": [one.case for one in first]}
    Draft202012Validator(load_schema("plan")).validate(plan)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"sizes": None}, "sizes are missing"),
        ({"clock": ["host", "host"]}, "clock: .* twice"),
        ({"sizes": "region"}, "wants the parameter region"),
        ({"sizes": "region", "parameters": {"region": "64x64"}}, "WIDTHxROWSxPLANES"),
        ({"x": "blocks", "show": "curve"}, "x: blocks is neither"),
        ({"flows": 2, "pattern": "each-among-all"}, "exclude each other"),
        ({"flows": 100}, "flows: Expected `int` <= 64"),
        ({"environment": [{"name": "a"}, {"name": "a"}]}, "one name"),
        ({"environment": [{"name": "a", "set": {"NO GOOD": "1"}}]}, "NO GOOD"),
        ({"source": {"on": "gpu", "first_touch": "cpu"}}, "source: first_touch .* memory"),
        ({"source": {"on": "gpu", "memory": "managed", "advice": "mostly"}}, "advice"),
        ({"background": [{"beside": "them", "method": "memcpy", "executor": "source"}]}, "'them' is none of"),
        ({"vendor": "intel"}, "'intel' is none of"),
    ],
)
def test_what_contradicts_itself_is_one_clear_line(fields: Json, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint) as refusal:
        suite_of(fields)
    assert "\n" not in str(refusal.value)


def test_clock_and_cache_are_axes_and_named_where_they_differ() -> None:
    found = {one.id: one.case for one in expanded({"clock": ["device", "host"], "cache": ["warm", "flushed"]}, node(1))}
    last = found["made/row/numa:0>gpu:0/host-clock/flushed"]
    assert len(found) == 4
    assert (last["clock"], last["cache"]) == ("host", "flushed")
    assert last["labels"]["variant"] == {"clock": "host", "cache": "flushed"}
    (asked,) = expand([suite_of({"clock": ["device", "host"]})], node(1), OFFER, Selection(clock="host"))
    assert (asked.case["clock"], asked.id) == ("host", "made/row/numa:0>gpu:0/host-clock")
    (one,) = expand([suite_of({"clock": "device"})], node(1), OFFER, Selection(clock="host"))
    assert (one.case["clock"], one.id) == ("host", "made/row/numa:0>gpu:0/host-clock"), "not the one that is declared"
    (same,) = expand([suite_of({"clock": "device"})], node(1), OFFER, Selection(clock="device"))
    assert same.id == "made/row/numa:0>gpu:0"


def test_memory_that_the_driver_touches_is_there_once_and_bound() -> None:
    ends = {"source": {"on": "nearest-numa", "memory": ["pinned", "pageable"], "placement": "first-touch",
                       "first_touch": ["cpu", "gpu"]}}  # fmt: skip
    found = {one.id.removeprefix("made/row/numa:0>gpu:0/"): flow_of(one)["source"] for one in expanded(ends, node(1))}
    assert list(found) == ["pinned/driver-touched", "pageable/cpu-touched", "pageable/gpu-touched"]
    assert found["pinned/driver-touched"] == {"device": "numa:0", "memory": "pinned"}
    assert found["pageable/gpu-touched"]["placement"] == "first-touch"


def test_only_memory_that_follows_its_toucher_is_placed_by_first_touch() -> None:
    gpu = {"on": "gpu", "memory": ["device", "managed"], "placement": "first-touch", "first_touch": "gpu"}
    found = {flow["memory"]: flow for one in expanded({"destination": gpu}, node(1))
             for flow in [flow_of(one)["destination"]]}  # fmt: skip
    assert "placement" not in found["device"]
    assert found["managed"]["placement"] == "first-touch"


def test_settings_for_another_vendors_gpus_are_left_out() -> None:
    variants = [{"name": "default"}, {"name": "no-sdma", "vendor": "amd", "set": {"HSA_ENABLE_SDMA": 0}}]
    (plain,) = expanded({"environment": variants}, node(1))
    assert plain.id == "made/row/numa:0>gpu:0"
    assert "environment" not in plain.case["labels"]
    amd = expanded({"environment": variants}, node(1), replace(OFFER, engine="hip"))
    assert [one.id.split("/")[-1] for one in amd] == ["default", "no-sdma"]


def test_what_has_memory_at_one_end_alone_is_done_by_a_kind_of_device() -> None:
    row = {"source": {"on": "gpu"}, "destination": {"on": "nearest-numa", "memory": "managed"}, "method": "page-fault"}
    ids = {one.id.split("/")[-1] for one in expanded({**row, "executor": ["source", "destination"]}, node(1))}
    assert ids == {"gpu-driven", "cpu-driven"}
    copies = expanded({"source": GPU, "destination": GPU, "executor": ["source", "destination"]})
    assert {one.id.split("/")[-1] for one in copies} == {"push", "pull"}


def test_a_word_that_says_nothing_alone_stands_behind_its_axis() -> None:
    row = {"parameters": {"blocks": ["on", "off"]}, "method": "kernel-copy", "show": "matrix"}
    assert [one.case["labels"]["title"] for one in expanded(row, node(1))] == ["Row, blocks on", "Row, blocks off"]


def test_a_cpu_that_is_to_touch_first_needs_a_numa_node() -> None:
    nowhere = load_machine("mi300x")
    row = {"source": {**GPU, "first_touch": "cpu"}, "destination": GPU, "method": "kernel-copy", "executor": "source"}
    (skipped,) = expanded(row, nowhere)
    assert skipped.skip == f"{nowhere.name} shows no NUMA node"


def test_buffers_of_a_list_are_named_by_number_and_size() -> None:
    offer = EngineCatalog("cuda", {"copy-engine": frozenset({"count", "api"})}, MEMORIES)
    row = {"parameters": {"count": [16, 1000], "api": ["loop", "batch"]}, "sizes": "4096000"}
    variants = [one.case["labels"]["variant"] for one in expanded(row, node(1), offer)]
    assert variants[0] == {"api": "loop", "pieces": "16 x 250 KiB"}
    assert variants[-1] == {"api": "batch", "pieces": "1000 x 4 KiB"}
    curve = expanded({**row, "show": "curve"}, node(1), offer)
    assert all("count 1" in one.case["labels"]["series"] for one in curve)
