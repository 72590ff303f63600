"""Topology: its answer, JSON and picture, for machine models and recorded nodes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from linkscope.answers.topology import ranges, to_json, topology
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Paths
from linkscope.machine.recording import from_recording
from linkscope.render import render
from linkscope.render.svg.node import MARK, draw
from linkscope.render.svg.node_colours import Checked, reached
from linkscope.render.svg.node_layout import Box, lay_out

FIXTURES = Path(__file__).parents[1] / "fixtures/machines"
SVG = "{http://www.w3.org/2000/svg}"
LAPTOP = Node("laptop", (Device("numa:0", "numa", memory_bytes=16 << 30, cpus=tuple(range(8))),), ())
HOST_ONLY = Node(
    "two sockets", (Device("numa:0", "numa"), Device("numa:1", "numa")), (Link("numa:0", "numa:1", "upi", detail="x"),)
)
NODES = [
    *(load_machine(name) for name in machine_names()),
    *(from_recording(path) for path in sorted(FIXTURES.glob("*.json"))),
    LAPTOP,
    HOST_ONLY,
]


def overlap(a: Box, b: Box) -> bool:
    return abs(a.x - b.x) < (a.width + b.width) / 2 and abs(a.y - b.y) < (a.height + b.height) / 2


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_boxes_do_not_overlap_and_lie_inside(node: Node) -> None:
    layout = lay_out(node)
    assert set(layout.boxes) == {device.id for device in node.devices}
    for (a, box_a), (b, box_b) in itertools.combinations(layout.boxes.items(), 2):
        assert not overlap(box_a, box_b), f"{a} and {b}"
    assert all(
        box.left >= 0 and box.right <= layout.width and box.bottom <= layout.bottom for box in layout.boxes.values()
    )


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_picture_is_well_formed_and_marks_what_is_described(node: Node) -> None:
    svg = draw(node).svg
    words = texts(svg)
    assert (MARK in words) == node.modelled
    for device in node.devices:
        if device.kind != "switch":
            assert device.id.replace(":", " ").upper() in words


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_labels_of_links_overlap_nothing(node: Node) -> None:
    pills = [
        Box(float(r.get("x", 0)) + float(r.get("width", 0)) / 2, float(r.get("y", 0)) + 9, float(r.get("width", 0)), 18)
        for r in ElementTree.fromstring(draw(node).svg).iter(f"{SVG}rect")
        if r.get("height") == "18"
    ]
    for a, b in itertools.combinations(pills, 2):
        assert not overlap(a, b)
    boxes = lay_out(node).boxes.values()
    assert not any(overlap(pill, box) for pill in pills for box in boxes)


def test_a_wider_bundle_is_drawn_thicker() -> None:
    root = ElementTree.fromstring(draw(load_machine("frontier")).svg)
    width = {
        str(title.text)[:14]: float(path.get("stroke-width", 0))
        for path in root.iter(f"{SVG}path")
        if (title := path.find(f"{SVG}title")) is not None
    }
    assert width["gpu:0 to gpu:1"] > width["gpu:0 to gpu:6"] > width["gpu:0 to gpu:2"]


def test_names_are_escaped() -> None:
    node = Node("a <b> & c", (Device("numa:0", "numa", name='"<x>"'),), ())
    assert "a <b> & c" in texts(draw(node).svg)


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_a_topology_fits_one_screen_and_lists_every_device_in_detail(node: Node) -> None:
    found = topology(node)
    lines = render(found, width=80).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert found.outcome is None
    every = found.table("topology.every-device").frame["device"].to_list()
    assert every == [device.id for device in node.devices]


def test_a_topology_knows_detours_and_unknown_peaks() -> None:
    details = {found.facts.get("widest", found.code) for found in topology(load_machine("frontier")).details}
    assert "gpu:1 > gpu:0 > gpu:6 > gpu:7" in details
    recorded = topology(from_recording(FIXTURES / "frontier.json"))
    assert "topology.unknown-peak" in {found.code for found in recorded.details}
    assert "<=36.0" in recorded.table("topology.every-peak").frame["cell"].to_list()


def test_links_of_a_slow_pair_behind_a_switch_are_not_as_expected() -> None:
    node = load_machine("h200x4")
    gpus = [device.id for device in node.of_kind("gpu")]
    pair = {"gpu:0", "gpu:1"}
    results = [
        Checked(a, b, "copy", 0.8 if {a, b} == pair else 1.0, {a, b} == pair) for a in gpus for b in gpus if a != b
    ]
    named, unnamed = (reached(results, Paths(node), names).links for names in (pair, ()))
    slow = {ends[0] for ends, reach in named.items() if reach.slow}
    assert slow == pair
    assert not any(reach.slow for reach in unnamed.values())


def test_json_holds_every_ordered_pair() -> None:
    data = json.loads(json.dumps(to_json(load_machine("frontier"))))
    assert len(data["paths"]) == 12 * 11
    assert Node.from_json(data).name == "frontier"
    (path,) = [p for p in data["paths"] if (p["source"], p["destination"]) == ("gpu:1", "gpu:7")]
    assert (path["hops"], path["widest_hops"], path["peak_gbps"]) == (2, 3, 100)


def test_ranges() -> None:
    assert ranges((0, 1, 2, 8)) == "0-2,8"
    assert ranges(()) == ""


@pytest.mark.parametrize(("available", "whole"), [(None, 13), (9, 13), (495, None)])
def test_less_memory_than_is_available_is_not_believed(available: int | None, whole: int | None) -> None:
    found = {} if available is None else {"available_bytes": available}
    assert Device("numa:0", "numa", memory_bytes=13, attributes=found).whole_memory_bytes == whole
