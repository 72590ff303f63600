"""NVML counters: errors of links, PCIe and memory, times that clocks were held down, fabric and BAR1 of one GPU.

Reading them changes nothing. A counter that a GPU, driver or container does not give is absent. Field numbers are those
of nvml.h (NVML_FI_DEV_*), which drivers never use again for another thing; 251 to 268 are left out, as they have been.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

_OF_LINK = {
    161: "nvlink-replay",
    162: "nvlink-recovery",
    163: "nvlink-crc",
    206: "nvlink-malformed",
    207: "nvlink-overrun",
    208: "nvlink-receive",
    209: "nvlink-remote",
    211: "nvlink-integrity",
    212: "nvlink-discard",
    214: "nvlink-recovery-failed",
    215: "nvlink-recovery",
    219: "nvlink-effective",
    221: "nvlink-symbol",
}
"""Counters of a link, whose number is the scope: up to NVLink 4 the first three, from NVLink 5 on the others."""
_BIT_ERROR_RATE = {220: "nvlink-effective", 222: "nvlink-symbol"}
_OF_GPU = {
    3: "ecc-corrected",
    4: "ecc-uncorrected",
    5: "ecc-corrected-ever",
    6: "ecc-uncorrected-ever",
    29: "page-retired-corrected",
    30: "page-retired-uncorrected",
    31: "page-retire-pending",
    94: "pcie-replay",
    95: "pcie-replay-rollover",
    142: "row-remap-corrected",
    143: "row-remap-uncorrected",
    144: "row-remap-pending",
    145: "row-remap-failure",
    169: "pcie-recovery",
    173: "pcie-correctable",
    174: "pcie-nak-received",
    175: "pcie-receiver",
    176: "pcie-bad-tlp",
    177: "pcie-nak-sent",
    178: "pcie-bad-dllp",
    179: "pcie-non-fatal",
    180: "pcie-fatal",
    182: "pcie-lcrc",
    183: "pcie-lane",
    231: "c2c-interrupt",
    232: "c2c-replay",
}
_HELD_NS = {
    74: "power cap",
    75: "thermal",
    77: "board limit",
    79: "reliability",
    269: "thermal (software)",
    270: "thermal (hardware)",
    271: "power brake",
}
"""Nanoseconds that something held the clock down (the first four as nvmlDeviceGetViolationStatus gives them)."""
_OLDER = ("nvlink-replay", "nvlink-recovery", "nvlink-crc-flit", "nvlink-crc-data", "nvlink-ecc")
"""Counters in the order of nvmlNvLinkErrorCounter_t, for GPUs before Hopper."""
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Members of nvmlValue_t in the order of nvmlValueType_t."""
_MOST = (1 << 32) - 1
"""Nobody counts so far; drivers give it, and all bits of 64, for what is not known."""
_AT_ONCE = 64
_FABRIC_STATES = {1: "not started", 2: "in progress", 3: "completed"}
_FABRIC_FAULTS = {
    "degraded-bandwidth": (0, 0x3, (1,)),
    "route-recovery": (2, 0x3, (1,)),
    "route-unhealthy": (4, 0x3, (1,)),
    "access-timeout-recovery": (6, 0x3, (1,)),
    "configuration": (8, 0xF, tuple(range(2, 16))),
    "no-partition": (12, 0x3, (2,)),
    "manager-disconnected": (14, 0x3, (2,)),
}
"""Fault -> shift, mask and values that say it, in healthMask (NVML_GPU_FABRIC_HEALTH_MASK_*)."""


class Asks(Protocol):
    """Calls a function of NVML by name; None where it is refused or unknown."""

    def __call__(self, function: str, *arguments: Any) -> Any:
        """Return the function's answer."""


def read(ask: Asks, handle: Any, lanes: Sequence[int]) -> dict[str, Any]:
    """Return a GPU's counters: {"counts": {name: n}, "links": {lane: {name: n}}, "bit_error_rates": {lane: {name: x}},
    "held_ns": {reason: n}, "fabric": {...}, "bar1": {...}}. ``lanes``: its active NVLinks."""
    scoped = [(field, lane) for lane in lanes for field in (*_OF_LINK, *_BIT_ERROR_RATE)]
    values = _values(ask, handle, [*((field, 0) for field in (*_OF_GPU, *_HELD_NS)), *scoped])
    links: dict[str, dict[str, int]] = {}
    rates: dict[str, dict[str, float]] = {}
    for field, lane in scoped:
        value = values.get((field, lane))
        if value is None:
            continue
        if field in _BIT_ERROR_RATE:
            rates.setdefault(str(lane), {})[_BIT_ERROR_RATE[field]] = _bit_error_rate(value)
        else:
            links.setdefault(str(lane), {})[_OF_LINK[field]] = value
    found = {
        "counts": {name: values[field, 0] for field, name in _OF_GPU.items() if (field, 0) in values},
        "links": links or _older_links(ask, handle, lanes),
        "bit_error_rates": rates,
        "held_ns": {name: values[field, 0] for field, name in _HELD_NS.items() if (field, 0) in values},
        "fabric": _fabric(ask, handle),
        "bar1": _bar1(ask, handle),
    }
    return {name: value for name, value in found.items() if value}


def _values(ask: Asks, handle: Any, fields: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the values of fields that the driver gives, by field and scope."""
    found: dict[tuple[int, int], int] = {}
    for start in range(0, len(fields), _AT_ONCE):
        some = list(fields[start : start + _AT_ONCE])
        for key, answer in zip(some, ask("nvmlDeviceGetFieldValues", handle, some) or (), strict=False):
            if answer.nvmlReturn == 0 and answer.valueType < len(_MEMBERS):
                value = int(getattr(answer.value, _MEMBERS[answer.valueType]))
                if value >= 0 and (key[0] in _HELD_NS or value < _MOST):
                    found[key] = value
    return found


def _older_links(ask: Asks, handle: Any, lanes: Sequence[int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for lane in lanes:
        for counter, name in enumerate(_OLDER):
            value = ask("nvmlDeviceGetNvLinkErrorCounter", handle, lane, counter)
            if value is None and not counter:
                return found  # this GPU has none of them
            if value is not None and value < _MOST:
                found.setdefault(str(lane), {})[name] = int(value)
    return found


def _bit_error_rate(value: int) -> float:
    """Return NVML's mantissa and exponent of ten (NVML_NVLINK_BER_*) as a number."""
    return float((value >> 8) & 0xF) * 10.0 ** -(value & 0xFF)


def _fabric(ask: Asks, handle: Any) -> Mapping[str, Any]:
    """Return the GPU's registration with the NVLink fabric. The cluster's UUID is told by a hash of it alone."""
    info = ask("c_nvmlGpuFabricInfo_v3_t")
    if info is None or ask("nvmlDeviceGetGpuFabricInfoV", handle, ctypes.byref(info)) is None:
        return {}
    if info.state not in _FABRIC_STATES:
        return {}
    mask = int(info.healthMask)
    cluster = bytes(info.clusterUuid)
    return {
        "state": _FABRIC_STATES[info.state],
        "status": int(info.status),
        "clique": int(info.cliqueId),
        "faults": [name for name, (by, width, bad) in _FABRIC_FAULTS.items() if (mask >> by) & width in bad],
        **({"cluster": hashlib.sha256(cluster).hexdigest()[:8]} if any(cluster) else {}),
    }


def _bar1(ask: Asks, handle: Any) -> Mapping[str, int]:
    memory = ask("nvmlDeviceGetBAR1MemoryInfo", handle)
    return {} if memory is None else {"bytes": int(memory.bar1Total), "used_bytes": int(memory.bar1Used)}
