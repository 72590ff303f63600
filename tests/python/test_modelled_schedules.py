"""Schedules on described nodes: which figures their steps get, and what the model makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from modelled_schedule import case_of, messages_s, played, seconds, why_not
from schema_files import load_schema

from linkscope.machine.described import load_machine
from linkscope.machine.node import Node
from linkscope.workload.halo import halo
from linkscope.workload.schedule import Message, Particles, Phase, Schedule, in_order

Json = dict[str, Any]
MB = 10**6

NODE = """
name: small
title: A small node
sources: {me: made up}
devices:
  - {of: numa:0, name: CPU, cores: 2, memory: 8 GiB, memory_gbps: 1000, source: me}
  - {of: gpu:0-2, name: AMD GPU, numa: [0, 0, 0], memory: 1 GiB, memory_gbps: 1000, source: me}
links:
  - {kind: xgmi, tier: wide, peak_gbps: 100, between: [[gpu:0, gpu:1]], source: me}
  - {kind: xgmi, tier: thin, peak_gbps: 25, between: [[gpu:1, gpu:2], [gpu:0, gpu:2]], source: me}
  - {kind: pcie, tier: host, peak_gbps: 10, between: [[numa:0, gpu:0], [numa:0, gpu:1], [numa:0, gpu:2]], source: me}
methods:
  mpi:
    latency_us: 10
    source: me
    rules:
      - {when: {environment: {ENGINES: 0}}, latency_us: 70, source: me}
      - {when: {tier: [thin], below_bytes: 1000 B}, latency_us: 40, source: me}
      - {when: {tier: [thin]}, latency_us: 50, efficiency: 0.5, source: me}
      - {when: {source_memory: [pageable]}, latency_us: 5, source: me}
      - {when: {opposite: busy}, latency_us: 30, source: me}
  kernel-copy: {latency_us: 4, source: me}
  mpi-collective: {latency_us: 1, step_us: 2, source: me}
  copy-engine:
    source: me
    rules: [{when: {memory: [pageable]}, latency_us: 6, source: me}]
"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    path = tmp_path / "small.yaml"
    path.write_text(NODE)
    return load_machine(str(path))


def plain(*messages: tuple[int, int, int], ranks: int = 3, **more: Any) -> Schedule:
    """One phase with these messages."""
    return Schedule("plain", ranks, in_order((Phase("all", tuple(Message(*one) for one in messages), **more),)))


GPUS = ("gpu:0", "gpu:1", "gpu:2")


def message_figures(case: Json) -> list[Json]:
    found: list[Json] = case["flows"][0]["schedule_figures"]["messages"]
    return found


def test_every_pair_and_size_has_the_figures_that_the_rules_give_it(node: Node) -> None:
    case = case_of(plain((0, 1, 8), (0, 2, 8), (1, 2, 999), (1, 2, MB)), GPUS)
    assert why_not(case, node) is None
    assert message_figures(case) == [
        {"pairs": [[0, 1]], "below_bytes": 1000, "figures": {"latency_us": 10}},
        {"pairs": [[0, 2], [1, 2]], "below_bytes": 1000, "figures": {"latency_us": 40}},
        {"pairs": [[1, 2]], "from_bytes": 1000, "figures": {"latency_us": 50, "efficiency": 0.5}},
    ]
    case = case_of(plain((0, 1, 8), (1, 0, 8)), GPUS)
    assert why_not(case, node) is None
    assert [one["figures"] for one in message_figures(case)] == [{"latency_us": 30}]


def test_a_plan_with_them_is_what_the_schema_says(node: Node) -> None:
    schedule = halo(2, (64, 32), 10)
    case = case_of(schedule, GPUS[:2], staging="full")
    assert why_not(case, node) is None
    plan = {"schema": 1, "options": {}, "cases": [case]}
    jsonschema_rs.validator_for(load_schema("plan")).validate(json.loads(json.dumps(plan)))
    assert set(case["flows"][0]["schedule_figures"]) == {
        "messages", "packs", "copies_out", "copies_in", "staged_on", "collectives",
    }  # fmt: skip


def test_messages_take_what_their_pairs_say(node: Node) -> None:
    row = played(case_of(plain((0, 1, MB), (1, 2, MB)), GPUS), node)
    assert row["status"] == "ok"
    assert row["modelled"]
    # The thin link has half of 25 GB/s for it.
    assert seconds(row) == pytest.approx(50e-6 + 80e-6)
    assert row["flows"][0]["parts_s"] == pytest.approx([130e-6] * 3)
    told = row["flows"][0]["breakdown"]
    assert [one["parts_s"] for one in told] == [{"wait": pytest.approx(130e-6)}] * 3
    assert "verified" not in row


