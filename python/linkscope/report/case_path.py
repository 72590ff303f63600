"""What a case is about in a few words, by which the page groups its tables: path, methods, collective."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkscope.results.row import Row

BETWEEN_GPUS = "GPU to GPU"
HOST_AND_GPU = "Host and GPU"
WITHIN_GPU = "Within a GPU"
HOST = "Host memory"
BETWEEN_HOSTS = "Between hosts"
COLLECTIVES = "Collectives"
APPLICATIONS = "Applications"
CALLS = "Calls"
ORDER = (APPLICATIONS, BETWEEN_GPUS, HOST_AND_GPU, WITHIN_GPU, HOST, BETWEEN_HOSTS, CALLS, COLLECTIVES)
"""Of the paths on the page."""
SEVERAL = "several collectives"


def path(row: Row) -> str:
    """One of ``ORDER``, by the ends of the case's first flow, whichever way its bytes go."""
    flow = row.case["flows"][0]
    if "members" in flow:
        return APPLICATIONS if "schedule" in flow else COLLECTIVES
    ends = [str(flow[end]["device"]) for end in ("source", "destination") if end in flow]
    if not ends:
        return CALLS
    if row.between:
        return BETWEEN_HOSTS
    return _between(ends if len(ends) > 1 else [*ends, str(flow["executor"])])


def _between(devices: list[str]) -> str:
    gpus = [device for device in devices if device.startswith("gpu:")]
    if not gpus:
        return HOST
    if len(gpus) < len(devices):
        return HOST_AND_GPU
    return WITHIN_GPU if len(set(gpus)) == 1 else BETWEEN_GPUS


def methods(row: Row) -> tuple[str, ...]:
    """Of the measured flows, each once."""
    flows: list[Mapping[str, Any]] = row.case["flows"]
    return tuple(dict.fromkeys(str(one["method"]) for one in flows if one.get("role", "measured") == "measured"))


def collective(row: Row) -> str:
    """Such as "all-reduce"; empty for what is none."""
    flow = row.case["flows"][0]
    if path(row) != COLLECTIVES:
        return ""
    return str(flow.get("parameters", {}).get("collective", "all-reduce"))
