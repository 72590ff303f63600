"""KFD: AMD's topology files, on frontier as constructed from its published topology."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.machine import kfd
from linkscope.machine.files import RecordedFiles
from linkscope.machine.recording import load_recording

FIXTURES = Path(__file__).parents[1] / "fixtures/machines"


@pytest.fixture(scope="module")
def nodes() -> tuple[kfd.KfdNode, ...]:
    return kfd.read(load_recording(FIXTURES / "frontier.json").files)


def test_cpus_and_gpus(nodes: tuple[kfd.KfdNode, ...]) -> None:
    assert [node.is_gpu for node in nodes] == [False] * 4 + [True] * 8
    assert nodes[4].pci == "0000:c1:00.0"
    assert nodes[4].architecture == "gfx90a"
    assert nodes[4].memory_gbps == pytest.approx(1638.4)


def test_lanes_come_from_widest_over_single(nodes: tuple[kfd.KfdNode, ...]) -> None:
    to = {link.target: link for link in nodes[4].links}
    assert [(to[gcd].lanes, to[gcd].peak_gbps) for gcd in (5, 6, 10)] == [(4, 200), (1, 50), (2, 100)]


def test_gpus_reached_over_others_are_not_direct(nodes: tuple[kfd.KfdNode, ...]) -> None:
    direct = {link.target for link in nodes[4].links if link.is_direct}
    assert direct == {3, 5, 6, 10}


def test_no_driver_no_nodes() -> None:
    assert kfd.read(RecordedFiles()) == ()


def test_a_node_without_permission_and_odd_lines_are_left_out() -> None:
    files = RecordedFiles(
        texts={
            f"{kfd.NODES}/0/properties": "",
            f"{kfd.NODES}/1/properties": "simd_count 440\nlocation_id 49408\nname\nunique_id 0x12",
            f"{kfd.NODES}/1/io_links/0/properties": "type 11\nnode_from 1",
        }
    )
    (gpu,) = kfd.read(files)
    assert (gpu.index, gpu.pci, gpu.links, gpu.architecture) == (1, "0000:c1:00.0", (), None)


def test_bandwidth_zero_is_unknown() -> None:
    files = RecordedFiles(
        texts={
            f"{kfd.NODES}/0/properties": "simd_count 1",
            f"{kfd.NODES}/0/io_links/0/properties": "type 11\nnode_from 0\nnode_to 1\nweight 15\nmax_bandwidth 0",
        }
    )
    link = kfd.read(files)[0].links[0]
    assert (link.peak_gbps, link.lanes, link.is_direct) == (None, None, True)
