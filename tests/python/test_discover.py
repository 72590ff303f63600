"""Discovery: whole machines from recordings, and from less and less."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linkscope.errors import LinkscopeError
from linkscope.machine.described import load_machine
from linkscope.machine.discover import build_node, discover
from linkscope.machine.files import RecordedFiles
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.machine.recording import from_recording, load_recording

FIXTURES = Path(__file__).parents[1] / "fixtures/machines"
RECORDINGS = sorted(FIXTURES.glob("*.json"))
NOTHING: dict[str, Any] = {"devices": []}
UNKNOWN_NVML: dict[str, Any] = {"problem": "not here"}


def fabric(node: Node) -> set[tuple[frozenset[str], float | None, int | None, str]]:
    links = [link for link in node.links if link.kind == "xgmi"]
    return {(frozenset((link.a, link.b)), link.peak_gbps, link.lanes, link.tier) for link in links}


def test_frontier_from_kfd_is_the_described_frontier() -> None:
    found, described = from_recording(FIXTURES / "frontier.json"), load_machine("frontier")
    assert fabric(found) == fabric(described)
    assert [gpu.numa for gpu in found.of_kind("gpu")] == [3, 3, 1, 1, 0, 0, 2, 2]
    assert [gpu.package for gpu in found.of_kind("gpu")] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {(link.kind, link.peak_gbps) for link in found.links if link.b.startswith("numa") and link.a[0] == "g"} == {
        ("xgmi-cpu", 36.0)
    }


def test_a_machine_that_grows_has_the_memory_that_its_engine_can_allocate() -> None:
    node, meminfo = "/sys/devices/system/node", "Node 0 MemTotal:  4194304 kB"
    files = RecordedFiles({f"{node}/node0/meminfo": meminfo, f"{node}/node0/cpulist": "0-1"}, {node: ["node0"]})
    for listed, expected in ((1 << 37, 1 << 37), (1 << 30, 1 << 32), (None, 1 << 32)):
        device = {"id": "numa:0", "cpus": [0, 1]} | ({} if listed is None else {"memory_bytes": listed})
        assert build_node({"devices": [device]}, files, UNKNOWN_NVML).device("numa:0").memory_bytes == expected


def test_nvswitch_is_one_vertex_with_eighteen_lanes_from_each_gpu() -> None:
    node = from_recording(FIXTURES / "h200-nvswitch.json")
    nvlinks = [link for link in node.links if link.kind == "nvlink"]
    assert [(link.b, link.lanes, link.peak_gbps) for link in nvlinks] == [("switch:nvswitch", 18, 450.0)] * 4
    assert Paths(node).between("gpu:0", "gpu:3").tier == "nvlink-18"
    assert Paths(node).between("numa:0", "gpu:3").tier == "pcie5-x16"


def test_the_recorded_four_gpu_node_has_eighteen_nvlinks_a_gpu_and_the_peaks_of_its_links() -> None:
    node = from_recording(FIXTURES / "h200x4-recorded.json")
    links = {(link.a, link.b): (link.kind, link.lanes, link.peak_gbps) for link in node.links}
    gpus = [gpu.id for gpu in node.of_kind("gpu")]
    assert gpus == ["gpu:0", "gpu:1", "gpu:2", "gpu:3"]
    assert links == {
        **{(gpu, "switch:nvswitch"): ("nvlink", 18, 450.0) for gpu in gpus},
        **{(gpu, "numa:0"): ("pcie", 16, 63.02) for gpu in gpus},
    }
    paths = Paths(node)
    between_gpus = [paths.between(a, b) for a in gpus for b in gpus if a != b]
    assert {(path.peak_gbps, path.tier, path.hops) for path in between_gpus if path} == {(450.0, "nvlink-18", 1)}
    from_host = [paths.between("numa:0", gpu) for gpu in gpus]
    assert {(path.peak_gbps, path.tier) for path in from_host if path} == {(63.02, "pcie5-x16")}
    assert all(gpu.memory_gbps == pytest.approx(4814.3) and gpu.numa == 0 for gpu in node.of_kind("gpu"))


def test_the_described_four_gpu_node_is_the_recorded_one() -> None:
    found, described = from_recording(FIXTURES / "h200x4-recorded.json"), load_machine("h200x4")
    for kind in ("gpu", "numa", "switch"):
        assert [device.id for device in found.of_kind(kind)] == [device.id for device in described.of_kind(kind)]
    assert [gpu.numa for gpu in found.of_kind("gpu")] == [gpu.numa for gpu in described.of_kind("gpu")]
    a, b = ({frozenset((link.a, link.b)): link for link in node.links} for node in (found, described))
    assert a.keys() == b.keys()
    for ends, link in a.items():
        assert (link.kind, link.tier, link.lanes) == (b[ends].kind, b[ends].tier, b[ends].lanes)
        assert link.peak_gbps == pytest.approx(b[ends].peak_gbps, rel=0.01)
    rates = [(gpu.memory_gbps, other.memory_gbps) for gpu, other in zip(found.devices, described.devices, strict=True)]
    assert all(one == pytest.approx(other, rel=0.01) for one, other in rates if one is not None)


def test_the_recording_names_no_host_and_no_serial_number() -> None:
    text = (FIXTURES / "h200x4-recorded.json").read_text()
    assert not re.search(r"\bserial\b|uuid|GPU-[0-9a-f]{8}|hostname|/home/|/root/|/tmp/", text, re.IGNORECASE)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_recording_says_where_it_comes_from_and_reaches_every_pair(path: Path) -> None:
    recording = load_recording(path)
    assert recording.origin.startswith(("recorded", "constructed"))
    node = recording.node()
    places = [device.id for device in node.devices if device.kind != "switch"]
    assert not node.modelled
    assert all(Paths(node).between(a, b) is not None for a in places for b in places)
    assert Node.from_json(node.to_json()) == node


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_survives_saving(path: Path, tmp_path: Path) -> None:
    recording = load_recording(path)
    recording.save(tmp_path / "copy.json")
    assert load_recording(tmp_path / "copy.json") == recording


def test_nvlink_between_gpus_is_counted_once() -> None:
    def gpu(index: int, peer: int) -> dict[str, Any]:
        lanes = [
            {"lane": n, "active": True, "version": 2, "remote_type": 0, "remote_pci": f"0000:0{peer}:00.0"}
            for n in (0, 1)
        ]
        return {"index": index, "name": "V100", "pci": f"0000:0{index}:00.0", "nvlinks": lanes}

    node = build_node(NOTHING, RecordedFiles(), {"gpus": [gpu(0, 1), gpu(1, 0)]})
    (link,) = [link for link in node.links if link.kind == "nvlink"]
    assert ({link.a, link.b}, link.lanes, link.peak_gbps) == ({"gpu:0", "gpu:1"}, 2, 50.0)


def test_gpus_that_share_a_root_port_hang_off_a_switch() -> None:
    base = load_recording(FIXTURES / "h200-nvswitch.json")
    pcis = [device["pci"] for device in base.description["devices"] if "pci" in device]
    port = "0000:10:01.0"
    targets = {f"/sys/bus/pci/devices/{p}": f"/sys/devices/pci0000:10/{port}/0000:11:00.0/{p}" for p in pcis[:2]}
    texts = {**base.files.texts}
    texts |= {f"/sys/bus/pci/devices/{port}/max_link_{n}": v for n, v in (("speed", "16.0 GT/s PCIe"), ("width", "16"))}
    node = build_node(
        base.description, replace(base.files, texts=texts, targets=base.files.targets | targets), base.nvml
    )
    assert Paths(node).between("numa:0", "gpu:0").widest == ("numa:0", f"switch:pcie-{port}", "gpu:0")
    assert Paths(node).between("numa:0", "gpu:0").peak_gbps == 31.51
    assert Paths(node).between("numa:0", "gpu:2").peak_gbps == 63.02


def test_an_apu_shares_its_memory_with_its_numa_node() -> None:
    root = "/sys/class/kfd/kfd/topology/nodes"
    gpu = "simd_count 912\nlocation_id 256\ngfx_target_version 90402"
    files = RecordedFiles(
        texts={
            f"{root}/0/properties": "cpu_cores_count 24\nsimd_count 0",
            f"{root}/1/properties": gpu,
            f"{root}/1/mem_banks/0/properties": "width 8192\nmem_clk_max 1300",
            f"{root}/1/io_links/0/properties": "type 11\nnode_from 1\nnode_to 0\nweight 13\nmax_bandwidth 819200",
        }
    )
    (link,) = build_node(NOTHING, files, UNKNOWN_NVML).links
    assert (link.kind, link.b, link.peak_gbps) == ("on-package", "numa:0", pytest.approx(2662.4))


def test_without_an_engine_for_them_gpus_come_from_nvml() -> None:
    base = load_recording(FIXTURES / "h200-nvswitch.json")
    node = build_node(NOTHING, base.files, base.nvml)
    assert [gpu.name for gpu in node.of_kind("gpu")] == ["NVIDIA H200"] * 4


def test_without_nvml_and_files_there_is_still_a_connected_node_and_a_remark() -> None:
    devices = [{"id": "numa:0", "name": ""}, {"id": "gpu:0", "name": "X"}, {"id": "gpu:1", "name": "X"}]
    node = build_node({"devices": devices}, RecordedFiles(), UNKNOWN_NVML)
    path = Paths(node).between("gpu:0", "gpu:1")
    assert (path.hops, path.peak_gbps, len(path.unknown)) == (2, None, 2)
    assert any("no direct link" in note for note in node.notes)
    assert "not here" in node.notes


def test_an_empty_machine_has_one_numa_node(tmp_path: Path) -> None:
    node = discover(NOTHING, root=tmp_path)
    assert [device.id for device in node.devices] == ["numa:0"]


def test_this_machine() -> None:
    node = discover(NOTHING, nvml_answers=UNKNOWN_NVML)
    assert sum(len(device.cpus) for device in node.of_kind("numa")) >= 1


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', "not json"])
def test_a_foreign_file_is_refused_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(LinkscopeError) as error:
        from_recording(tmp_path / "x.json")
    assert "\n" not in str(error.value)
