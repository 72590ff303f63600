"""Interference: what a path loses beside other traffic, what it should lose, and where the two meet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered, grouped
from linkscope.answers.analyze.comparing import DESCRIBED, named_values, usable, with_cost, with_ratio
from linkscope.answers.analyze.scaling import EXPLAINED
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

NONE, SHARED, UNKNOWN, UNCLEAR = "none", "shared", "unknown", "unclear"
_KEY = (*DESCRIBED, "path", "suite", "row", "place", "bytes")
_ADDED: dict[str, Any] = {
    **dict.fromkeys(("gbps_alone", "seconds_alone", "cost_alone", "cost_low_alone", "cost_high_alone"), polars.Float64),
    **{"traffic": polars.String, "others": polars.Int32, "predicted_gbps": polars.Float64},
    "shared": polars.List(polars.String),
}


def answer(run: Run) -> Answer:
    """Return what paths lose beside other traffic, and where."""
    return answered(_QUESTION, run, interference(run))


def interference(run: Run) -> polars.DataFrame:
    """Return a line for each result of one flow that was measured beside other flows, and alone, too.

    ``traffic``: the methods of the others and how many. ``slowdown``: the time (or 1 / rate) beside them over that
    alone, less one: 0.5 where it takes 50% longer; with its 95% interval. ``predicted``: the same by max-min fair
    sharing (``AloneRates.shared``); null for latencies. ``beyond``: true where the slowdown is beyond noise, null where
    noise leaves it open, false within 1%. ``verdict``: "none" where it is not slower; "unclear" where noise leaves that
    open; "shared" where the links and memories ``shared`` with the others explain it, that is at least 90% of the
    predicted rate is reached (a latency: it uses any that others use); else "unknown".
    """
    single = AloneRates(run)
    several = with_cost(usable(run)).filter(
        polars.col("flows") + polars.col("background") > 1,
        polars.col("figure").is_in(("first", "latency")),
        polars.col("hosts") == "",
    )
    added = [_beside(line, single) for line in several.iter_rows(named=True)]
    kept = several.filter(polars.Series([one is not None for one in added], dtype=polars.Boolean))
    others = polars.DataFrame([one for one in added if one is not None], schema=_ADDED, orient="row")
    both = with_ratio(polars.concat([kept, others], how="horizontal"), "", "_alone", (*_KEY,), "slowdown", 1.0)
    reached = polars.col("gbps") >= EXPLAINED * polars.col("predicted_gbps")
    explained = (reached | (polars.col("figure") == "latency")) & (polars.col("shared").list.len() > 0)
    slower = polars.col("slowdown") > 0
    verdict = (
        polars.when(slower & polars.col("beyond").is_null())
        .then(polars.lit(UNCLEAR))
        .when(~(slower & polars.col("beyond").fill_null(False)))
        .then(polars.lit(NONE))
        .when(explained.fill_null(False))
        .then(polars.lit(SHARED))
        .otherwise(polars.lit(UNKNOWN))
    )
    return both.select(
        *_KEY,
        *("unit", "traffic", "others"),
        *named_values({"_alone": "alone", "": "beside"}),
        *("slowdown", "slowdown_low", "slowdown_high", "predicted_gbps"),
        (polars.col("gbps_alone") / polars.col("predicted_gbps") - 1).alias("predicted"),
        "beyond",
        verdict.alias("verdict"),
        polars.when(verdict == SHARED).then("shared").otherwise([]).alias("shared"),
    )


def _beside(line: Json, single: AloneRates) -> Json | None:
    """Return what stands beside a result and what it is alone; None where it was not measured alone."""
    flows = single.flows(line)
    place = next(number for number, flow in enumerate(flows) if _is(flow, line))
    found = single.of(flows[place], line)
    rate = line["figure"] == "first"
    if found is None or (found["figure"] == "latency") == rate or found["bytes"] != line["bytes"]:
        return None
    share = single.shared(line)
    others = Counter(flow["method"] for number, flow in enumerate(flows) if number != place)
    return {
        **{f"{name}_alone": found[name] for name in ("gbps", "seconds", "cost", "cost_low", "cost_high")},
        **{"traffic": ", ".join(f"{count} {method}" for method, count in others.items()), "others": len(flows) - 1},
        "predicted_gbps": share.predicted[place] if share is not None and rate else None,
        "shared": list((share.shared if rate else share.met)[place]) if share is not None else [],
    }


def _is(flow: Json, line: Json) -> bool:
    ends = {end: flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")}
    sought = {"method": flow["method"], "executor": flow["executor"], **ends}
    return flow.get("role", "measured") == "measured" and all(line[name] == value for name, value in sought.items())


def _conclude(frame: polars.DataFrame) -> Finding:
    slower = frame.filter(polars.col("verdict").is_in((SHARED, UNKNOWN))).sort("slowdown", maintain_order=True)
    facts = {"results": frame.height, "unclear": frame.filter(polars.col("verdict") == UNCLEAR).height}
    if slower.is_empty():
        return note("analyze.interference-none", **facts)
    worst = slower.row(-1, named=True)
    facts |= {"slower": slower.height, "unknown": slower.filter(polars.col("verdict") == UNKNOWN).height}
    told = {"most": worst["slowdown"], "path": worst["path"], "traffic": worst["traffic"]}
    return note("analyze.interference-slower", **facts, **told)


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    keys = ("movement", "called", "memories", "traffic", "verdict")
    return grouped(frame, keys, ("alone", "beside", "slowdown", "predicted"))


_QUESTION = Inquiry(
    key="analyze.interference",
    conclude=_conclude,
    columns=(
        Column("traffic"),
        Column("alone", Kind.VALUE, detail=True),
        Column("beside", Kind.VALUE, detail=True),
        Column("slowdown", Kind.CHANGE),
        Column("predicted", Kind.CHANGE, detail=True),
        Column("verdict"),
    ),
    names=("movement", "called"),
    shown=_shown,
    first=8,
    order=lambda frame: frame.sort("slowdown", descending=True, maintain_order=True),
)
