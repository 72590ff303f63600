"""Background flows: where they run beside the measured ones, and what they do there."""

from __future__ import annotations

from typing import Any

import pytest
from suite_text import OFFER, expanded, suite_of
from test_patterns import node

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suite import Suite

Json = dict[str, Any]
GPU = {"on": "gpu", "memory": "device"}
LOAD: Json = {
    "method": "kernel-copy",
    "source": {"memory": "device"},
    "destination": {"memory": "device"},
    "executor": "source",
}
PEER: Json = {"source": GPU, "destination": GPU, "executor": "source"}


def beside(planned: PlannedCase) -> list[tuple[str, str]]:
    """Ends of the flows that run in the background."""
    flows = [flow for flow in planned.case["flows"] if flow.get("role") == "background"]
    return [(flow["source"]["device"], flow["destination"]["device"]) for flow in flows]


def pick(planned: list[PlannedCase], where: str) -> PlannedCase:
    return next(one for one in planned if f"/{where}" in one.id)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("same", [("gpu:0", "gpu:1")]),
        ("opposite", [("gpu:1", "gpu:0")]),
        ("source", [("gpu:0", "gpu:0")]),
        ("destination", [("gpu:1", "gpu:1")]),
        ("others", [("gpu:2", "gpu:3"), ("gpu:3", "gpu:2")]),
        ("peer", [("gpu:0", "gpu:2"), ("gpu:1", "gpu:2")]),
    ],
)
def test_where_it_runs(word: str, expected: list[tuple[str, str]]) -> None:
    planned = expanded({**PEER, "background": [{**LOAD, "beside": word}]}, node(4))
    case = pick(planned, "gpu:0>gpu:1")
    assert beside(case) == expected
    assert "role" not in case.case["flows"][0]


def test_it_has_method_memory_size_driver_and_parameters_of_its_own() -> None:
    load = {**LOAD, "beside": "opposite", "executor": "destination", "size": "4M", "parameters": {"blocks": 8}}
    load |= {"destination": {"memory": "managed", "first_touch": "cpu", "advice": "read-mostly"}}
    flow = pick(expanded({**PEER, "background": [load]}), "gpu:0>gpu:1").case["flows"][1]
    assert (flow["method"], flow["executor"], flow["bytes"]) == ("kernel-copy", "gpu:0", 4 << 20)
    assert flow["parameters"] == {"blocks": 8}
    assert flow["destination"] == {
        "device": "gpu:0", "memory": "managed", "first_touch": "numa:0", "advice": "read-mostly",
    }  # fmt: skip


def test_a_load_without_a_size_moves_what_the_measured_flow_moves() -> None:
    planned = expanded({**PEER, "sizes": "64,1M", "background": [{**LOAD, "beside": "same"}]})
    assert {tuple(flow["bytes"] for flow in one.case["flows"]) for one in planned} == {(64, 64), (1 << 20, 1 << 20)}


def test_latency_under_load_is_a_chase_without_a_destination_beside_a_copy_with_both() -> None:
    row = {"source": GPU, "destination": {"on": "gpu"}, "method": "pointer-chase", "executor": "destination"}
    case = pick(expanded({**row, "background": [{**LOAD, "beside": "same"}]}), "gpu:0>gpu:1").case
    assert "destination" not in case["flows"][0]
    assert case["flows"][1]["destination"] == {"device": "gpu:1", "memory": "device"}


def test_several_loads_run_together() -> None:
    loads = [{**LOAD, "beside": "opposite"}, {**LOAD, "beside": "others"}]
    assert beside(pick(expanded({**PEER, "background": loads}, node(4)), "gpu:3>gpu:1")) == [
        ("gpu:1", "gpu:3"), ("gpu:0", "gpu:2"), ("gpu:2", "gpu:0"),
    ]  # fmt: skip


def test_the_others_of_a_host_copy_share_its_node_but_not_its_gpu() -> None:
    load = {**LOAD, "beside": "others", "source": {"memory": "pinned"}, "executor": "gpu"}
    assert beside(pick(expanded({"background": [load]}, node(4)), "numa:0>gpu:1")) == [
        ("numa:0", "gpu:0"), ("numa:1", "gpu:2"), ("numa:1", "gpu:3"),
    ]  # fmt: skip


