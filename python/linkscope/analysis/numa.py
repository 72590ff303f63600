"""NUMA: what memory on another NUMA node than the nearest costs, per GPU and for CPUs."""

from __future__ import annotations

import math
from typing import Any

import polars

from linkscope.analysis.beyond_noise import COSTS, CostRatio, cost_of, marked, with_cost
from linkscope.analysis.movement import movement, role
from linkscope.machine.node import Node

Json = dict[str, Any]

_ENDS = ("executor", "source", "destination", "members", "processes")
_ALIKE = (
    *("movement", "role", "method", "source_memory", "destination_memory", "parameters", "bytes"),
    *("regime", "cache", "load", "environment", "figure"),
)
SCHEMA: dict[str, Any] = {
    "device": polars.String,
    **dict.fromkeys(_ALIKE, polars.String),
    **{"bytes": polars.Int64, "near": polars.String, "far": polars.String},
    **dict.fromkeys(("near_gbps", "far_gbps", "near_seconds", "far_seconds"), polars.Float64),
    **dict.fromkeys(COSTS, polars.Float64),
    **{"beyond": polars.Boolean, "modelled": polars.Boolean},
}


def numa(figures: polars.DataFrame, node: Node) -> polars.DataFrame:
    """A line for each device, method and size, and each node farther than its nearest, in the run's order.

    ``device``: the GPU, or the NUMA node whose CPUs do it; ``near`` and ``far``: the nodes of the host memory at its
    ends, the nearest to the GPU, or the CPUs' own, and another one. ``cost``: the time (or the inverse of the rate)
    with ``far`` over that with ``near``, less one: 0.12 where it takes 12 % longer, below zero where ``far`` is faster;
    with its 95 % interval. ``beyond``: whether that is more than noise (``beyond_noise``).
    """
    alone = figures.filter(
        polars.col("status").cast(polars.String) == "ok",
        (polars.col("flows") == 1) & (polars.col("background") == 0) & (polars.col("processes") == 1),
        polars.col("members").is_null() & polars.col("figure").cast(polars.String).is_in(("first", "latency")),
    )
    usable = with_cost(alone)
    ends = usable.select(_ENDS).unique(maintain_order=True)
    told = [{**line, **placed} for line in ends.iter_rows(named=True) if (placed := _placed(line, node))]
    words = dict.fromkeys((*_ENDS, "device", "movement", "role", "nodes"), polars.String)
    where = polars.DataFrame(told, schema=words | {"near": polars.Boolean})
    lines = usable.join(
        where.cast({name: ends.schema[name] for name in _ENDS}), on=_ENDS, nulls_equal=True, maintain_order="left"
    ).unique(["device", "nodes", *_ALIKE], keep="first", maintain_order=True)
    far = lines.filter(~polars.col("near"))
    near = lines.filter("near").select("device", *_ALIKE, "nodes", "gbps", "seconds", *COSTS)
    both = far.join(near, on=["device", *_ALIKE], suffix="_near", nulls_equal=True, maintain_order="left")
    found = [_line(line) for line in both.iter_rows(named=True)]
    return polars.DataFrame(marked(found, ("device", "far", *_ALIKE)), schema=SCHEMA, orient="row")


def _placed(line: Json, node: Node) -> Json | None:
    """Whose figure it is, on which nodes its host memory is, and whether those are its nearest; None for others."""
    ends = [line["source"], line["destination"]]
    nodes = [end for end in ends if end is not None and end.startswith("numa:")]
    gpus = {device for device in (line["executor"], *ends) if device is not None and device.startswith("gpu:")}
    if not nodes or len(gpus) > 1:
        return None
    if gpus:
        device = gpus.pop()
        nearest = next((f"numa:{one.numa}" for one in node.devices if one.id == device), None)
        told = {"movement": movement({**line, "collective": None}), "role": role(line)}
    else:
        device = nearest = line["executor"]
        told = {"movement": "CPUs copy" if None not in ends else "CPUs read" if ends[0] else "CPUs write", "role": ""}
    return {"device": device, **told, "nodes": ">".join(dict.fromkeys(nodes)), "near": set(nodes) == {nearest}}


def _line(line: Json) -> tuple[CostRatio, Json]:
    ratio = CostRatio.of(cost_of(line), cost_of(line, "_near"))
    rate = line["figure"] != "latency"
    return ratio, {
        **{name: line[name] for name in ("device", *_ALIKE, "modelled")},
        **{"near": line["nodes_near"], "far": line["nodes"]},
        **{"near_gbps": line["gbps_near"] if rate else None, "far_gbps": line["gbps"] if rate else None},
        **{"near_seconds": line["seconds_near"], "far_seconds": line["seconds"]},
        "cost": math.expm1(ratio.middle),
        "cost_low": math.expm1(ratio.low),
        "cost_high": math.expm1(ratio.high),
    }
