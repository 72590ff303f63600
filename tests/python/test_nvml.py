"""NVML: reading through a stand-in for pynvml, and what the answers mean."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from linkscope.machine import nvml


class FakeNvml:
    """Two GPUs: one with two NVLink lanes to the other and little else, one that refuses nearly everything."""

    class NVMLError(Exception):
        pass

    def __init__(self, starts: bool = True) -> None:
        self.starts = starts
        self.stopped = False

    def nvmlInit(self) -> None:  # noqa: N802 (NVML's name)
        if not self.starts:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.stopped = True

    def __getattr__(self, name: str) -> Any:
        answers: dict[str, Any] = {
            "nvmlSystemGetDriverVersion": lambda: b"580.1",
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda gpu: f"GPU {gpu}",
            "nvmlDeviceGetPciInfo": lambda gpu: SimpleNamespace(busId=f"00000000:0{gpu + 1}:00.0"),
            "nvmlDeviceGetMemoryBusWidth": lambda gpu: self._only(gpu, 6144),
            "nvmlDeviceGetMaxClockInfo": lambda gpu, _: self._only(gpu, 3201),
            "nvmlDeviceGetNvLinkState": lambda gpu, lane: self._only(gpu, 1) if lane < 2 else self._refuse(),
            "nvmlDeviceGetNvLinkRemotePciInfo": lambda *_: SimpleNamespace(busId=b"00000000:02:00.0"),
            "nvmlDeviceGetNvLinkRemoteDeviceType": lambda *_: 0,
            "nvmlDeviceGetNvLinkVersion": lambda *_: 6,
            "nvmlDeviceGetSerial": lambda gpu: self._only(gpu, b"1650924"),
            "nvmlDeviceGetUUID": lambda gpu: f"GPU-{gpu}",
        }
        return answers.get(name, self._refuse)

    def _only(self, gpu: int, value: Any) -> Any:
        return value if gpu == 0 else self._refuse()

    def _refuse(self, *_: Any) -> Any:
        raise self.NVMLError("Not Supported")


def test_what_nvml_refuses_is_absent() -> None:
    api = FakeNvml()
    answers = nvml.read(api)
    first, second = answers["gpus"]
    assert answers["driver"] == "580.1"
    assert first["pci"] == "0000:01:00.0"
    assert nvml.memory_gbps(first) == pytest.approx(4916.7)
    assert "memory_bus_bits" not in second
    assert second["nvlinks"] == []
    assert api.stopped


def test_identities_are_told_by_address_and_never_with_what_is_recorded() -> None:
    api = FakeNvml()
    told = nvml.identities(api)
    assert told == {"0000:01:00.0": {"serial": "1650924", "uuid": "GPU-0"}, "0000:02:00.0": {"uuid": "GPU-1"}}
    assert api.stopped
    assert "1650924" not in str(nvml.read(FakeNvml()))
    assert nvml.identities(FakeNvml(starts=False)) == {}


def test_lanes() -> None:
    lanes = nvml.links(nvml.read(FakeNvml())["gpus"][0])
    assert [(lane.gbps, lane.generation, lane.remote, lane.remote_pci) for lane in lanes] == [
        (25.0, 4, "gpu", "0000:02:00.0")
    ] * 2


def test_no_driver_is_a_problem_not_an_error() -> None:
    assert nvml.read(FakeNvml(starts=False)) == {"problem": "NVML does not start: Driver Not Loaded"}


@pytest.mark.parametrize(
    ("link", "capability", "gbps"),
    [
        ({"version": 1}, None, 20.0),
        ({"version": 7}, None, 50.0),
        ({"version": 5}, [8, 0], 25.0),  # 3.1 by the code, 5 by the number: the architecture settles it
        ({"version": 5}, [10, 0], 50.0),
        ({"version": 5, "speed_mbps": 26562}, None, 25.0),
        ({"speed_mbps": 53125}, None, 50.0),
        ({"speed_mbps": 20000}, None, 20.0),
        ({}, None, None),
    ],
)
def test_payload_of_one_lane(link: dict[str, Any], capability: list[int] | None, gbps: float | None) -> None:
    gpu = {"compute_capability": capability, "nvlinks": [{"lane": 0, "active": True, **link}]}
    assert nvml.links(gpu)[0].gbps == gbps


def test_inactive_lanes_do_not_count() -> None:
    assert nvml.links({"nvlinks": [{"lane": 0, "active": False}]}) == ()


def test_throttle_reasons_in_words() -> None:
    assert nvml.reasons(0x44) == ("power cap", "thermal (hardware)")
    assert nvml.reasons(None) == ()
