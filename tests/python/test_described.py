"""Reading described nodes: names, paths, and one clear line for what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine, machine_sources
from linkscope.machine.node import Device, Link

SMALL = """
name: small
title: A small node
sources: {me: made up}
devices:
  - {of: numa:0, name: CPU, cores: 2, memory: 8 GiB, memory_gbps: 50, source: me}
  - of: gpu:0-1
    name: GPU
    memory: 16 GB
    memory_gbps: 900
    memory_latency_ns: 300
    numa: [0, 0]
    package: [0, 1]
    source: me
switches: {switch:pex: PEX}
links:
  - {kind: nvlink, tier: nv-1, lanes: 1, peak_gbps: 25, latency_ns: 70, every_pair_of: gpu, source: me 1}
  - {kind: pcie, tier: gen3, peak_gbps: 15.8, between: [[numa:0, switch:pex], [switch:pex, gpu:0]], source: me 2}
methods:
  copy-engine: {latency_us: 5, efficiency: 0.9, source: me}
assumptions: [one]
notes: [two]
"""


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(text)
    return str(path)


def edited(tmp_path: Path, *edits: tuple[str, str]) -> str:
    """SMALL with each (old, new) text replaced."""
    text = SMALL
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return write(tmp_path, text)


def test_a_file_says_where_its_figures_are_from(tmp_path: Path) -> None:
    assert machine_sources(write(tmp_path, SMALL)) == ({"me": "made up"}, {"copy-engine": "me"})


def test_a_file_becomes_a_node(tmp_path: Path) -> None:
    node = load_machine(write(tmp_path, SMALL))
    assert (node.name, node.modelled) == ("small", True)
    assert node.notes == ("A small node", "assumed: one", "two")
    assert node.methods == {"copy-engine": {"latency_us": 5, "efficiency": 0.9}}
    assert node.device("numa:0").cpus == (0, 1)
    assert node.device("numa:0").memory_bytes == 8 << 30
    assert node.device("gpu:1") == Device(
        id="gpu:1",
        kind="gpu",
        name="GPU",
        memory_bytes=16 * 10**9,
        memory_gbps=900,
        memory_latency_ns=300,
        numa=0,
        package=1,
        attributes={"source": "me"},
    )
    assert [device.id for device in node.of_kind("switch")] == ["switch:pex"]
    assert node.links[0] == Link("gpu:0", "gpu:1", "nvlink", 25, 1, "nv-1", "me 1", latency_ns=70)
    assert len(node.links) == 3


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(LinkscopeError, match=r"unknown machine 'frontiers': did you mean frontier"):
        load_machine("frontiers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not YAML"),
        ("- 1\n", "line 1: Expected `object`, got `array`"),
        ("{}", "name: is missing"),
    ],
)
def test_foreign_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LinkscopeError, match=message) as caught:
        load_machine(write(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert "small.yaml" in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="No such file"):
        load_machine(str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("peak_gbps: 25", "peak_gbps: 0", r"links\[0\]\.peak_gbps"),
        ("every_pair_of: gpu", "every_pair_of: gpu, between: [[gpu:0, gpu:1]]", r"links\[0\]"),
        ("efficiency: 0.9, source: me", "efficiency: 0.9", "methods.copy-engine.source: is missing"),
        ("efficiency", "efficency", "efficency"),
        ("[numa:0, switch:pex]", "[numa:0, switch:other]", "numa:0 to switch:other needs two different devices"),
        ("[switch:pex, gpu:0]", "[gpu:0, gpu:0]", "gpu:0 to gpu:0 needs two different devices"),
        ("numa: [0, 0]", "numa: [0]", "numa has 1 values for 2 devices"),
        ("of: numa:0", "of: gpu:0", "device gpu:0 stands there twice"),
        ("[switch:pex, gpu:0]", "[switch:pex, numa:0]", r"link numa:0 to switch:pex \(pcie\) stands there twice"),
        ("of: gpu:0-1", "of: gpu:1-0", "empty range"),
    ],
)
def test_broken_descriptions_say_where(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(LinkscopeError, match=message):
        load_machine(edited(tmp_path, (old, new)))


def test_peer_access_goes_both_ways_and_leaves_the_others_out(tmp_path: Path) -> None:
    three_gpus = [("gpu:0-1", "gpu:0-2"), ("[0, 0]", "[0, 0, 0]"), ("[0, 1]", "[0, 1, 2]")]
    node = load_machine(edited(tmp_path, *three_gpus, ("methods:", "peer_access: [[gpu:0, gpu:1]]\nmethods:")))
    assert [gpu.attributes["peers"] for gpu in node.of_kind("gpu")] == [["gpu:1"], ["gpu:0"], []]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("gpu:0-1", "gpu:0-999999999", "is more than any node has"),
        ("cores: 2", "cores: 9999999999", "more than any node has"),
        ("memory_gbps: 900", "memory_gbps: .nan", r"devices\[1\].memory_gbps: Expected"),
        ("peak_gbps: 25", "peak_gbps: .inf", r"links\[0\].peak_gbps: Expected"),
    ],
)
def test_what_no_machine_has_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint):
        load_machine(edited(tmp_path, (old, new)))


def test_what_never_ends_is_no_machine() -> None:
    with pytest.raises(LinkscopeError, match="/dev/zero is no file"):
        load_machine("/dev/zero")
