"""Runs of collectives under several settings of a library: no figure here was measured on anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import modelled_run as made

from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

KIB = 1 << 10
SIZES = tuple(KIB << power for power in range(0, 16, 3))
Environment = Mapping[str, Any]


def line(alpha_us: float, gbps: float) -> Callable[[int], float]:
    """Seconds by size."""
    return lambda size: alpha_us * 1e-6 + size / gbps * 1e-9


def rows(
    collective: str, environment: Environment, seconds: Callable[[int], float], ranks: int = 4, method: str = "xccl"
) -> list[Row]:
    """A curve over ``SIZES``, between GPUs by xccl and between processes on the host by mpi."""
    device = "gpu:{}" if method == "xccl" else "numa:0"
    ends = [{"device": device.format(rank), "memory": "device"} for rank in range(ranks)]
    found = []
    for size in SIZES:
        flow = {"method": f"{method}-collective", "executor": ends[0]["device"], "bytes": size, "members": ends}
        flow |= {"parameters": {"collective": collective, "form": "graph"}}
        name = "/".join([collective, str(ranks), *(f"{key}={value}" for key, value in environment.items())])
        case = made.case(name, [flow], {"figure": "latency"}, "device" if method == "xccl" else "host")
        case |= {"environment": {key: str(value) for key, value in environment.items()}, "processes": ranks}
        row = made.ok(case, [made.seconds(size, size / seconds(size) * 1e-9, name)])
        found.append(Row.from_json({**row.raw, "modelled": False, "backend": "cuda"}))
    return found


def run(curves: Sequence[Sequence[Row]]) -> RunFile:
    """As if measured."""
    found = made.run(found=[row for curve in curves for row in curve])
    found.header["node"] = {**found.header["node"], "modelled": False}
    return found


def nccl(algorithm: str, protocol: str, channels: int) -> dict[str, Any]:
    """The environment of a variant of the suite nccl-tuner."""
    set_both = {"NCCL_MIN_NCHANNELS": channels, "NCCL_MAX_NCHANNELS": channels}
    return {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol, **set_both}


def open_mpi(collective: str, algorithm: int) -> dict[str, Any]:
    """That of a variant of the suite ompi-tuner; 0 is Open MPI's own choice."""
    forced = {"OMPI_MCA_coll_tuned_use_dynamic_rules": 1, f"OMPI_MCA_coll_tuned_{collective}_algorithm": algorithm}
    return {"OMPI_MCA_coll_tuned_priority": 100, **(forced if algorithm else {})}
