"""Patterns: which flows they lay out over which devices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscope.machine.described import load_machine
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Paths
from linkscope.plan.candidates import Candidates, FlowLayout
from linkscope.plan.patterns import OF_MEMBERS, PATTERNS, Pattern


def node(gpus: int, numa: int = 2) -> Node:
    """GPUs on an NVSwitch, spread over the NUMA nodes in halves."""
    devices = [Device(f"numa:{i}", "numa") for i in range(numa)]
    devices += [Device(f"gpu:{i}", "gpu", numa=i * numa // max(gpus, 1)) for i in range(gpus)]
    links = [Link(f"gpu:{i}", "switch:s", "nvlink", 450.0, tier="nvlink-18") for i in range(gpus)]
    links += [Link(f"gpu:{i}", f"numa:{i * numa // max(gpus, 1)}", "pcie", 63.0, tier="pcie-5") for i in range(gpus)]
    links += [Link("numa:0", "numa:1", "upi", 40.0, tier="upi")] if numa > 1 else []
    return Node("made up", (*devices, Device("switch:s", "switch")), tuple(links))


def lay(name: str, source: str = "gpu", destination: str = "gpu", gpus: int = 4) -> list[FlowLayout]:
    made = node(gpus)
    return PATTERNS[name](Candidates(Paths(made), source, destination, frozenset(d.id for d in made.devices)))


def flows(layout: FlowLayout, role: str = "measured") -> list[tuple[str, str]]:
    return [(slot.source, slot.destination) for slot in layout.slots if slot.role == role]


def test_pairs_are_all_ordered_pairs_of_distinct_devices() -> None:
    layouts = lay("pairs")
    assert len(layouts) == 12
    assert all(layout.slots[0].source != layout.slots[0].destination for layout in layouts)
    assert (layouts[0].row, layouts[0].column) == ("gpu:0", "gpu:1")


def test_grid_adds_the_diagonal_in_matrix_order() -> None:
    ends = [flows(layout)[0] for layout in lay("grid", gpus=2)]
    assert ends == [("gpu:0", "gpu:0"), ("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:1", "gpu:1")]


def test_nearest_numa_is_the_gpus_own() -> None:
    layouts = lay("pairs", "nearest-numa", "gpu")
    assert [flows(layout)[0] for layout in layouts] == [
        ("numa:0", "gpu:0"), ("numa:0", "gpu:1"), ("numa:1", "gpu:2"), ("numa:1", "gpu:3"),
    ]  # fmt: skip


def test_peer_numa_is_that_of_the_other_packages_too_where_a_gpu_shares_one_with_its_cpus() -> None:
    def ends(machine: Node, source: str, destination: str) -> list[tuple[str, str]]:
        candidates = Candidates(Paths(machine), source, destination, frozenset(device.id for device in machine.devices))
        return [flows(layout)[0] for layout in PATTERNS["one-per-tier"](candidates)]

    apus = load_machine("mi300a")
    assert ends(apus, "peer-numa", "gpu") == [("numa:0", "gpu:0"), ("numa:1", "gpu:0")]
    assert ends(apus, "gpu", "peer-numa") == [("gpu:0", "numa:0"), ("gpu:0", "numa:1")]
    for discrete in (node(gpus=4), load_machine("frontier"), load_machine("ac922")):
        assert ends(discrete, "peer-numa", "gpu") == ends(discrete, "nearest-numa", "gpu")
        assert ends(discrete, "gpu", "peer-numa") == ends(discrete, "gpu", "nearest-numa")


def test_peer_numa_keeps_to_the_gpus_that_were_selected() -> None:
    apus = load_machine("mi300a")
    chosen = frozenset({"gpu:0", "gpu:2", *(numa.id for numa in apus.of_kind("numa"))})
    layouts = PATTERNS["pairs"](Candidates(Paths(apus), "peer-numa", "gpu", chosen))
    assert [flows(layout)[0] for layout in layouts] == [
        ("numa:0", "gpu:0"), ("numa:2", "gpu:0"), ("numa:2", "gpu:2"), ("numa:0", "gpu:2"),
    ]  # fmt: skip


def test_both_ways_has_each_pair_once_with_two_opposite_flows() -> None:
    layouts = lay("both-ways")
    assert len(layouts) == 6
    for layout in layouts:
        (a, b), back = flows(layout)
        assert back == (b, a)
        assert [slot.reverse for slot in layout.slots] == [False, True]


def test_both_ways_each_measures_first_what_arrives_at_the_rows_device() -> None:
    layouts = lay("both-ways-each")
    assert len(layouts) == 12
    assert all(layout.slots[0].destination == layout.row for layout in layouts)


def test_against_keeps_the_opposite_direction_in_the_background() -> None:
    for layout in lay("against", "nearest-numa", "gpu"):
        assert flows(layout, "background") == [(b, a) for a, b in flows(layout)]


def test_one_to_all_and_all_to_one() -> None:
    spread, gathered = lay("one-to-all"), lay("all-to-one")
    assert [len(layout.slots) for layout in spread + gathered] == [3] * 8
    assert {source for source, _ in flows(spread[2])} == {"gpu:2"} == {spread[2].column}
    assert {destination for _, destination in flows(gathered[2])} == {"gpu:2"}


def test_each_among_all_gives_every_flow_a_place_of_its_own() -> None:
    (layout,) = lay("each-among-all", "gpu", "nearest-numa")
    assert flows(layout, "background") == []
    assert list(layout.places) == flows(layout)
    assert [source for source, _ in layout.places] == ["gpu:0", "gpu:1", "gpu:2", "gpu:3"]


def test_each_among_all_both_ways_has_every_path_busy_in_both_directions() -> None:
    (layout,) = lay("each-among-all-both-ways", "nearest-numa", "gpu")
    everything = flows(layout) + flows(layout, "background")
    assert len(set(everything)) == 8
    assert {(b, a) for a, b in everything} == set(everything)
    assert list(layout.places) == flows(layout)


def test_everything_at_once() -> None:
    assert [len(layout.slots) for layout in lay("all-at-once")] == [12]
    assert [len(layout.slots) for layout in lay("all-at-once-both-ways", "gpu", "nearest-numa")] == [8]
    assert flows(lay("ring")[0]) == [("gpu:0", "gpu:1"), ("gpu:1", "gpu:2"), ("gpu:2", "gpu:3"), ("gpu:3", "gpu:0")]
    assert len(lay("bisection")[0].slots) == 4


def test_all_to_all_is_laid_in_rounds_that_meet_at_no_destination() -> None:
    rounds = lay("rounds")
    assert [layout.column for layout in rounds] == ["shift 1", "shift 2", "shift 3"]
    assert flows(rounds[1]) == [("gpu:0", "gpu:2"), ("gpu:1", "gpu:3"), ("gpu:2", "gpu:0"), ("gpu:3", "gpu:1")]
    for layout in rounds:
        sources, destinations = zip(*flows(layout), strict=True)
        assert sorted(sources) == sorted(set(destinations)) == ["gpu:0", "gpu:1", "gpu:2", "gpu:3"]
    (at_once,) = lay("all-at-once")
    assert flows(at_once) == [flow for layout in rounds for flow in flows(layout)]  # enqueued round by round


def test_rounds_need_devices_that_both_send_and_receive() -> None:
    assert lay("rounds", "nearest-numa", "gpu") == []


def test_one_representative_of_each_tier() -> None:
    assert [layout.column for layout in lay("one-per-tier")] == ["nvlink-18: gpu:0 > gpu:1"]
    tiers = [layout.column.partition(":")[0] for layout in lay("one-per-tier", "numa", "gpu")]
    assert len(tiers) == len(set(tiers)) == 2  # on the GPU's own NUMA node, and across the sockets


def lay_frontier(name: str, devices: int = 8) -> list[FlowLayout]:
    frontier = load_machine("frontier")
    chosen = frozenset(d.id for d in frontier.devices if d.id not in {f"gpu:{i}" for i in range(devices, 8)})
    return PATTERNS[name](Candidates(Paths(frontier), "nearest-numa", "gpu", chosen))


def gpus(layout: FlowLayout) -> list[str]:
    return [slot.destination for slot in layout.slots]


def test_spread_takes_a_die_of_each_package_first() -> None:
    layouts = lay_frontier("spread")
    assert [layout.column for layout in layouts] == ["1 GPU", "2 GPUs", "4 GPUs", "8 GPUs"]
    assert gpus(layouts[1]) == ["gpu:0", "gpu:2"]
    assert gpus(layouts[2]) == ["gpu:0", "gpu:2", "gpu:4", "gpu:6"]


def test_same_package_fills_a_package_before_the_next() -> None:
    layouts = lay_frontier("same-package")
    assert [gpus(layout) for layout in layouts[:3]] == [["gpu:0"], ["gpu:0", "gpu:1"], [f"gpu:{i}" for i in range(4)]]


def test_a_number_of_gpus_that_is_no_power_of_two_ends_with_all() -> None:
    assert [len(layout.slots) for layout in lay_frontier("spread", 6)] == [1, 2, 4, 6]
    assert [len(layout.slots) for layout in lay_frontier("spread", 5)] == [1, 2, 4, 5]
    assert gpus(lay_frontier("spread", 3)[1]) == ["gpu:0", "gpu:2"]


def test_one_gpu_a_package_spreads_and_has_no_package_to_fill() -> None:
    assert [len(layout.slots) for layout in lay("spread", "nearest-numa", "gpu")] == [1, 2, 4]
    assert lay("same-package", "nearest-numa", "gpu") == []


def test_spread_between_gpus_has_every_flow_among_the_first() -> None:
    layouts = lay("spread")
    assert [len(layout.slots) for layout in layouts] == [2, 12]
    assert set(flows(layouts[0])) == {("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")}


@pytest.mark.parametrize("name", PATTERNS)
def test_one_gpu_has_no_flow_between_two(name: str) -> None:
    layouts = lay(name, gpus=1)
    assert all(slot.source == slot.destination for layout in layouts for slot in layout.slots)


@pytest.mark.parametrize(("name", "pattern"), PATTERNS.items())
def test_every_pattern_says_what_it_does(name: str, pattern: Pattern | Callable[..., object]) -> None:
    assert pattern.__doc__, name


@pytest.mark.parametrize("name", PATTERNS)
def test_every_layout_measures_something_first(name: str) -> None:
    for layout in lay(name):
        assert layout.members if name in OF_MEMBERS else layout.slots[0].role == "measured"
        assert len(set(layout.slots)) == len(layout.slots)
