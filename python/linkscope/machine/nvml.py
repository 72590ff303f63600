"""NVML: what NVIDIA's management library says of GPUs, NVLink and PCIe, as one JSON-ready dict.

Everything NVML is asked lands in that dict and nothing else asks it (nvml_counters.py has the part about counters), so
a recorded dict replays a machine.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from linkscope.machine import nvml_counters
from linkscope.machine.sysfs import normal_pci

MAX_LINKS = 18
#: Payload GB/s per lane and direction, by NVLink generation (NVIDIA's architecture white papers: P100 20, V100 25,
#: A100 25, H100 25, B200 50). Line coding is subtracted, packet headers are not.
NVLINK_LANE_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 50.0}
_GENERATION_OF_CODE = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5}  # nvmlNvlinkVersion_t: 1.0 2.0 2.2 3.0 3.1 4.0 5.0
_REMOTE_OF_TYPE = {0: "gpu", 1: "cpu", 2: "switch"}
_FIELD_LINK_SPEED_MBPS = 164  # NVML_FI_DEV_NVLINK_GET_SPEED, scope: the link
_FIELD_COMMON_SPEED_MBPS = 90  # NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
_REASONS = {
    0x001: "idle",
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal (software)",
    0x040: "thermal (hardware)",
    0x080: "power brake",
    0x100: "display clocks",
    0x200: "board limit",
    0x400: "reliability",
}


@dataclass(frozen=True)
class NvLink:
    """One active lane of a GPU. ``remote``: gpu, cpu, switch or unknown; ``remote_pci``: where the other end says."""

    lane: int
    generation: int | None
    gbps: float | None
    remote: str
    remote_pci: str | None


def read(api: Any = None) -> dict[str, Any]:
    """Asks NVML. ``api`` is the pynvml module or a stand-in with the same functions.

    Returns {"driver", "nvml", "cuda", "gpus": [...]} or {"problem": one line}. A GPU's missing answers are absent.
    """
    ask = _started(api)
    if isinstance(ask, str):
        return {"problem": ask}
    try:
        versions = {
            "driver": ask("nvmlSystemGetDriverVersion"),
            "nvml": ask("nvmlSystemGetNVMLVersion"),
            "cuda": ask("nvmlSystemGetCudaDriverVersion_v2"),
        }
        count = ask("nvmlDeviceGetCount") or 0
        gpus = [_gpu(ask, index) for index in range(count)]
        return {**_present(versions), "gpus": gpus}
    finally:
        ask("nvmlShutdown")


def identities(api: Any = None) -> dict[str, dict[str, str]]:
    """Serial and uuid of each GPU, by PCI address, where NVML says; apart from ``read``, whose answers are recorded."""
    ask = _started(api)
    if isinstance(ask, str):
        return {}
    try:
        handles = [ask("nvmlDeviceGetHandleByIndex", index) for index in range(ask("nvmlDeviceGetCount") or 0)]
        found = {ask.address(handle): ask.identity(handle) for handle in handles if handle is not None}
        return {address: identity for address, identity in found.items() if address is not None}
    finally:
        ask("nvmlShutdown")


def links(gpu: dict[str, Any]) -> tuple[NvLink, ...]:
    """Active NVLink lanes of one GPU of ``read()``."""
    return tuple(
        NvLink(
            lane=link["lane"],
            generation=_generation(link, gpu),
            gbps=_lane_gbps(link, gpu),
            remote=_REMOTE_OF_TYPE.get(link.get("remote_type", 0xFF), "unknown"),
            remote_pci=link.get("remote_pci"),
        )
        for link in gpu.get("nvlinks", ())
        if link.get("active")
    )


def memory_gbps(gpu: dict[str, Any]) -> float | None:
    """Peak of the GPU's memory: bus width times the highest memory clock, two transfers a clock."""
    width, clock = gpu.get("memory_bus_bits"), gpu.get("memory_clock_max_mhz")
    return round(width / 8 * clock * 2 / 1000, 1) if width and clock else None


def reasons(mask: int | None) -> tuple[str, ...]:
    """Names of the bits of nvmlDeviceGetCurrentClocksEventReasons."""
    return tuple(name for bit, name in _REASONS.items() if (mask or 0) & bit)