def test_ranks_on_other_devices_take_other_links(node: Node) -> None:
    schedule = plain((0, 1, MB), ranks=2)
    times = [seconds(played(case_of(schedule, order), node)) for order in (GPUS[:2], GPUS[1:])]
    assert times == pytest.approx([20e-6, 130e-6])


def test_the_halo_exchange_is_packed_sent_unpacked_and_reduced(node: Node) -> None:
    schedule = halo(2, (64, 32), 10)
    row = played(case_of(schedule, GPUS[:2]), node)
    assert row["status"] == "ok"
    for one in row["flows"][0]["breakdown"]:
        parts = one["parts_s"]
        assert set(parts) == {"pack", "wait", "unpack", "collectives"}
        assert sum(parts.values()) == pytest.approx(seconds(row))
        assert sum(one["phases_s"]) == pytest.approx(seconds(row))
        assert len(one["phases_s"]) == len(schedule.phases)
        # An exchange at the start and six a step; three all-reduces a step and five in the tenth, of two steps each.
        assert parts["collectives"] == pytest.approx((30 + 5) * 5e-6)
        assert parts["pack"] == pytest.approx(61 * 4e-6, rel=0.01)
    assert messages_s(row, schedule) == pytest.approx(61 * (30 + 2 * 4) * 1e-6, rel=0.01)


def test_host_staging_copies_through_the_nearest_numa_node(node: Node) -> None:
    schedule = plain((0, 1, MB), ranks=2)
    row = played(case_of(schedule, GPUS[:2], staging="full"), node)
    # Out and in at 10 GB/s, and between them within the memory of numa:0, which is read and written.
    assert seconds(row) == pytest.approx(2 * (6 + 100) * 1e-6 + (5 + 2) * 1e-6)
    assert row["flows"][0]["breakdown"][0]["parts_s"]["copy"] == pytest.approx(106e-6)


def test_particles_end_their_rounds_with_an_all_reduce(node: Node) -> None:
    rounds = tuple(Phase(f"round {n}", (Message(0, 1, 8 + 136 * (9 - n)),), termination="blocking") for n in range(2))
    schedule = Schedule("particles", 2, in_order(rounds), particles=Particles((20, 20), ((1,), (0,)), 10))
    row = played(case_of(schedule, GPUS[:2]), node)
    assert row["flows"][0]["breakdown"][0]["parts_s"]["collectives"] == pytest.approx(2 * 5e-6)


def test_an_environment_is_for_messages_and_need_not_be_known_to_packs(node: Node) -> None:
    case = case_of(halo(2, (64, 32), 10), GPUS[:2], environment={"ENGINES": "0"})
    assert why_not(case, node) is None
    assert message_figures(case)[0]["figures"]["latency_us"] == 70
    case = case_of(halo(2, (64, 32), 10), GPUS[:2], environment={"ENGINES": "2"})
    assert {"mpi", "ENGINES=2"} <= set(str(why_not(case, node)).split())


@pytest.mark.parametrize(
    ("method", "memory", "parameters", "lacking"),
    [
        ("xccl-schedule", "device", {}, "xccl (messages)"),
        ("direct-schedule", "device", {}, "direct-collective"),
        ("mpi-schedule", "managed", {}, "mpi in managed memory"),
    ],
)
def test_what_is_not_described_is_said(
    node: Node, method: str, memory: str, parameters: dict[str, str], lacking: str
) -> None:
    case = case_of(halo(2, (64, 32), 10), GPUS[:2], method, memory, **parameters)
    assert lacking in str(why_not(case, node))


def test_host_memory_is_not_staged(node: Node) -> None:
    case = case_of(plain((0, 1, 8), ranks=2), ("numa:0", "numa:0"), memory="pinned", staging="full")
    assert why_not(case, node) == "messages in the memory of numa:0 need no staging"


def test_a_rank_with_more_than_its_device_holds_is_skipped(node: Node) -> None:
    row = played(case_of(halo(2, (8192, 4096), 1), GPUS[:2]), node)
    assert row["status"] == "skipped"
    assert "gpu:0 need" in row["reason"]
    assert "it has 1 GiB" in row["reason"]


@pytest.mark.parametrize(
    ("machine", "methods"),
    [
        ("frontier", ("mpi-schedule", "direct-schedule")),
        ("mi300a", ("mpi-schedule", "xccl-schedule", "direct-schedule")),
        ("h200x4", ("xccl-schedule", "direct-schedule")),
    ],
)
def test_described_nodes_play_the_halo_exchange(machine: str, methods: tuple[str, ...]) -> None:
    described = load_machine(machine)
    order = tuple(gpu.id for gpu in described.of_kind("gpu"))
    for method in methods:
        row = played(case_of(halo(len(order), (16384, 16384), 10), order, method), described)
        assert row["status"] == "ok", row
        assert row["modelled"]
        assert len(row["flows"][0]["breakdown"]) == len(order)
