"""PyTorch Inductor: times of collectives as a Chrome trace, which its profile-guided estimation reads.

Format: pytorch torch/_inductor/fx_passes/profile_guided_estimation.py; it takes kernels' durations by collective,
ranks, type and number of elements put out.
"""

from __future__ import annotations

import json
from typing import Any

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.messages.catalog import problem

Json = dict[str, Any]
_NAMES = {
    "all-reduce": "allreduce",
    "all-gather": "_allgather_base",
    "reduce-scatter": "_reduce_scatter_base",
    "all-to-all": "all_to_all",
}
_TYPES = {"float32": ("Float", 4), "float16": ("Half", 2), "bfloat16": ("BFloat16", 2), "int32": ("Int", 4)}
_METHODS = ("torch-collective", "xccl-collective")
_LARGE = 64 << 20


def trace(source: Exported) -> str:
    """Return one kernel for each collective, set of GPUs, type and size: the fastest that the device's clock timed.

    ``intra_node_bw`` beside them is for torch._inductor.config: GB/s between two GPUs, one way, of large transfers.
    """
    fastest: dict[tuple[str, str, str, int], float] = {}
    for line in _collectives(source.results).iter_rows(named=True):
        words = dict(word.split("=", 1) for word in line["parameters"].split() if "=" in word)
        key = (line["collective"], line["members"], words.get("type", "float32"), line["bytes"])
        if key[2] in _TYPES:
            fastest[key] = min(fastest.get(key, line["seconds"]), line["seconds"])
    if not fastest:
        raise problem("tuner.no-collectives")
    groups = {members: str(number) for number, members in enumerate(dict.fromkeys(key[1] for key in fastest))}
    at_us, events = 0.0, []
    for key, seconds in fastest.items():
        events.append(_event(key, groups[key[1]], at_us, seconds * 1e6))
        at_us += seconds * 1e6
    ranks = [{"pg_name": name, "ranks": _ranks(members)} for members, name in groups.items()]
    whole: Json = {
        "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": _world(groups), "pg_config": ranks},
        "traceEvents": events,
        "linkscope": {"origin": source.origin, "intra_node_bw": _between_gpus(source.results)},
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _collectives(results: polars.DataFrame) -> polars.DataFrame:
    return results.filter(
        polars.col("method").is_in(_METHODS),
        polars.col("collective").is_in(list(_NAMES)),
        polars.col("members").str.starts_with("gpu:"),
        polars.col("seconds") > 0,
        clock="device",
        environment="",
    )


def _event(key: tuple[str, str, str, int], group: str, at_us: float, duration_us: float) -> Json:
    collective, members, kind, size = key
    dtype, element = _TYPES[kind]
    ranks = _ranks(members)
    whole, part = size // element, size // element // len(ranks)
    arguments = {
        "Collective name": _NAMES[collective],
        "In msg nelems": part if collective == "all-gather" else whole,
        "Out msg nelems": part if collective == "reduce-scatter" else whole,
        "Group size": len(ranks),
        "dtype": dtype,
        "Process Group Name": group,
        "Process Group Ranks": json.dumps(ranks),
    }
    name = f"ncclDevKernel_{_NAMES[collective]}"
    times = {"ts": at_us, "dur": duration_us}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 0, **times, "args": arguments}


def _ranks(members: str) -> list[int]:
    return [int(member.partition(":")[2]) for member in members.split()]


def _world(groups: Json) -> int:
    return 1 + max(rank for members in groups for rank in _ranks(members))


def _between_gpus(results: polars.DataFrame) -> float | None:
    """Return the median over pairs of the best rate; None where the run has none."""
    ends = polars.col("source"), polars.col("destination")
    pairs = results.filter(
        *(end.str.starts_with("gpu:") for end in ends),
        ends[0] != ends[1],
        polars.col("bytes") >= _LARGE,
        polars.col("gbps") > 0,
        flows=1,
    )
    return pairs.group_by(ends).agg(polars.col("gbps").max())["gbps"].median()  # type: ignore[return-value]
