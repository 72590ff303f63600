"""NCCL's programs: those of nccl-tests and rccl-tests by collective, for their reader and the tables like theirs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NcclProgram:
    """``redop`` and ``root`` as it prints them. ``shares``: its elements are counted of one rank's share."""

    name: str
    redop: str = "none"
    root: int = -1
    shares: bool = False


NCCL_PROGRAMS = {
    "all-reduce": NcclProgram("all_reduce_perf", "sum"),
    "reduce": NcclProgram("reduce_perf", "sum", root=0),
    "broadcast": NcclProgram("broadcast_perf", root=0),
    "reduce-scatter": NcclProgram("reduce_scatter_perf", "sum", shares=True),
    "all-gather": NcclProgram("all_gather_perf", shares=True),
    "all-to-all": NcclProgram("alltoall_perf", shares=True),
    "send-receive": NcclProgram("sendrecv_perf"),
}
"""Programs by collective; messages around a ring are no collective."""