def test_both_ways_have_a_load_beside_each() -> None:
    planned = expanded({**PEER, "pattern": "both-ways", "background": [{**LOAD, "beside": "same"}]})
    assert beside(planned[0]) == [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")]


def test_no_others_left_is_a_skip_that_says_so() -> None:
    planned = expanded({**PEER, "background": [{**LOAD, "beside": "others"}]}, node(3))
    assert {one.skip for one in planned} == {"no other GPU or pair is left for the background to run on"}


def test_a_load_that_the_engine_lacks_is_a_skip() -> None:
    catalog = OFFER.__class__("host", {"copy-engine": frozenset()}, frozenset({"device"}))
    planned = expanded({**PEER, "background": [{**LOAD, "beside": "same"}]}, catalog=catalog)
    assert {one.skip for one in planned} == {"the host engine has no method kernel-copy"}


def test_the_measured_flow_alone_decides_on_the_clock() -> None:
    row = {"source": {"on": "numa", "memory": "pageable"}, "destination": {"on": "gpu", "memory": "managed"}}
    load = {**LOAD, "beside": "destination"}
    planned = expanded({**row, "method": "memcpy", "executor": "source", "background": [load]})
    assert {one.case["clock"] for one in planned} == {"host"}


def test_on_a_described_node_it_has_a_route() -> None:
    planned = expanded({**PEER, "background": [{**LOAD, "beside": "opposite"}]}, load_machine("frontier"))
    for one in planned:
        there, back = one.case["flows"]
        assert len(there["route"]) == len(back["route"]) > 0
        assert set(there["route"]).isdisjoint(back["route"])


def test_the_background_is_no_axis_of_the_selection() -> None:
    suite = suite_of({**PEER, "background": [{**LOAD, "beside": "same"}]})
    planned = expand([suite], node(2), OFFER, Selection(methods=("copy-engine",)))
    assert [flow["method"] for flow in planned[0].case["flows"]] == ["copy-engine", "kernel-copy"]


def test_a_read_goes_back_as_a_read_of_the_others_memory() -> None:
    row = {
        **PEER,
        "pattern": "both-ways",
        "method": "kernel-read",
        "executor": "destination",
        "destination": {"on": "gpu"},
    }
    forth, back = expanded(row)[0].case["flows"]
    assert (forth["source"]["device"], forth["executor"]) == ("gpu:0", "gpu:1")
    assert (back["source"]["device"], back["executor"]) == ("gpu:1", "gpu:0")
    assert "destination" not in forth
    assert "destination" not in back


ALL_REDUCE: Json = {
    **{"collective": "all-reduce", "members": GPU, "pattern": "all", "method": "xccl-collective", "clock": "device"},
    **dict.fromkeys(("source", "destination", "executor")),
}
PRODUCT: Json = {"beside": "members", "method": "matrix-product", "executor": "source", "parameters": {"n": 512}}


def members_row(**more: Any) -> Suite:
    """A suite of an all-reduce with flows beside it."""
    return suite_of({**ALL_REDUCE, **more})


def test_beside_a_collective_each_member_has_a_flow_that_is_measured_as_well() -> None:
    suite = members_row(alongside=[PRODUCT])
    planned = expand([suite], node(2), whole_catalog(suite), Selection())
    flows = planned[0].case["flows"]
    assert [flow.get("role") for flow in flows] == [None, "alongside", "alongside"]
    assert [flow["executor"] for flow in flows] == ["gpu:0", "gpu:0", "gpu:1"]
    assert all("source" not in flow and flow["parameters"] == {"n": 512} for flow in flows[1:])


@pytest.mark.parametrize("field", ["background", "alongside"])
def test_two_ends_have_no_members_and_a_collective_has_no_ends(field: str) -> None:
    with pytest.raises(LinkscopeError, match="only a collective has members"):
        expanded({**PEER, field: [PRODUCT]})
    with pytest.raises(LinkscopeError, match="of a collective there are only members"):
        members_row(**{field: [{**PRODUCT, "beside": "same"}]})


def test_no_parameter_has_the_name_of_an_axis() -> None:
    with pytest.raises(LinkscopeError, match="parameters: size is an axis"):
        expanded({**PEER, "parameters": {"size": 512}})
