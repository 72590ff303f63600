"""Rules of described nodes: which flows they are for, and what is refused because nothing describes it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from suite_text import suite_of

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import modelling_engine
from linkscope.machine.described import load_machine, machine_names
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.modelled import _Choice
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite

Json = dict[str, Any]

NODE = """
name: small
title: A small node
sources: {me: made up}
devices:
  - {of: numa:0, name: CPU, cores: 2, memory_gbps: 50, source: me}
  - {of: gpu:0-2, name: AMD GPU, numa: [0, 0, 0], memory_gbps: 900, source: me}
links:
  - {kind: xgmi, tier: wide, peak_gbps: 50, between: [[gpu:0, gpu:1]], source: me}
  - {kind: xgmi, tier: thin, peak_gbps: 25, between: [[gpu:1, gpu:2], [gpu:0, gpu:2]], source: me}
  - {kind: pcie, tier: host, peak_gbps: 15, between: [[numa:0, gpu:0], [numa:0, gpu:1], [numa:0, gpu:2]], source: me}
methods:
  copy-engine:
    latency_us: 5
    efficiency: 0.9
    source: me
    rules:
"""
CATALOG = EngineCatalog(
    "modelled",
    {
        "copy-engine": frozenset({"call"}),
        "ipc-copy": frozenset(),
        "kernel-copy": frozenset({"blocks"}),
        "memcpy": frozenset({"threads"}),
    },
    frozenset({"pageable", "pinned", "device", "managed"}),
)
GPUS: Json = {
    "pattern": "pairs",
    "source": {"on": "gpu", "memory": "device"},
    "destination": {"on": "gpu", "memory": "device"},
    "method": "copy-engine",
    "executor": "source",
    "sizes": "1M",
}
FROM_HOST: Json = {**GPUS, "source": {"on": "numa", "memory": "pinned"}, "executor": "gpu"}


def planned(tmp_path: Path, row: Json, *rules: str) -> list[PlannedCase]:
    """The cases of ``row`` on a node whose copy-engine has ``rules``, each in YAML on one line."""
    path = tmp_path / "small.yaml"
    lines = [f"      - {{source: me, {rule}}}\n" for rule in (*rules, "when: {members: [99]}")]
    path.write_text(NODE + "".join(lines))
    return expand([suite_of(row)], load_machine(str(path)), CATALOG, Selection())


def latencies(cases: list[PlannedCase]) -> dict[str, float]:
    """By source and destination."""
    flows = [case.case["flows"][0] for case in cases if case.skip is None]
    return {f"{f['source']['device']}>{f['destination']['device']}": f["figures"]["latency_us"] for f in flows}


def test_the_first_rule_that_fits_replaces_what_it_names(tmp_path: Path) -> None:
    rules = ("when: {pairs: [[gpu:2, gpu:1]]}, latency_us: 9", "when: {tier: [thin]}, latency_us: 7, ceiling_gbps: 3")
    cases = planned(tmp_path, GPUS, *rules)
    assert latencies(cases) == {
        "gpu:0>gpu:1": 5, "gpu:1>gpu:0": 5, "gpu:0>gpu:2": 7, "gpu:2>gpu:0": 7, "gpu:1>gpu:2": 9, "gpu:2>gpu:1": 9,
    }  # fmt: skip
    figures = {f"{case.case['labels']['row']}": case.case["flows"][0]["figures"] for case in cases[:2]}
    assert figures["gpu:0"] == {"latency_us": 7, "efficiency": 0.9, "ceiling_gbps": 3}


def test_a_latency_is_assumed_where_its_own_method_or_rule_says_so(tmp_path: Path) -> None:
    rules = (
        "when: {tier: [wide]}, latency_us: 9, assumed: {latency_us: chosen}",
        "when: {tier: [thin]}, ceiling_gbps: 3",
    )
    told = {tuple(case.case["labels"].get("assumed", ())) for case in planned(tmp_path, GPUS, rules[1])}
    assert told == {()}
    cases = planned(tmp_path, GPUS, *rules)
    assert {case.case["labels"]["tier"] for case in cases if "assumed" in case.case["labels"]} == {"wide"}


TOUCHED: Json = {"on": "gpu", "memory": "device", "first_touch": "cpu"}


@pytest.mark.parametrize(
    ("fits", "misses", "row"),
    [
        ("source: numa", "source: gpu", FROM_HOST),
        ("destination: gpu", "destination: numa", FROM_HOST),
        ("source_memory: [pinned]", "source_memory: [device]", FROM_HOST),
        ("destination_memory: [device]", "destination_memory: [pinned]", FROM_HOST),
        ("memory: [managed, pinned]", "memory: [managed]", FROM_HOST),
        ("executor: gpu", "executor: numa", FROM_HOST),
        ("tier: [wide, thin]", "tier: [local]", GPUS),
        ("from_bytes: 1 MiB", "from_bytes: 1048577 B", GPUS),
        ("below_bytes: 1048577 B", "below_bytes: 1 MiB", GPUS),
        ("ends: apart", "ends: together", GPUS),
        ("first_touch: numa", "first_touch: gpu", {**GPUS, "source": TOUCHED, "destination": TOUCHED}),
        ("parameters: {call: sync}", "parameters: {call: async}", {**GPUS, "parameters": {"call": "sync"}}),
        (
            "environment: {NCCL_A: 0}",
            "environment: {NCCL_A: 1}",
            {**GPUS, "environment": [{"name": "a", "set": {"NCCL_A": 0}}]},
        ),
        ("opposite: idle", "opposite: busy", GPUS),
        ("opposite: busy", "opposite: idle", {**GPUS, "pattern": "both-ways"}),
        ("flows: [6]", "flows: [1]", {**GPUS, "pattern": "all-at-once"}),
        ("clock: [host]", "clock: [device]", {**GPUS, "clock": "host"}),
    ],
)
def test_every_condition_must_fit(tmp_path: Path, fits: str, misses: str, row: Json) -> None:
    rules = (f"when: {{{misses}}}, latency_us: 9", f"when: {{{fits}, clock: [batch]}}, latency_us: 9")
    rules = rules[:1] if fits.startswith("clock") else rules
    found = latencies(planned(tmp_path, row, *rules, f"when: {{{fits}}}, latency_us: 1"))
    assert set(found.values()) == {1}


def test_a_rule_may_say_that_nothing_is_known(tmp_path: Path) -> None:
    cases = planned(tmp_path, GPUS, "when: {tier: [thin]}, unknown: nobody measured it")
    assert [case.skip for case in cases].count("nobody measured it") == 4
    assert [case.skip for case in cases].count(None) == 2


@pytest.mark.parametrize(("machine", "held"), [("frontier", 32 << 20), ("mi300a", 256 << 20)])
def test_a_working_set_that_caches_hold_has_no_latency_of_memory(machine: str, held: int) -> None:
    cases = expand([load_suite("latency-host")], load_machine(machine), modelling_engine().catalog(), Selection())
    skips = {one.case["flows"][0]["bytes"]: one.skip for one in cases if one.case["name"] == "chase-by-size"}
    assert all("caches" in str(skip) for size, skip in skips.items() if size <= held)
    assert skips[max(skips)] is None


def test_parameters_that_nothing_describes_are_refused_and_the_engine_is_told_the_settled_ones(tmp_path: Path) -> None:
    (first, *_) = planned(tmp_path, {**GPUS, "parameters": {"staging": "host"}})
    assert "staging=host" in str(first.skip)
    staged = "when: {parameters: {staging: host, call: async}}, latency_us: 2"
    (first, *_) = planned(tmp_path, {**GPUS, "parameters": {"staging": "host", "call": "sync"}}, staged)
    assert {"staging=host", "call=sync"} <= set(str(first.skip).split())
    staged = "when: {parameters: {staging: host}}, latency_us: 2"
    (first, *_) = planned(tmp_path, {**GPUS, "parameters": {"staging": "host", "call": "sync"}}, staged)
    assert first.skip is None
    (flow,) = first.case["flows"]
    assert flow["parameters"] == {"staging": "host", "call": "sync"}
    assert flow["figures"]["settled"] == ["staging"]


def test_variables_that_nothing_describes_are_refused(tmp_path: Path) -> None:
    row = {**GPUS, "environment": [{"name": "default"}, {"name": "off", "set": {"HSA_ENABLE_SDMA": 0}}]}
    skips = {case.case["labels"]["environment"]: case.skip for case in planned(tmp_path, row)}
    assert skips["default"] is None
    assert {"copy-engine", "HSA_ENABLE_SDMA=0"} <= set(str(skips["off"]).split())


@pytest.mark.parametrize("memory", ["pageable", "managed"])
def test_memory_that_is_staged_or_migrates_needs_a_rule_that_names_it(tmp_path: Path, memory: str) -> None:
    row = {**FROM_HOST, "source": {"on": "numa", "memory": memory}}
    (first, *_) = planned(tmp_path, row, "when: {executor: gpu}, latency_us: 2")
    assert {"copy-engine", memory} <= set(str(first.skip).split())
    (first, *_) = planned(tmp_path, row, f"when: {{memory: [{memory}]}}, latency_us: 2")
    assert first.skip is None


def test_a_method_without_figures_takes_those_of_the_one_it_is_like(tmp_path: Path) -> None:
    cases = planned(tmp_path, {**GPUS, "method": "ipc-copy"}, "when: {tier: [thin]}, latency_us: 7")
    assert latencies(cases)["gpu:0>gpu:2"] == 7
    (first, *_) = planned(tmp_path, {**GPUS, "method": "kernel-copy"})
    assert "figures" not in first.case["flows"][0]


def test_cpus_reach_the_memory_of_gpus_in_their_package_only(tmp_path: Path) -> None:
    (first, *_) = planned(tmp_path, {**GPUS, "method": "memcpy", "executor": "numa"})
    assert first.skip == "numa:0 cannot load from the memory of gpu:0"


SUITES = (
    "default",
    "host-device",
    "pearson23",
    "schieffer24",
    "schieffer25",
    "scalarlm25",
    "collectives",
    "direct-access",
)


@pytest.mark.parametrize("name", machine_names())
def test_no_rule_is_hidden_behind_the_ones_before_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: set[int] = set()
    fits = _Choice._fits

    def seen(choice: _Choice, when: Json) -> bool:
        found = fits(choice, when)
        if found:
            reached.add(id(when))
        return found

    monkeypatch.setattr(_Choice, "_fits", seen)
    node, catalog = load_machine(name), modelling_engine().catalog()
    rules = {
        (method, n): id(rule["when"])
        for method, facts in node.methods.items()
        for n, rule in enumerate(facts.get("rules", ()))
    }
    for suite in SUITES:
        with suppress(LinkscopeError):  # a suite of which nothing fits the node
            if not reached.issuperset(rules.values()):
                expand([load_suite(suite)], node, catalog, Selection())
    assert [place for place, when in rules.items() if when not in reached] == []
