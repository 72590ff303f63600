"""Readers of counters on recorded answers: NVML by its own function names, sysfs trees, the kernel's log."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkscope.machine import amd_counters, kernel_log, nvml, pcie_errors
from linkscope.machine.doctor import examine
from linkscope.machine.files import LiveFiles, RecordedFiles
from linkscope.machine.health import Health, change
from linkscope.machine.kernel_log import LogEvent
from linkscope.machine.node import Node
from linkscope.machine.state import GpuState, MachineState, build_state
from linkscope.messages.finding import Level

HOPPER = {161: 12, 162: 505, 163: 0}
BLACKWELL = {206: 0, 213: 3, 214: 0, 215: 4, 219: 2, 220: 0x0F0C, 221: 0, 222: 0xFFF}
OF_GPU = {4: 0, 94: 7, 142: 0, 143: 1, 144: 0, 145: 0, 180: (1 << 64) - 1, 74: 5_000_000_000, 270: 0}
ULL = 3
HEALTHY = 2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8 | 1 << 12 | 1 << 14
"""healthMask of a GPU that is well."""


class FabricInfo(ctypes.Structure):
    """c_nvmlGpuFabricInfo_v3_t of pynvml."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("clusterUuid", ctypes.c_uint8 * 16),
        ("status", ctypes.c_uint),
        ("cliqueId", ctypes.c_uint32),
        ("state", ctypes.c_uint),
        ("healthMask", ctypes.c_uint32),
        ("healthSummary", ctypes.c_uint8),
    )


class RecordedNvml:
    """One GPU with two active NVLinks; ``links``: values of fields of link 1, ``older``: counters of the old call."""

    class NVMLError(Exception):
        pass

    c_nvmlGpuFabricInfo_v3_t = FabricInfo  # noqa: N815 (pynvml's name)

    def __init__(self, links: dict[int, int], older: dict[int, int] | None = None, mask: int = HEALTHY) -> None:
        self.links, self.older, self.mask = links, older or {}, mask
        self.batches = 0

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "nvmlInit": lambda: None,
            "nvmlShutdown": lambda: None,
            "nvmlDeviceGetCount": lambda: 1,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetPciInfo": lambda gpu: SimpleNamespace(busId="00000000:3B:00.0"),
            "nvmlDeviceGetNvLinkState": lambda gpu, link: 1 if link < 2 else self._refuse(),
            "nvmlDeviceGetUtilizationRates": lambda gpu: SimpleNamespace(gpu=40, memory=3),
            "nvmlDeviceGetBAR1MemoryInfo": lambda gpu: SimpleNamespace(bar1Total=1 << 38, bar1Used=1 << 21),
            "nvmlDeviceGetFieldValues": self._fields,
            "nvmlDeviceGetNvLinkErrorCounter": lambda gpu, link, one: (
                self.older.get(one) if self.older else self._refuse()
            ),
            "nvmlDeviceGetGpuFabricInfoV": self._fabric,
        }
        return answers.get(name, self._refuse)

    def _fields(self, gpu: int, wanted: list[Any]) -> list[Any]:
        self.batches += 1
        return [self._field(*(one if isinstance(one, tuple) else (one, 0))) for one in wanted]

    def _field(self, field: int, scope: int) -> Any:
        known = self.links if field in {*HOPPER, *BLACKWELL} else OF_GPU
        value = known.get(field)
        if value is not None and known is self.links and scope == 0:
            value = 0
        answer = SimpleNamespace(uiVal=0, ullVal=value or 0)
        return SimpleNamespace(nvmlReturn=3 if value is None else 0, valueType=ULL, value=answer)

    def _older(self, gpu: int, link: int, counter: int) -> Any:
        return self.older[counter] if self.older else self._refuse()

    def _fabric(self, gpu: int, reference: Any) -> int:
        info = reference._obj
        info.state, info.cliqueId, info.healthMask, info.clusterUuid[0] = 3, 32766, self.mask, 9
        return 0

    def _refuse(self, *_: Any) -> Any:
        raise self.NVMLError("Not Supported")


