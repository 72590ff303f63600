"""Paths: hops, widest paths, and what simultaneous flows reach, on the papers' machines and on small made-up ones."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscope.machine.described import load_machine
from linkscope.machine.fair_share import max_min
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Paths, Traffic, concurrent_peak, directed_links


def node_of(links: list[Link], memory_gbps: float | None = None) -> Node:
    ids = dict.fromkeys(end for link in links for end in (link.a, link.b))
    return Node("made up", tuple(Device(i, i.split(":")[0], memory_gbps=memory_gbps) for i in ids), tuple(links))


def gpu_pairs(node: Node) -> list[tuple[str, str]]:
    return list(itertools.permutations([gpu.id for gpu in node.of_kind("gpu")], 2))


@pytest.fixture(scope="module")
def frontier() -> Paths:
    return Paths(load_machine("frontier"))


def test_frontier_longest_shortest_path_is_two_hops(frontier: Paths) -> None:
    """schieffer24 figure 6a."""
    assert max(frontier.between(a, b).hops for a, b in gpu_pairs(frontier.node)) == 2


def test_frontier_detours_are_the_two_pairs_of_the_paper(frontier: Paths) -> None:
    """schieffer24 V-A1: 1-7 and 3-5 only."""
    detours = {frozenset(pair) for pair in gpu_pairs(frontier.node) if frontier.between(*pair).is_detour}
    assert detours == {frozenset(("gpu:1", "gpu:7")), frozenset(("gpu:3", "gpu:5"))}


def test_frontier_1_to_7(frontier: Paths) -> None:
    path = frontier.between("gpu:1", "gpu:7")
    assert path.shortest == ("gpu:1", "gpu:3", "gpu:7")
    assert path.widest == ("gpu:1", "gpu:0", "gpu:6", "gpu:7")
    assert path.route == ("gpu:1>gpu:0", "gpu:0>gpu:6", "gpu:6>gpu:7")
    assert (path.peak_gbps, path.widest_hops, path.tier) == (100, 3, "dual, 3 hops")


@pytest.mark.parametrize(
    ("pair", "peak", "tier"), [((0, 1), 200, "quad"), ((0, 6), 100, "dual"), ((0, 2), 50, "single")]
)
def test_frontier_direct_tiers(frontier: Paths, pair: tuple[int, int], peak: float, tier: str) -> None:
    path = frontier.between(f"gpu:{pair[0]}", f"gpu:{pair[1]}")
    assert (path.peak_gbps, path.tier, path.hops) == (peak, tier, 1)


def test_frontier_host_traffic_crosses_no_gpu(frontier: Paths) -> None:
    for numa, gpu in itertools.product(frontier.node.of_kind("numa"), frontier.node.of_kind("gpu")):
        path = frontier.between(numa.id, gpu.id)
        assert path.peak_gbps == 36
        assert not any(vertex.startswith("gpu") for vertex in path.widest[:-1])


def test_4029_reaches_gpus_without_a_link_in_two_nvlink_hops() -> None:
    """pearson19 4.3: from GPU0, GPUs 5 to 7 by two lanes and then one."""
    paths = Paths(load_machine("4029gp-tvrt"))
    reached = {gpu: paths.between("gpu:0", f"gpu:{gpu}") for gpu in range(1, 8)}
    assert [reached[gpu].hops for gpu in range(1, 8)] == [1, 1, 1, 1, 2, 2, 2]
    assert [reached[gpu].peak_gbps for gpu in (1, 2, 3, 4)] == [25, 25, 50, 50]
    assert [reached[gpu].peak_gbps for gpu in (5, 6)] == [25, 25]
    assert not any(path.is_detour for path in reached.values())
    assert all(all(v.startswith("gpu") for v in path.widest) for path in reached.values())


def test_other_triad_is_reached_over_the_host() -> None:
    path = Paths(load_machine("s822lc")).between("gpu:0", "gpu:2")
    assert path.widest == ("gpu:0", "numa:0", "numa:1", "gpu:2")
    assert (path.hops, path.peak_gbps) == (3, 38.4)


def test_apu_memory_is_reached_through_its_own_gpu() -> None:
    path = Paths(load_machine("mi300a")).between("numa:0", "numa:1")
    assert path.widest == ("numa:0", "gpu:0", "gpu:1", "numa:1")
    assert (path.peak_gbps, path.hops, path.tier) == (128, 1, "dual")


def test_switches_are_no_hops_and_stand_in_the_route() -> None:
    links = [Link(f"gpu:{i}", "switch:nvswitch", "nvlink", 450, 18, "nvlink-18") for i in range(2)]
    path = Paths(node_of(links)).between("gpu:0", "gpu:1")
    assert (path.hops, path.tier) == (1, "nvlink-18")
    assert path.route == ("gpu:0>switch:nvswitch", "switch:nvswitch>gpu:1")


def test_gpus_stay_on_their_fabric_even_where_the_host_is_wider() -> None:
    host = [Link(f"gpu:{i}", "numa:0", "pcie", 63.0) for i in range(2)]
    path = Paths(node_of([*host, Link("gpu:0", "gpu:1", "xgmi", 50.0)])).between("gpu:0", "gpu:1")
    assert (path.widest, path.peak_gbps) == (("gpu:0", "gpu:1"), 50.0)


def test_without_a_fabric_gpus_go_through_the_pcie_switch_they_share() -> None:
    links = [Link(f"gpu:{i}", "switch:pcie-0", "pcie", 31.5) for i in range(2)]
    links += [Link("gpu:2", "numa:0", "pcie", 31.5), Link("switch:pcie-0", "numa:0", "pcie", 15.8)]
    paths = Paths(node_of(links))
    assert paths.between("gpu:0", "gpu:1").peak_gbps == 31.5
    assert (paths.between("gpu:0", "gpu:2").peak_gbps, paths.between("gpu:0", "gpu:2").hops) == (15.8, 2)


def test_ways_may_differ() -> None:
    paths = Paths(node_of([Link("gpu:0", "gpu:1", "xgmi", 50), Link("gpu:1", "gpu:0", "xgmi", 25)]))
    assert (paths.between("gpu:0", "gpu:1").peak_gbps, paths.between("gpu:1", "gpu:0").peak_gbps) == (50, 25)


def test_a_directed_link_has_no_way_back() -> None:
    paths = Paths(node_of([Link("gpu:0", "gpu:1", "xgmi", 50, directed=True)]))
    assert paths.between("gpu:0", "gpu:1").peak_gbps == 50
    assert paths.between("gpu:1", "gpu:0") is None


def test_parallel_links_have_ids_of_their_own_and_the_wider_is_taken() -> None:
    node = node_of([Link("gpu:0", "numa:0", "pcie", 31.5), Link("gpu:0", "numa:0", "nvlink", 75)])
    assert {link.id for link in directed_links(node)} == {
        "gpu:0>numa:0", "gpu:0>numa:0/pcie", "numa:0>gpu:0", "numa:0>gpu:0/pcie",
    }  # fmt: skip
    assert Paths(node).between("numa:0", "gpu:0").peak_gbps == 75


def test_an_unknown_link_makes_the_peak_a_bound() -> None:
    path = Paths(node_of([Link("gpu:0", "numa:0", "pcie", 63), Link("numa:0", "numa:1", "upi")])).between(
        "gpu:0", "numa:1"
    )
    assert (path.peak_gbps, path.unknown) == (63, ("numa:0>numa:1",))


def test_an_unknown_device_is_a_key_error(frontier: Paths) -> None:
    with pytest.raises(KeyError):
        frontier.between("gpu:0", "gpu:99")


def test_all_to_one_is_limited_by_the_destination() -> None:
    paths = Paths(load_machine("h200x4"))
    shared = paths.concurrent_peak([Traffic(f"gpu:{i}", "gpu:0", f"gpu:{i}") for i in (1, 2, 3)])
    assert shared.gbps == pytest.approx(450)
    assert shared.flows == pytest.approx((150, 150, 150))
    assert shared.binding == ("switch:nvswitch>gpu:0",)


def test_both_directions_do_not_share() -> None:
    flows = [Traffic("gpu:0", "gpu:1", "gpu:0"), Traffic("gpu:1", "gpu:0", "gpu:1")]
    assert concurrent_peak(load_machine("h200x4"), flows).gbps == pytest.approx(900)


def test_flows_share_a_link_on_their_way_and_the_rest_goes_to_who_can_use_it(frontier: Paths) -> None:
    """0>6 carries 0 to 6 and, on its widest path, 1 to 7; 0 to 2 is apart."""
    flows = [Traffic("gpu:0", "gpu:6", "gpu:0"), Traffic("gpu:1", "gpu:7", "gpu:1"), Traffic("gpu:0", "gpu:2", "gpu:0")]
    shared = frontier.concurrent_peak(flows)
    assert shared.flows == pytest.approx((50, 50, 50))
    assert shared.binding == ("gpu:0>gpu:2", "gpu:0>gpu:6")


def test_a_local_copy_takes_its_memory_twice() -> None:
    node = node_of([Link("gpu:0", "numa:0", "pcie", 63)], memory_gbps=1600)
    assert Paths(node).peak(Traffic("gpu:0", "gpu:0", "gpu:0")) == pytest.approx(800)
    assert Paths(node).peak(Traffic("gpu:0", None, "gpu:0")) == pytest.approx(1600)


def test_a_third_device_carries_the_bytes_over_itself() -> None:
    node = node_of([Link("numa:0", "numa:1", "upi", 30)], memory_gbps=100)
    assert Paths(node).peak(Traffic("numa:0", "numa:0", "numa:1")) == pytest.approx(30)


def test_nothing_known_gives_no_peak() -> None:
    node = node_of([Link("gpu:0", "numa:0", "pcie")])
    assert Paths(node).peak(Traffic("numa:0", "gpu:0", "gpu:0")) is None


def test_traffic_of_a_plan_flow() -> None:
    flow = {"method": "kernel-read", "executor": "gpu:0", "source": {"device": "gpu:1", "memory": "device"}, "bytes": 8}
    assert Traffic.of(flow) == Traffic("gpu:1", None, "gpu:0")
    assert Traffic.of(flow).legs == (("gpu:1", "gpu:0"),)


NAMES = ("a", "b", "c", "d")
USES = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from([1.0, 2.0]), min_size=1), min_size=1, max_size=6
)
CAPACITIES = st.fixed_dictionaries({name: st.floats(1, 1000) for name in NAMES})


@given(USES, CAPACITIES)
def test_max_min_is_feasible_and_certified(uses: list[dict[str, float]], capacities: dict[str, float]) -> None:
    """Max-min fair: every flow crosses a full capacity on which no other flow has a higher rate."""
    share = max_min(uses, capacities)
    load = {n: sum(use.get(n, 0.0) * rate for use, rate in zip(uses, share.rates, strict=True)) for n in NAMES}
    assert all(load[name] <= capacities[name] * (1 + 1e-6) for name in NAMES)
    for use, rate in zip(uses, share.rates, strict=True):
        highest = {n: max(r for u, r in zip(uses, share.rates, strict=True) if n in u) for n in use}
        assert any(load[n] >= capacities[n] * (1 - 1e-6) and rate >= highest[n] * (1 - 1e-6) for n in use)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -1.0, 0.0, 5e-324, 1e308])
def test_max_min_ends_whatever_the_numbers(odd: float) -> None:
    assert len(max_min([{"a": 1, "b": 2}, {"b": odd}, {"c": 1e308}], {"a": odd, "b": 1, "c": odd}).rates) == 3
