"""Interference: what a path loses beside other traffic, what it should lose, and where the two meet."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars

from linkscope.analysis.beyond_noise import CostRatio, cost_of, marked, with_cost
from linkscope.analysis.movement import with_movement
from linkscope.analysis.scaling import EXPLAINED
from linkscope.analysis.shared_rates import AloneFigures
from linkscope.machine.paths import Paths
from linkscope.results.row import Row

Json = dict[str, Any]

NONE, SHARED, UNKNOWN = "none", "shared", "unknown"
_COPIED = (
    *("movement", "tier", "role", "method", "path", "source_memory", "destination_memory", "parameters"),
    *("figure", "regime", "load", "environment", "suite", "row", "place"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_COPIED, polars.String),
    **{"bytes": polars.Int64, "beside": polars.String, "others": polars.Int32},
    **dict.fromkeys(("alone_gbps", "beside_gbps", "alone_seconds", "beside_seconds"), polars.Float64),
    **dict.fromkeys(("slowdown", "slowdown_low", "slowdown_high", "predicted_gbps", "predicted"), polars.Float64),
    **{"beyond": polars.Boolean, "verdict": polars.String, "shared": polars.List(polars.String)},
    "modelled": polars.Boolean,
}


def interference(figures: polars.DataFrame, paths: Paths, rows: Mapping[str, Row]) -> polars.DataFrame:
    """A line for each figure of one flow that was measured beside background or simultaneous flows, and alone, too.

    ``rows``: the run's, by id. ``beside``: the methods of the others and how many. ``slowdown``: the time (or
    inverse rate) beside them over that alone, less one: 0.5 where it takes 50 % longer; with its 95 % interval.
    ``predicted``: the same by max-min fair sharing (``AloneFigures.shared``); null for latencies. ``beyond``: whether
    the slowdown is more than noise (``beyond_noise``). ``verdict``: "none" where it is not;
    "shared" where the links and memories ``shared`` with the others explain it, that is at least 90 % of the predicted
    rate is reached (a latency: it uses any that others use); else "unknown".
    """
    alone = AloneFigures(figures, rows, paths)
    several = with_cost(
        with_movement(
            figures.filter(
                polars.col("status").cast(polars.String) == "ok",
                polars.col("flows") + polars.col("background") > 1,
                polars.col("figure").cast(polars.String).is_in(("first", "latency")),
                polars.col("hosts").cast(polars.String) == "",
            )
        )
    )
    found = [
        told
        for line in several.iter_rows(named=True)
        if (told := _line(line, alone, rows[line["id"]].case["flows"])) is not None
    ]
    return polars.DataFrame([_judged(line) for line in marked(found, (*_COPIED, "bytes"))], schema=SCHEMA, orient="row")


def _line(line: Json, alone: AloneFigures, flows: Sequence[Json]) -> tuple[CostRatio, Json] | None:
    place = next(number for number, flow in enumerate(flows) if _is(flow, line))
    own = alone.of(flows[place], line)
    if own is None or (own["figure"] == "latency") != (line["figure"] == "latency") or own["bytes"] != line["bytes"]:
        return None
    ratio = CostRatio.of(cost_of(line), cost_of(own))
    rate = line["figure"] == "first"
    share = alone.shared(line)
    predicted = share.predicted[place] if share is not None and rate else None
    others = Counter(flow["method"] for number, flow in enumerate(flows) if number != place)
    return ratio, {
        **{name: line[name] for name in (*_COPIED, "bytes", "modelled")},
        **{"beside": ", ".join(f"{count} x {method}" for method, count in others.items()), "others": len(flows) - 1},
        **{"alone_gbps": own["gbps"] if rate else None, "beside_gbps": line["gbps"] if rate else None},
        **{"alone_seconds": own["seconds"], "beside_seconds": line["seconds"], "predicted_gbps": predicted},
        **{"slowdown": math.expm1(ratio.middle), "slowdown_low": math.expm1(ratio.low)},
        **{"slowdown_high": math.expm1(ratio.high), "predicted": own["gbps"] / predicted - 1 if predicted else None},
        "shared": list((share.shared if rate else share.met)[place]) if share is not None else [],
    }


def _is(flow: Json, line: Json) -> bool:
    ends = {end: flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")}
    own = {"method": flow["method"], "executor": flow["executor"], **ends}
    return flow.get("role", "measured") == "measured" and all(line[name] == value for name, value in own.items())


def _judged(line: Json) -> Json:
    hindered = line["beyond"] and line["slowdown"] > 0
    reached = line["beside_gbps"] is None or (
        line["predicted_gbps"] is not None and line["beside_gbps"] >= EXPLAINED * line["predicted_gbps"]
    )
    verdict = NONE if not hindered else SHARED if reached and line["shared"] else UNKNOWN
    return {**line, "verdict": verdict, "shared": line["shared"] if verdict == SHARED else []}