def _counters(api: RecordedNvml) -> dict[str, Any]:
    found: dict[str, Any] = nvml.read(api)["gpus"][0]["counters"]
    return found


def test_hopper_counts_by_link_and_what_is_not_known_is_absent() -> None:
    found = _counters(RecordedNvml(HOPPER))
    assert found["links"]["1"] == {"nvlink-replay": 12, "nvlink-recovery": 505, "nvlink-crc": 0}
    assert found["links"]["0"]["nvlink-recovery"] == 0
    assert found["counts"]["pcie-replay"] == 7
    assert "pcie-fatal" not in found["counts"]
    assert found["held_ns"]["power cap"] == 5_000_000_000
    assert found["bar1"] == {"bytes": 1 << 38, "used_bytes": 1 << 21}


def test_blackwell_counts_by_its_own_fields() -> None:
    found = _counters(RecordedNvml(BLACKWELL))
    assert found["links"]["1"]["nvlink-recovery"] == 4
    assert found["links"]["1"]["nvlink-effective"] == 2
    assert found["bit_error_rates"]["1"]["nvlink-effective"] == pytest.approx(15e-12)
    assert found["bit_error_rates"]["1"]["nvlink-symbol"] == pytest.approx(15e-255)


def test_older_gpus_are_asked_link_by_link() -> None:
    found = _counters(RecordedNvml({}, {0: 1, 1: 2, 2: 3, 3: 4, 4: 5}))
    assert found["links"]["0"]["nvlink-crc-flit"] == 3
    assert found["links"]["1"]["nvlink-ecc"] == 5


def test_a_gpu_is_read_in_few_calls() -> None:
    api = RecordedNvml(HOPPER)
    nvml.read(api)
    assert api.batches <= 8  # of which 2 for each link are its speed


def test_the_fabric_is_told_without_the_clusters_number() -> None:
    fabric = _counters(RecordedNvml(HOPPER))["fabric"]
    assert (fabric["state"], fabric["clique"], fabric["faults"]) == ("completed", 32766, [])
    assert len(fabric["cluster"]) == 8


@pytest.mark.parametrize(
    ("mask", "fault"),
    [
        (1, "degraded-bandwidth"),
        (1 << 4, "route-unhealthy"),
        (5 << 8, "configuration"),
        (2 << 12, "no-partition"),
        (2 << 14, "manager-disconnected"),
    ],
)
def test_bits_of_the_health_mask(mask: int, fault: str) -> None:
    assert _counters(RecordedNvml(HOPPER, mask=mask))["fabric"]["faults"] == [fault]


def test_state_has_the_counters_that_are_not_0_and_how_many_were_read() -> None:
    state = build_state({}, RecordedFiles(), nvml.read(RecordedNvml(HOPPER)))
    assert state.health.counts["gpu:0/1"] == {"nvlink-replay": 12, "nvlink-recovery": 505}
    assert "gpu:0/0" not in state.health.counts
    assert state.health.read["nvlink-crc"] == 2
    assert state.health.links == {"gpu:0": (0, 1)}
    assert (state.gpus[0].clique, state.gpus[0].busy, state.gpus[0].bar1_bytes) == (32766, 0.4, 1 << 38)
    assert MachineState.from_json(state.to_json()).health == state.health


def _write(root: Path, files: dict[str, str | bytes]) -> LiveFiles:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return LiveFiles(root)


def test_pcie_errors_of_both_ends(tmp_path: Path) -> None:
    files = _write(
        tmp_path,
        {
            "sys/bus/pci/devices/0000:3b:00.0/aer_dev_correctable": "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n",
            "sys/bus/pci/devices/0000:3a:00.0/aer_dev_correctable": "RxErr 4\nTOTAL_ERR_COR 4\n",
            "sys/bus/pci/devices/0000:3b:00.0/aer_dev_fatal": "TLP 0\nTOTAL_ERR_FATAL 0\n",
            "sys/bus/pci/devices/0000:3b:00.0/pcie_replay_count": "6\n",
        },
    )
    found = pcie_errors.read(files, "0000:3b:00.0", "0000:3a:00.0")
    assert found == {"pcie-correctable": 7, "pcie-fatal": 0, "pcie-replay": 6}
    assert pcie_errors.read(files, "0000:99:00.0", None) == {}


