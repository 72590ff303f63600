"""Every file in machines/ is valid and says of its node what the sources say."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from pathlib import Path

import pytest
import yaml

from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.modelled.machine import ModelledMachine

MACHINES = Path(__file__).resolve().parents[2] / "machines"
GIB = 1 << 30


def links_of(node: Node, kind: str) -> dict[tuple[str, str], tuple[int | None, float | None, str]]:
    """(a, b) sorted -> lanes, peak, tier."""
    return {
        tuple(sorted((link.a, link.b))): (link.lanes, link.peak_gbps, link.tier)  # type: ignore[misc]
        for link in node.links
        if link.kind == kind
    }


def test_the_described_nodes_are_there() -> None:
    assert machine_names() == ["4029gp-tvrt", "ac922", "frontier", "h100x8", "h200x4", "mi300a", "mi300x", "s822lc"]


@pytest.mark.parametrize("name", machine_names())
def test_machine_is_valid_and_modelled_and_connected(name: str) -> None:
    node = load_machine(name)
    assert node.name == name
    assert node.modelled
    assert Node.from_json(node.to_json()) == node
    paths = Paths(node)
    for a, b in combinations([*node.of_kind("gpu"), *node.of_kind("numa")], 2):
        assert paths.between(a.id, b.id) is not None, f"{a.id} cannot reach {b.id}"
    places = sum(device.kind != "switch" for device in node.devices)
    assert len(ModelledMachine(paths).capacities) == 2 * len(node.links) + places


@pytest.mark.parametrize("name", machine_names())
def test_every_citation_names_a_source_of_the_file(name: str) -> None:
    data = yaml.safe_load((MACHINES / f"{name}.yaml").read_text())
    known = (*data["sources"], "assumed", "as ", "takes", "PCIe 5.0")
    rules = [rule for method in data["methods"].values() for rule in method.get("rules", ())]
    for entry in [*data["devices"], *data["links"], *data["methods"].values(), *rules]:
        assert entry["source"].startswith(known), entry["source"]
        if entry["source"].startswith("assumed"):
            assert data["assumptions"]


# Pearson 2023 Table I and Fig. 1; Schieffer 2024 II-A, Fig. 1 and V-A1. Package to NUMA map: OLCF user guide.
FRONTIER_XGMI = {
    ("gpu:0", "gpu:1"): (4, 200, "quad"),
    ("gpu:2", "gpu:3"): (4, 200, "quad"),
    ("gpu:4", "gpu:5"): (4, 200, "quad"),
    ("gpu:6", "gpu:7"): (4, 200, "quad"),
    ("gpu:0", "gpu:6"): (2, 100, "dual"),
    ("gpu:2", "gpu:4"): (2, 100, "dual"),
    ("gpu:0", "gpu:2"): (1, 50, "single"),
    ("gpu:1", "gpu:3"): (1, 50, "single"),
    ("gpu:1", "gpu:5"): (1, 50, "single"),
    ("gpu:3", "gpu:7"): (1, 50, "single"),
    ("gpu:4", "gpu:6"): (1, 50, "single"),
    ("gpu:5", "gpu:7"): (1, 50, "single"),
}
FRONTIER_NUMA = [3, 3, 1, 1, 0, 0, 2, 2]


def test_frontier_links_are_the_published_ones() -> None:
    node = load_machine("frontier")
    assert links_of(node, "xgmi") == FRONTIER_XGMI
    assert links_of(node, "xgmi-cpu") == {
        (f"gpu:{gpu}", f"numa:{numa}"): (1, 36, "cpu") for gpu, numa in enumerate(FRONTIER_NUMA)
    }
    assert [gpu.numa for gpu in node.of_kind("gpu")] == FRONTIER_NUMA
    assert {(gpu.memory_bytes, gpu.memory_gbps) for gpu in node.of_kind("gpu")} == {(64 * GIB, 1600)}
    assert sum(numa.memory_gbps or 0 for numa in node.of_kind("numa")) == pytest.approx(204.8)
    assert {numa.memory_latency_ns for numa in node.of_kind("numa")} == {96}


def test_mi300a_pairs_share_128_gbps_and_reproduce_the_remote_latency() -> None:
    node = load_machine("mi300a")
    xgmi = links_of(node, "xgmi")
    assert len(xgmi) == 6
    assert set(xgmi.values()) == {(2, 128, "dual")}
    assert set(links_of(node, "on-package")) == {(f"gpu:{i}", f"numa:{i}") for i in range(4)}
    latency = next(link.latency_ns for link in node.links if link.kind == "xgmi")
    assert node.device("gpu:0").memory_latency_ns == 346
    assert 346 + 2 * (latency or 0) == 690  # Schieffer 2025, 5.1


def test_mi300x_is_fully_connected() -> None:
    xgmi = links_of(load_machine("mi300x"), "xgmi")
    assert len(xgmi) == 28
    assert set(xgmi.values()) == {(1, 50, "single")}


@pytest.mark.parametrize(("name", "lanes", "nvlink", "xbus"), [("ac922", 3, 75, 64), ("s822lc", 2, 40, 38.4)])
def test_power_triads(name: str, lanes: int, nvlink: float, xbus: float) -> None:
    node = load_machine(name)
    triads = [("numa:0", "gpu:0", "gpu:1"), ("numa:1", "gpu:2", "gpu:3")]
    assert set(links_of(node, "nvlink")) == {tuple(sorted(p)) for t in triads for p in combinations(t, 2)}
    assert {facts[:2] for facts in links_of(node, "nvlink").values()} == {(lanes, nvlink)}
    assert links_of(node, "xbus")[("numa:0", "numa:1")][1] == xbus
    peak = Paths(node).between("gpu:0", "gpu:2")
    assert peak is not None
    assert peak.peak_gbps == xbus


def test_s822lc_gpus_are_peers_inside_their_triad_only() -> None:
    node = load_machine("s822lc")
    machine = ModelledMachine(Paths(node))
    pairs = [(a.id, b.id) for a, b in permutations(node.of_kind("gpu"), 2) if machine.peers(a.id, b.id)]
    assert pairs == [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:2", "gpu:3"), ("gpu:3", "gpu:2")]
    assert ModelledMachine(Paths(load_machine("ac922"))).peers("gpu:0", "gpu:3")


def test_4029gp_mesh_has_the_stated_links_at_gpu0_and_six_lanes_everywhere() -> None:
    node = load_machine("4029gp-tvrt")
    nvlink = links_of(node, "nvlink")
    at_zero = {b: facts[0] for (a, b), facts in nvlink.items() if a == "gpu:0"}
    assert at_zero == {"gpu:1": 1, "gpu:2": 1, "gpu:3": 2, "gpu:4": 2}  # Pearson 2019, 4.3
    lanes: Counter[str] = Counter()
    for (a, b), (count, peak, _) in nvlink.items():
        assert peak == 25 * (count or 0)
        lanes.update({a: count or 0, b: count or 0})
    assert lanes == {f"gpu:{i}": 6 for i in range(8)}
    paths = Paths(node)
    for far in ("gpu:5", "gpu:6", "gpu:7"):
        path = paths.between("gpu:0", far)
        assert path is not None
        assert path.hops == 2
    for gpu in node.of_kind("gpu"):
        path = paths.between(f"numa:{gpu.numa}", gpu.id)
        assert path is not None
        assert path.peak_gbps == 15.8
        assert any(vertex.startswith("switch:pex") for vertex in path.widest)


@pytest.mark.parametrize(
    ("name", "far", "peer_ns", "host_ns", "flag_ns"),
    [("h200x4", "gpu:3", 827, 1170, 758.5), ("h100x8", "gpu:7", 825, 1179, 630)],
)
def test_latencies_of_nvswitch_nodes_add_up_to_the_measured_ones(
    name: str, far: str, peer_ns: float, host_ns: float, flag_ns: float
) -> None:
    node = load_machine(name)
    paths = Paths(node)

    def one_way(a: str, b: str) -> float:
        path = paths.between(a, b)
        assert path is not None
        return sum(paths.links[link].link.latency_ns or 0 for link in path.route)

    def load(a: str, b: str) -> float:
        return (node.device(b).memory_latency_ns or 0) + 2 * one_way(a, b)

    assert load("gpu:0", far) == pytest.approx(peer_ns)
    assert load("gpu:0", "numa:0") == pytest.approx(host_ns)
    assert node.methods["ping-pong"]["latency_us"] * 1e3 + one_way("gpu:0", far) == pytest.approx(flag_ns)
    between = paths.between("gpu:0", far)
    assert between is not None
    assert between.peak_gbps == 450


def test_h100x8_has_one_nvswitch_and_four_gpus_a_socket() -> None:
    node = load_machine("h100x8")
    assert set(links_of(node, "nvlink")) == {(f"gpu:{i}", "switch:nvswitch") for i in range(8)}
    assert [node.device(f"gpu:{i}").numa for i in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
