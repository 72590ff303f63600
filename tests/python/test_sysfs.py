"""sysfs: NUMA nodes, PCIe links, ACS, from recorded files and from a directory tree."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from linkscope.machine import sysfs
from linkscope.machine.files import Files, LiveFiles, RecordedFiles, RecordingFiles

GPU = "0000:18:00.0"
PORT = "0000:15:01.0"


def gpu_files(**texts: str) -> RecordedFiles:
    here = f"{sysfs.PCI}/{GPU}"
    return RecordedFiles(
        texts={f"{here}/{name}": value for name, value in texts.items()},
        targets={here: f"/sys/devices/pci0000:15/{PORT}/{GPU}"},
    )


@pytest.mark.parametrize(("generation", "peak"), [(1, 4.0), (2, 8.0), (3, 15.75), (4, 31.51), (5, 63.02), (6, 121.0)])
def test_pcie_payload_peak_of_sixteen_lanes(generation: int, peak: float) -> None:
    assert sysfs.pcie_gbps(generation, 16) == peak


@pytest.mark.parametrize(("text", "cpus"), [("0-3,8", (0, 1, 2, 3, 8)), ("5", (5,)), ("", ()), (None, ())])
def test_cpu_list(text: str | None, cpus: tuple[int, ...]) -> None:
    assert sysfs.cpu_list(text) == cpus


@pytest.mark.parametrize(
    ("address", "normal"),
    [("00000000:1A:00.0", "0000:1a:00.0"), ("0000:c1:00.0", "0000:c1:00.0"), ("1A:00.0", "0000:1a:00.0")],
)
def test_normal_pci(address: str, normal: str) -> None:
    assert sysfs.normal_pci(address) == normal


def test_numa_nodes() -> None:
    files = RecordedFiles(
        texts={
            f"{sysfs.NODES}/node0/cpulist": "0-1",
            f"{sysfs.NODES}/node0/meminfo": "Node 0 MemTotal:  2048 kB\nNode 0 MemFree: 1 kB",
            f"{sysfs.NODES}/node0/distance": "10 21",
            f"{sysfs.NODES}/node1/cpulist": "",
            f"{sysfs.NODES}/node1/meminfo": "Node 1 MemTotal:  1024 kB",
            f"{sysfs.CPUS}/cpu0/topology/physical_package_id": "0",
        }
    )
    first, second = sysfs.numa_nodes(files)
    assert (first.cpus, first.memory_bytes, first.package, first.distances) == ((0, 1), 2 << 20, 0, {0: 10, 1: 21})
    assert (second.cpus, second.package) == ((), None)


def test_a_pcie_link_is_as_wide_as_its_narrower_end() -> None:
    files = gpu_files(max_link_speed="32.0 GT/s PCIe", max_link_width="16", current_link_speed="2.5 GT/s PCIe")
    files.texts[f"{sysfs.PCI}/{PORT}/max_link_speed"] = "16.0 GT/s PCIe"
    files.texts[f"{sysfs.PCI}/{PORT}/max_link_width"] = "16"
    facts = sysfs.pcie(files, GPU)
    assert facts.maximum == sysfs.PcieWidth(4, 16)
    assert facts.current.generation == 1
    assert facts.upstream == (PORT,)


def test_nothing_readable_is_nothing_known() -> None:
    facts = sysfs.pcie(RecordedFiles(), GPU)
    assert facts.maximum.gbps is None
    assert (facts.numa, facts.upstream, facts.iommu, facts.acs_redirect) == (None, (), None, None)


def test_an_unknown_speed_and_no_numa_node_are_none() -> None:
    facts = sysfs.pcie(gpu_files(max_link_speed="Unknown", max_link_width="0", numa_node="-1"), GPU)
    assert (facts.maximum, facts.numa) == (sysfs.PcieWidth(None, None), None)


@pytest.mark.parametrize(("control", "redirects"), [(0x1D, True), (0x11, False)])
def test_acs_is_found_behind_other_capabilities(control: int, redirects: bool) -> None:
    config = bytearray(4096)
    config[0x100:0x104] = (0x0001 | 0x150 << 20).to_bytes(4, "little")  # error reporting, next at 0x150
    config[0x150:0x154] = (0x000D | 1 << 16).to_bytes(4, "little")
    config[0x156:0x158] = control.to_bytes(2, "little")
    config[0x180:0x18C] = (0x0003).to_bytes(4, "little") + b"serial!!"
    config[0x152:0x154] = (0x180 << 4).to_bytes(2, "little")  # the serial number comes after ACS
    files = gpu_files()
    files.blobs[f"{sysfs.PCI}/{PORT}/config"] = base64.b64encode(zlib.compress(bytes(config))).decode()
    recorder = RecordingFiles(files)
    assert sysfs.pcie(recorder, GPU).acs_redirect is redirects
    assert sysfs.pcie(recorder.kept, GPU).acs_redirect is redirects
    assert b"serial" not in (recorder.kept.read_bytes(f"{sysfs.PCI}/{PORT}/config") or b"")


def test_a_short_config_space_says_nothing_of_acs() -> None:
    files = gpu_files()
    files.blobs[f"{sysfs.PCI}/{PORT}/config"] = base64.b64encode(zlib.compress(bytes(64))).decode()
    assert sysfs.pcie(files, GPU).acs_redirect is None


def test_live_files_below_a_root_and_their_recording_agree(tmp_path: Path) -> None:
    device = tmp_path / f"sys/devices/pci0000:15/{PORT}/{GPU}"
    device.mkdir(parents=True)
    (device / "max_link_speed").write_text("32.0 GT/s PCIe\n")
    (device / "max_link_width").write_text("8\n")
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / f"sys/bus/pci/devices/{GPU}").symlink_to(device)
    recorder = RecordingFiles(LiveFiles(tmp_path))
    live: Files = recorder
    facts = sysfs.pcie(live, GPU)
    assert facts.maximum == sysfs.PcieWidth(5, 8)
    assert sysfs.pcie(recorder.kept, GPU) == facts


def test_a_recording_keeps_nothing_that_names_the_machine(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/cmdline").write_text("root=/dev/secret iommu=pt hostname=secret intel_iommu=on\n")
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nmodel name : X\n\nprocessor : 1\nmodel name : X\n")
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.8.0-secret\n")
    recorder = RecordingFiles(LiveFiles(tmp_path))
    for path in ("/proc/cmdline", "/proc/cpuinfo", "/proc/sys/kernel/osrelease"):
        recorder.read(path)
    assert recorder.kept.texts["/proc/cmdline"] == "iommu=pt intel_iommu=on"
    assert recorder.kept.texts["/proc/cpuinfo"] == "processor : 0\nmodel name : X"
    assert "secret" not in str(recorder.kept.to_json())