def _metrics(minor: int, recoveries: int, naks: int, cycles: int) -> bytes:
    table = bytearray(b"\xff" * 400)
    table[:4] = struct.pack("<HBB", len(table), 1, minor)
    struct.pack_into("<3Q", table, recoveries, 11, 22, (1 << 64) - 1)
    struct.pack_into("<2I", table, naks, 33, 44)
    struct.pack_into("<6I", table, cycles, 1000, 0, 250, 0, 0, 0)
    return bytes(table)


@pytest.mark.parametrize(("minor", "layout"), [(6, (96, 120, 32)), (7, (104, 128, 40)), (8, (104, 128, 40))])
def test_amd_counters(tmp_path: Path, minor: int, layout: tuple[int, int, int]) -> None:
    here = "sys/bus/pci/devices/0000:0c:00.0"
    files = _write(
        tmp_path,
        {
            f"{here}/ras/umc_err_count": "ue: 0\nce: 5\n",
            f"{here}/ras/xgmi_wafl_err_count": "ue: 1\nce: 2\n",
            f"{here}/ras/gfx_err_count": "ue: 0\nce: 3\n",
            f"{here}/ras/sdma_err_count": "ue: 0\nce: 4\n",
            f"{here}/ras/features": "feature mask: 0x1",
            f"{here}/gpu_metrics": _metrics(minor, *layout),
        },
    )
    found = amd_counters.read(files, "0000:0c:00.0")
    assert {name: count for name, count in found.counts.items() if count} == {
        **{"ecc-corrected": 5, "xgmi-uncorrected": 1, "xgmi-corrected": 2, "ras-corrected": 7},
        **{"pcie-recovery": 11, "pcie-replay": 22, "pcie-nak-sent": 33, "pcie-nak-received": 44},
    }
    assert (found.cycles, found.held["power cap"]) == (1000, 250)


@pytest.mark.parametrize("table", [b"", b"\x10\x00\x01\x03" + b"\0" * 60, b"\x10\x00\x01\x08" + b"\0" * 12])
def test_tables_of_metrics_that_are_short_or_unknown_say_nothing(tmp_path: Path, table: bytes) -> None:
    files = _write(tmp_path, {"sys/bus/pci/devices/0000:0c:00.0/gpu_metrics": table})
    assert amd_counters.read(files, "0000:0c:00.0").counts == {}


def test_the_kernels_log() -> None:
    records = [
        "6,1234,99000111,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
        "3,1235,99000222,-;NVRM: Xid (PCI:0000:3B:00): 149, pid=1, NETIR_LINK_EVT Fatal",
        "<3>[   99.000333] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32",
        "[  100.5] cut",
        "6,1,2,-;amdgpu 0000:0c:00.0: amdgpu: GPU reset begin!",
        "",
    ]
    assert kernel_log.events(records) == (
        LogEvent("xid", 99000222, "0000:3b:00", 149),
        LogEvent("sxid", 99000333, "0000:c1:00.0", 12028),
        LogEvent("gpu-reset", 2, "0000:0c:00.0"),
    )


def test_a_counter_that_falls_or_was_not_read_did_not_move() -> None:
    before = Health(counts={"gpu:0": {"pcie-replay": 9}}, read={"pcie-replay": 1})
    after = Health(
        counts={"gpu:0": {"pcie-replay": 3, "ecc-corrected": 4}}, read={"pcie-replay": 1, "ecc-corrected": 1}
    )
    assert change(before, after, 10.0).moved == {}


LINKS = {"gpu:0": tuple(range(18)), "gpu:1": tuple(range(18))}


def test_a_link_that_goes_down_hides_no_counter_of_others() -> None:
    before = Health(read={"nvlink-replay": 36}, links=LINKS)
    links = {**LINKS, "gpu:0": tuple(range(17))}
    after = Health(counts={"gpu:1/3": {"nvlink-replay": 500}}, read={"nvlink-replay": 35}, links=links)
    found = change(before, after, 10.0)
    assert (found.moved, found.down) == ({"gpu:1/3": {"nvlink-replay": 500}}, {"gpu:0": [17]})


