"""Interference: what a path loses beside other traffic, what it should lose, and where the two meet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, grouped
from linkscope.answers.analyze.scaling import EXPLAINED
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

NONE, SHARED, UNKNOWN, UNCLEAR = "none", "shared", "unknown", "unclear"
_KEY = (*by.DESCRIBED, "path", "suite", "row", "place", "bytes")
_OF_ALONE = ("gbps", "value", "cost", "cost_low", "cost_high")


def interference(run: Run) -> polars.DataFrame:
    """Return a line for each result of one flow that was measured beside other flows, and alone, too.

    ``traffic``: the methods of the others and how many. ``alone`` and ``beside`` are in ``unit``. ``slowdown``: the
    time beside them over that alone, less one, with its 95% interval; ``predicted``: the same by max-min fair sharing
    (``AloneRates.shared``), null for latencies. ``beyond``: whether the slowdown is beyond noise. ``verdict``: "none"
    where it is not slower; "unclear" where noise leaves that open; "shared" where the links and memories ``shared``
    with the others explain it, that is at least 90% of the predicted rate is reached (a latency: it uses any that
    others use); else "unknown".
    """
    single = AloneRates(run)
    several = by.with_cost(by.usable(run)).filter(
        polars.col("flows") + polars.col("background") > 1,
        polars.col("figure").is_in(("first", "latency")) & (polars.col("hosts") == ""),
    )
    lines = [line | more for line in several.iter_rows(named=True) if (more := _beside(line, single))]
    added = {**dict.fromkeys((f"{name}_alone" for name in _OF_ALONE), polars.Float64), "predicted_gbps": polars.Float64}
    schema: Json = {**several.schema, **added, "traffic": polars.String, "others": polars.Int32}
    both = polars.DataFrame(lines, schema=schema | {"shared": polars.List(polars.String)}, orient="row")
    found = by.with_ratio(both, "", "_alone", _KEY, "slowdown", 1.0)
    verdict = _verdict()
    return found.select(
        *(*_KEY, "unit", "traffic", "others", "beyond", "^slowdown(_low|_high)?$", "predicted_gbps"),
        *(polars.col("value_alone").alias("alone"), polars.col("value").alias("beside")),
        (polars.col("gbps_alone") / polars.col("predicted_gbps") - 1).alias("predicted"),
        verdict.alias("verdict"),
        polars.when(verdict == SHARED).then("shared").otherwise([]).alias("shared"),
    )


def _verdict() -> polars.Expr:
    reached = polars.col("gbps") >= EXPLAINED * polars.col("predicted_gbps")
    explained = (reached | (polars.col("figure") == "latency")) & (polars.col("shared").list.len() > 0)
    slower, sure = polars.col("slowdown") > 0, polars.col("beyond")
    words = polars.when(slower & sure.is_null()).then(polars.lit(UNCLEAR))
    judged = words.when(~(slower & sure.fill_null(False))).then(polars.lit(NONE))
    return judged.when(explained.fill_null(False)).then(polars.lit(SHARED)).otherwise(polars.lit(UNKNOWN))


def _beside(line: Json, single: AloneRates) -> Json:
    """Return what stands beside a result and what it is alone; nothing where it was not measured alone."""
    flows = single.flows(line)
    place = next(number for number, flow in enumerate(flows) if _is(flow, line))
    found = single.of(flows[place], line)
    rate = line["figure"] == "first"
    if found is None or (found["figure"] == "latency") == rate or found["bytes"] != line["bytes"]:
        return {}
    share = single.shared(line)
    others = Counter(flow["method"] for number, flow in enumerate(flows) if number != place)
    return {
        **{f"{name}_alone": found[name] for name in _OF_ALONE},
        **{"traffic": ", ".join(f"{count} {method}" for method, count in others.items()), "others": len(flows) - 1},
        "predicted_gbps": share.predicted[place] if share is not None and rate else None,
        "shared": (share.shared if rate else share.met)[place] if share is not None else [],
    }


def _is(flow: Json, line: Json) -> bool:
    ends = {end: flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")}
    sought = {"method": flow["method"], "executor": flow["executor"], **ends}
    return flow.get("role", "measured") == "measured" and all(line[name] == value for name, value in sought.items())


def _conclude(frame: polars.DataFrame) -> Finding:
    slower = frame.filter(polars.col("verdict").is_in((SHARED, UNKNOWN)))
    facts = {"results": frame.height, "unclear": frame.filter(polars.col("verdict") == UNCLEAR).height}
    if slower.is_empty():
        return note("analyze.interference-none", **facts)
    facts |= {"slower": slower.height, "unknown": slower.filter(polars.col("verdict") == UNKNOWN).height}
    return note("analyze.interference-slower", **facts, most=slower["slowdown"].max())


answer = Inquiry(
    key="analyze.interference",
    find=interference,
    conclude=_conclude,
    columns=(
        Column("beside", Kind.VALUE, detail=True),
        Column("slowdown", Kind.CHANGE),
        Column("predicted", Kind.CHANGE, detail=True),
    ),
    names=("moved", "called", "traffic", "verdict"),
    lines=("path", "called", "traffic", "verdict"),
    order=lambda frame: frame.sort("slowdown", descending=True, maintain_order=True),
    shown=lambda frame: grouped(
        frame, ("movement", "called", "memories", "traffic", "verdict"), ("beside", "slowdown", "predicted")
    ),
    first=8,
)