class _Asker:
    """Calls NVML and turns "not supported", "no permission" and absent functions into None."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def __call__(self, function: str, *arguments: Any) -> Any:
        call = getattr(self.api, function, None)
        if call is None:
            return None
        try:
            answer = call(*arguments)
        except self.api.NVMLError:
            return None
        return answer.decode() if isinstance(answer, bytes) else answer

    def address(self, handle: Any) -> str | None:
        pci = self("nvmlDeviceGetPciInfo", handle)
        return _address(pci.busId) if pci is not None else None

    def identity(self, handle: Any) -> dict[str, str]:
        serial, uuid = self("nvmlDeviceGetSerial", handle), self("nvmlDeviceGetUUID", handle)
        return _present({"serial": serial, "uuid": uuid})


def _started(api: Any) -> _Asker | str:
    """NVML, to be shut down, or why there is none."""
    if api is None:
        try:
            import pynvml as api  # type: ignore[no-redef]
        except ImportError:
            return "nvidia-ml-py is not installed"
    try:
        api.nvmlInit()
    except api.NVMLError as error:
        return f"NVML does not start: {error}"
    return _Asker(api)


def _gpu(ask: _Asker, index: int) -> dict[str, Any]:
    handle = ask("nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return {"index": index, "problem": "no access"}
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    nvlinks = [link for lane in range(MAX_LINKS) if (link := _link(ask, handle, lane)) is not None]
    answers = {
        "index": index,
        "name": ask("nvmlDeviceGetName", handle),
        "pci": ask.address(handle),
        "memory_bytes": memory.total if memory is not None else None,
        "memory_used_bytes": memory.used if memory is not None else None,
        "memory_bus_bits": ask("nvmlDeviceGetMemoryBusWidth", handle),
        "memory_clock_max_mhz": ask("nvmlDeviceGetMaxClockInfo", handle, 2),
        "compute_capability": _list(ask("nvmlDeviceGetCudaComputeCapability", handle)),
        "pcie": _present(
            {
                "generation": ask("nvmlDeviceGetCurrPcieLinkGeneration", handle),
                "generation_max": ask("nvmlDeviceGetMaxPcieLinkGeneration", handle),
                "lanes": ask("nvmlDeviceGetCurrPcieLinkWidth", handle),
                "lanes_max": ask("nvmlDeviceGetMaxPcieLinkWidth", handle),
            }
        ),
        "state": _state(ask, handle),
        "nvlinks": nvlinks,
        "counters": nvml_counters.read(ask, handle, [link["lane"] for link in nvlinks if link["active"]]) or None,
    }
    return _present(answers)


def _state(ask: _Asker, handle: Any) -> dict[str, Any]:
    ecc = ask("nvmlDeviceGetEccMode", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    processes = ask("nvmlDeviceGetComputeRunningProcesses", handle)
    others = [p for p in processes or () if p.pid != os.getpid()]
    utilisation = ask("nvmlDeviceGetUtilizationRates", handle)
    return _present(
        {
            "clock_mhz": ask("nvmlDeviceGetClockInfo", handle, 1),
            "clock_max_mhz": ask("nvmlDeviceGetMaxClockInfo", handle, 1),
            "memory_clock_mhz": ask("nvmlDeviceGetClockInfo", handle, 2),
            "throttle_mask": ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle),
            "power_w": _thousandth(ask("nvmlDeviceGetPowerUsage", handle)),
            "power_cap_w": _thousandth(ask("nvmlDeviceGetEnforcedPowerLimit", handle)),
            "power_default_w": _thousandth(ask("nvmlDeviceGetPowerManagementDefaultLimit", handle)),
            "temperature_c": ask("nvmlDeviceGetTemperature", handle, 0),
            "persistence": _flag(ask("nvmlDeviceGetPersistenceMode", handle)),
            "ecc": _flag(ecc[0] if ecc else None),
            "mig": _flag(mig[0] if mig else None),
            "compute_mode": ask("nvmlDeviceGetComputeMode", handle),
            "processes": None if processes is None else len(others),
            "busy": None if utilisation is None else utilisation.gpu / 100,
        }
    )


def _link(ask: _Asker, handle: Any, lane: int) -> dict[str, Any] | None:
    active = ask("nvmlDeviceGetNvLinkState", handle, lane)
    if active is None:
        return None
    remote = ask("nvmlDeviceGetNvLinkRemotePciInfo", handle, lane) if active else None
    return _present(
        {
            "lane": lane,
            "active": bool(active),
            "version": ask("nvmlDeviceGetNvLinkVersion", handle, lane) if active else None,
            "speed_mbps": _speed(ask, handle, lane) if active else None,
            "remote_type": ask("nvmlDeviceGetNvLinkRemoteDeviceType", handle, lane) if active else None,
            "remote_pci": _address(remote.busId) if remote is not None else None,
        }
    )


def _speed(ask: _Asker, handle: Any, lane: int) -> int | None:
    for field in ((_FIELD_LINK_SPEED_MBPS, lane), _FIELD_COMMON_SPEED_MBPS):
        values = ask("nvmlDeviceGetFieldValues", handle, [field])
        if values is not None and values[0].nvmlReturn == 0 and values[0].value.uiVal:
            return int(values[0].value.uiVal)
    return None


def _generation(link: dict[str, Any], gpu: dict[str, Any]) -> int | None:
    """Drivers differ in whether they answer the enumeration's code or the generation; the architecture settles it."""
    by_capability = {6: 1, 7: 2, 8: 3, 9: 4, 10: 5, 12: 5}
    capability = gpu.get("compute_capability")
    if capability and capability[0] in by_capability:
        return by_capability[capability[0]]
    return _GENERATION_OF_CODE.get(link.get("version", 0))


def _lane_gbps(link: dict[str, Any], gpu: dict[str, Any]) -> float | None:
    """Return the lane's payload rate: from NVML's line rate (20 to 53 GB/s raw), else by generation."""
    speed = link.get("speed_mbps")
    if speed:
        return 20.0 if speed < 23_000 else 25.0 if speed < 40_000 else 50.0
    generation = _generation(link, gpu)
    return None if generation is None else NVLINK_LANE_GBPS.get(generation)


def _address(bus_id: bytes | str) -> str | None:
    text = bus_id.decode() if isinstance(bus_id, bytes) else bus_id
    return normal_pci(text) if text and ":" in text else None


def _thousandth(value: int | None) -> float | None:
    return None if value is None else value / 1000


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _list(value: Any) -> list[int] | None:
    return None if value is None else list(value)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
