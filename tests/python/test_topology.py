"""The topology report: text, JSON and the picture, for described and recorded nodes."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.recording import from_recording
from linkscope.report import topology_svg, topology_text
from linkscope.report.topology_layout import Box, lay_out

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


def printed(node: Node) -> str:
    console = Console(width=160, record=True, file=None, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        topology_text.show(node, console)
    return capture.get()


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
    svg = topology_svg.draw(node)
    words = texts(svg)
    assert (topology_svg.MARK in words) == node.modelled
    for device in node.devices:
        if device.kind != "switch":
            assert device.id.replace(":", " ").upper() in words


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_labels_of_links_overlap_nothing(node: Node) -> None:
    pills = [
        Box(float(r.get("x", 0)) + float(r.get("width", 0)) / 2, float(r.get("y", 0)) + 9, float(r.get("width", 0)), 18)
        for r in ElementTree.fromstring(topology_svg.draw(node)).iter(f"{SVG}rect")
        if r.get("height") == "18"
    ]
    for a, b in itertools.combinations(pills, 2):
        assert not overlap(a, b)
    boxes = lay_out(node).boxes.values()
    assert not any(overlap(pill, box) for pill in pills for box in boxes)


def test_a_wider_bundle_is_drawn_thicker() -> None:
    root = ElementTree.fromstring(topology_svg.draw(load_machine("frontier")))
    width = {
        str(title.text)[:14]: float(path.get("stroke-width", 0))
        for path in root.iter(f"{SVG}path")
        if (title := path.find(f"{SVG}title")) is not None
    }
    assert width["gpu:0 to gpu:1"] > width["gpu:0 to gpu:6"] > width["gpu:0 to gpu:2"]


def test_names_are_escaped() -> None:
    node = Node("a <b> & c", (Device("numa:0", "numa", name='"<x>"'),), ())
    assert "a <b> & c" in texts(topology_svg.draw(node))


def test_text_shows_detours_and_the_mark() -> None:
    out = printed(load_machine("frontier"))
    assert topology_svg.MARK in out
    assert "2 (3)" in out
    assert "widest gpu:1 > gpu:0 > gpu:6 > gpu:7" in out


def test_text_owns_up_to_unknown_peaks() -> None:
    out = printed(from_recording(FIXTURES / "frontier.json"))
    assert topology_svg.MARK not in out
    assert "≤36.0" in out
    assert "unknown" in out


def test_json_holds_every_ordered_pair() -> None:
    data = json.loads(json.dumps(topology_text.to_json(load_machine("frontier"))))
    assert len(data["paths"]) == 12 * 11
    assert Node.from_json(data).name == "frontier"
    (path,) = [p for p in data["paths"] if (p["source"], p["destination"]) == ("gpu:1", "gpu:7")]
    assert (path["hops"], path["widest_hops"], path["peak_gbps"]) == (2, 3, 100)


def test_ranges() -> None:
    assert topology_text.ranges((0, 1, 2, 8)) == "0-2,8"
    assert topology_text.ranges(()) == ""


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_device_is_cut_short_in_the_matrices_of_a_large_node(width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    node = load_machine("frontier")
    topology_text.show(node, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    matrices = text[text.index("Hops of the shortest path") :]
    assert "…" not in matrices
    heads = [line for line in matrices.splitlines() if line.startswith("from")]
    for device in (*node.of_kind("gpu"), *node.of_kind("numa")):
        assert sum(device.id in line.split() for line in heads) == 2


@pytest.mark.parametrize(("available", "whole"), [(None, 13), (9, 13), (495, None)])
def test_less_memory_than_is_available_is_not_believed(available: int | None, whole: int | None) -> None:
    found = {} if available is None else {"available_bytes": available}
    assert Device("numa:0", "numa", memory_bytes=13, attributes=found).whole_memory_bytes == whole