def test_what_a_link_counted_before_it_came_up_did_not_move() -> None:
    before = Health(read={"nvlink-replay": 35}, links={**LINKS, "gpu:0": tuple(range(17))})
    counts = {"gpu:0/17": {"nvlink-replay": 9}, "gpu:1/3": {"nvlink-replay": 5}}
    after = Health(counts=counts, read={"nvlink-replay": 36}, links=LINKS)
    assert change(before, after, 10.0).moved == {"gpu:1/3": {"nvlink-replay": 5}}


def test_all_links_of_a_gpu_that_answers_may_go_down() -> None:
    before = Health(links=LINKS, answering=("gpu:0", "gpu:1"))
    assert change(before, Health(answering=("gpu:0",)), 10.0).down == {"gpu:0": list(range(18))}
    assert change(before, Health(), 10.0).down == {}


def test_an_event_of_an_unknown_kind_is_left_out() -> None:
    known = {"kind": "xid", "at_us": 1, "pci": "0000:3b:00", "number": 79}
    read = Health.from_json({"events": [{**known, "kind": "later"}, known], "log": True})
    assert [event.kind for event in read.events] == ["xid"]


def _doctored(health: Health, *gpus: GpuState) -> dict[str, Level]:
    found = examine(Node("n", (), ()), MachineState(health=health, gpus=gpus), {"host": {}})
    return {one.code: one.level for one in found if one.code.startswith("health.")}


def test_doctor_lists_what_is_not_0_as_notes() -> None:
    counts = {"gpu:0": {"ecc-corrected-ever": 3}, "gpu:0/4": {"nvlink-replay": 2}}
    found = _doctored(
        Health(counts=counts, log=False, events=(LogEvent("xid", 1, "0000:3b:00", 79),)), GpuState("gpu:0")
    )
    assert found == dict.fromkeys(
        ("health.counted", "health.links-counted", "health.no-log", "health.logged"), Level.NOTE
    )


def test_doctor_warns_of_faults() -> None:
    assert _doctored(Health(counts={"gpu:0": {"row-remap-failure": 1}})) == {}
    failed = _doctored(Health(counts={"gpu:0": {"row-remap-failure": 1}}), GpuState("gpu:0"))
    assert failed == {"health.remap-failed": Level.WARNING}
    assert _doctored(Health(), GpuState("gpu:0", fabric="in progress")) == {"health.fabric": Level.WARNING}
    apart = [GpuState(f"gpu:{n}", fabric="completed", cluster="a", clique=n) for n in range(2)]
    assert _doctored(Health(), *apart) == {"health.cliques": Level.WARNING}
    assert _doctored(Health(), GpuState("gpu:0", busy=0.9, processes=0)) == {"health.busy": Level.WARNING}
    assert _doctored(Health(), GpuState("gpu:0", busy=0.9, processes=1)) == {}


def test_doctor_has_two_lines_of_counters_at_most() -> None:
    counts = {f"gpu:{n}": {"ecc-corrected": n} for n in range(1, 8)} | {f"gpu:2/{n}": {"nvlink-crc": n} for n in (1, 2)}
    found = examine(Node("n", (), ()), MachineState(health=Health(counts=counts)), {"host": {}})
    mine = {one.code: one for one in found if one.code.startswith("health.")}
    assert len(mine) == 2
    assert mine["health.counted"].facts["counted"] == {"ecc-corrected": 28}
    assert (mine["health.links-counted"].facts["link"], mine["health.links-counted"].facts["most"]) == (2, 2)


def test_a_newer_versions_health_reads_without_what_is_not_known() -> None:
    event = {"kind": "xid", "at_us": 1, "pci": "0000:3b:00", "number": 79, "action": "reset"}
    data = {"counts": {"gpu:0/x": {"nvlink-new": 1}}, "links": {"gpu:0": [0]}, "events": [event], "more": 1}
    assert Health.from_json(data).events == (LogEvent("xid", 1, "0000:3b:00", 79),)
