"""Scaling: what several flows at once reach of what they reach one by one, and what holds them back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from statistics import median
from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered, grouped
from linkscope.answers.analyze.comparing import DESCRIBED, usable
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.columns import SCHEMA as RESULTS
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

SCALES, SHARED, APART, UNKNOWN = "scales", "shared", "apart", "unknown"
ENOUGH = 0.95
"""Of the sum of the flows' rates alone: they do not hinder one another."""
EXPLAINED = 0.9
"""Of what max-min fair sharing predicts: it explains the rate."""
TOGETHER = 0.9
"""Share of the time: flows that ran together for less show little."""
_OF_ALL = ("sum", "aggregate", "touched")
_KEY = (*DESCRIBED, "suite", "row", "place", "bytes", "flows", "gbps", "gbps_low", "gbps_high", "overlap")
SCHEMA: dict[str, Any] = {
    **{name: RESULTS[name] for name in _KEY},
    "devices": polars.Int32,
    **dict.fromkeys(("alone_gbps", "efficiency", "predicted_gbps"), polars.Float64),
    **{"verdict": polars.String, "bottleneck": polars.List(polars.String)},
}


def answer(run: Run) -> Answer:
    """Return what flows at once reach, and what holds them back."""
    return answered(_QUESTION, run, scaling(run))


def scaling(run: Run) -> polars.DataFrame:
    """Return a line for each set of at least two simultaneous flows whose rate together was measured.

    ``alone_gbps``: what the flows would reach together if each had its rate alone (of those not measured alone the
    median of the others counts; null where none was): the sum, or, as an aggregate is all bytes over the time to the
    last end, that. ``efficiency``: ``gbps`` over it. ``devices``: those at their ends. ``predicted_gbps``: the same by
    max-min fair sharing of links and memories (``AloneRates.shared``). ``overlap``: share of the time in which all of
    them ran. ``verdict``: "scales" where efficiency is at least 95%; "shared" where the rate is at least 90% of the
    prediction, by what is in ``bottleneck``; "apart" where the flows ran together for less than 90% of the time, and
    the prediction may have been reached in it; else "unknown".
    """
    single = AloneRates(run)
    together = usable(run).filter(
        (polars.col("flows") > 1) & (polars.col("background") == 0) & polars.col("gbps").is_not_null(),
        polars.col("figure").is_in(_OF_ALL) & (polars.col("hosts") == ""),
    )
    found = [_line(line, single) for line in together.iter_rows(named=True)]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(line: Json, single: AloneRates) -> Json:
    share = single.shared(line)
    known = [one["gbps"] for one in share.alone if one and one["gbps"]] if share else []
    reached = predicted = None
    if share is not None and known:
        rates = [one["gbps"] if one and one["gbps"] else median(known) for one in share.alone]
        reached, predicted = sum(rates), _sum(share.predicted)
        if line["figure"] == "aggregate":
            moved = single.moved(line)
            longest = max(size / rate for size, rate in zip(moved, rates, strict=True))
            if longest > 0:
                reached, predicted = sum(moved) / longest, single.aggregate(line)
    efficiency = line["gbps"] / reached if reached else None
    bottleneck = list(dict.fromkeys(chain.from_iterable(share.shared))) if share else []
    verdict = UNKNOWN
    if efficiency is not None and efficiency >= ENOUGH:
        verdict = SCALES
    elif predicted is not None and bottleneck and line["gbps"] >= EXPLAINED * predicted:
        verdict = SHARED
    elif efficiency is not None and _apart(line, predicted):
        verdict = APART
    ends = {flow[end]["device"] for flow in single.flows(line) for end in ("source", "destination") if flow.get(end)}
    return {
        **{name: line[name] for name in _KEY},
        **{"devices": len(ends), "alone_gbps": reached, "efficiency": efficiency, "predicted_gbps": predicted},
        **{"verdict": verdict, "bottleneck": bottleneck if verdict == SHARED else []},
    }


def _apart(line: Json, predicted: float | None) -> bool:
    """Return whether flows may be slow only because they did not run at the same time."""
    overlap = line["overlap"]
    if overlap is None or overlap >= TOGETHER:
        return False
    return predicted is None or line["gbps"] >= EXPLAINED * predicted * overlap


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def _conclude(frame: polars.DataFrame) -> Finding:
    known = frame.filter(polars.col("efficiency").is_not_null()).sort("efficiency", maintain_order=True)
    if known.is_empty():
        return note("analyze.scaling-none", sets=frame.height)
    count = {verdict: known.filter(polars.col("verdict") == verdict).height for verdict in (SCALES, SHARED, UNKNOWN)}
    worst = known.row(0, named=True)
    facts = {"least": worst["efficiency"], "movement": worst["movement"], "method": worst["method"]}
    return note("analyze.scaling-reached", sets=known.height, **count, **facts)


def _notes(frame: polars.DataFrame) -> list[Finding]:
    apart = frame.filter(polars.col("verdict") == APART)
    if apart.is_empty():
        return []
    code = "analyze.scaling-apart"
    if apart["movement"].str.contains("^gpus?<?>gpus?$").any():
        code = "analyze.scaling-apart-gpus"
    return [note(code, apart=apart.height, most=apart["overlap"].max())]


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the least efficient first, with what holds flows back: links without device numbers, or the verdict."""
    kind = polars.element().str.replace_all(r":\d+", "").str.replace("switch:", "")
    links = polars.col("bottleneck").list.eval(kind).list.unique(maintain_order=True)
    held = polars.when(links.list.len() > 0).then(links).otherwise(polars.concat_list("verdict"))
    return frame.sort("efficiency", nulls_last=True, maintain_order=True).with_columns(
        held.alias("held"), polars.col("efficiency").alias("reached")
    )


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    return grouped(frame, ("movement", "called", "memories"), ("gbps", "reached", "predicted_gbps"), ("held",))


_QUESTION = Inquiry(
    key="analyze.scaling",
    conclude=_conclude,
    columns=(
        Column("place", detail=True),
        Column("gbps", Kind.NUMBER),
        Column("reached", Kind.PERCENT),
        Column("held", Kind.PATH),
    ),
    order=_order,
    shown=_shown,
    notes=_notes,
)
