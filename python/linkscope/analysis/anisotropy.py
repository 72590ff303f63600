"""Anisotropy: which pairs of devices are faster one way than the other."""

from __future__ import annotations

import math
from typing import Any

import polars

from linkscope.analysis.beyond_noise import COSTS, CostRatio, cost_of, marked, with_cost
from linkscope.machine.paths import natural

Json = dict[str, Any]

_ENDS = ("source", "source_memory", "destination", "destination_memory", "executor")
_PAIR = ("between", "a", "a_memory", "b", "b_memory", "driver")
_ALIKE = ("method", "parameters", "bytes", "regime", "cache", "load", "environment", "processes", "hosts", "figure")
_KIND = ("between", "driver", *_ALIKE)
_VALUES = ("gbps", "seconds", *COSTS)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys((*_PAIR, "tier", *_ALIKE), polars.String),
    **{"bytes": polars.Int64, "processes": polars.Int32},
    **dict.fromkeys(("there_gbps", "back_gbps", "there_seconds", "back_seconds"), polars.Float64),
    **dict.fromkeys(("ratio", "ratio_low", "ratio_high"), polars.Float64),
    **{"beyond": polars.Boolean, "modelled": polars.Boolean},
}


def anisotropy(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each two devices, method and size measured both ways, one after the other, in the run's order.

    ``between``: "GPUs", or "host and GPU", of which the GPU is ``b``. ``driver``: push or pull; the device that drives
    both ways where one end is the host. ``ratio``: what the way from ``b`` back to ``a`` takes over what the way there
    takes, 1.05 where it takes 5 % longer, with its 95 % interval; of rates and of latencies alike. ``beyond``: whether
    it is off one by more than noise (``beyond_noise``, within a line's kind of pair, method and size).
    """
    alone = with_cost(
        figures.filter(
            polars.col("status").cast(polars.String) == "ok",
            (polars.col("flows") == 1) & (polars.col("background") == 0),
            polars.col("figure").cast(polars.String).is_in(("first", "latency")),
            polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
            polars.col("source").cast(polars.String) != polars.col("destination").cast(polars.String),
        )
    )
    ends = alone.select(_ENDS).unique(maintain_order=True)
    told = polars.DataFrame(
        [{**line, **_pair(line)} for line in ends.iter_rows(named=True)],
        schema=dict.fromkeys((*_ENDS, *_PAIR), polars.String) | {"way": polars.String},
    ).cast(ends.schema)
    placed = alone.join(told, on=_ENDS, nulls_equal=True, maintain_order="left")
    ways = {
        way: placed.filter(polars.col("way") == way).unique([*_PAIR, *_ALIKE], keep="first", maintain_order=True)
        for way in ("there", "back")
    }
    both = ways["there"].join(
        ways["back"].select(*_PAIR, *_ALIKE, *_VALUES),
        on=[*_PAIR, *_ALIKE],
        suffix="_back",
        nulls_equal=True,
        maintain_order="left",
    )
    lines = [_line(line) for line in both.iter_rows(named=True)]
    return polars.DataFrame(marked(lines, _KIND), schema=SCHEMA, orient="row")


def _pair(line: Json) -> Json:
    """The two ends in the order in which every figure of them has them, and which way this one goes."""
    ends = [(line[name], line[f"{name}_memory"]) for name in ("source", "destination")]
    gpus = [device.startswith("gpu:") for device, _ in ends]
    there = gpus == [False, True] or (gpus[0] == gpus[1] and natural(ends[0][0]) < natural(ends[1][0]))
    (a, a_memory), (b, b_memory) = ends if there else ends[::-1]
    role = "push" if line["executor"] == line["source"] else "pull"
    kind = "GPUs" if all(gpus) else "host and GPU" if any(gpus) else "NUMA nodes"
    alike = {"between": kind, "driver": line["executor"] if kind == "host and GPU" else role}
    return {**alike, "a": a, "a_memory": a_memory, "b": b, "b_memory": b_memory, "way": "there" if there else "back"}


def _line(line: Json) -> tuple[CostRatio, Json]:
    ratio = CostRatio.of(cost_of(line, "_back"), cost_of(line))
    rate = line["figure"] != "latency"
    return ratio, {
        **{name: line[name] for name in (*_PAIR, "tier", *_ALIKE, "modelled")},
        **{"there_gbps": line["gbps"] if rate else None, "back_gbps": line["gbps_back"] if rate else None},
        **{"there_seconds": line["seconds"], "back_seconds": line["seconds_back"]},
        **{"ratio": math.exp(ratio.middle), "ratio_low": math.exp(ratio.low), "ratio_high": math.exp(ratio.high)},
    }
