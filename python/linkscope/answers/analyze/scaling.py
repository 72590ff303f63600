"""Scaling: what several flows at once reach of what they reach one by one, and what holds them back."""

from __future__ import annotations

from itertools import chain
from statistics import median
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, grouped
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

SCALES, SHARED, APART, UNKNOWN = "scales", "shared", "apart", "unknown"
ENOUGH = 0.95
"""Share of the sum of the flows' rates alone from which they do not hinder one another."""
EXPLAINED = 0.9
"""Share of max-min fair sharing's prediction from which it explains the rate."""
TOGETHER = 0.9
"""Share of the time: flows that ran together for less show little."""
_KEY = (*by.DESCRIBED, "suite", "row", "place", "bytes", "flows", "gbps", "gbps_low", "gbps_high", "overlap")


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
    together = by.usable(run).filter(
        (polars.col("flows") > 1) & (polars.col("background") == 0) & polars.col("gbps").is_not_null(),
        polars.col("figure").is_in(("sum", "aggregate", "touched")) & (polars.col("hosts") == ""),
    )
    single = AloneRates(run)
    return by.frame_of(_line(line, single) for line in together.iter_rows(named=True))


def _line(line: Json, single: AloneRates) -> Json:
    share = single.shared(line)
    known = [one["gbps"] for one in share.alone if one and one["gbps"]] if share else []
    reached = predicted = None
    if share is not None and known:
        rates = [one["gbps"] if one and one["gbps"] else median(known) for one in share.alone]
        reached = sum(rates)
        predicted = sum(one or 0.0 for one in share.predicted) if None not in share.predicted else None
        if line["figure"] == "aggregate":
            moved = single.moved(line)
            longest = max(size / rate for size, rate in zip(moved, rates, strict=True))
            if longest > 0:
                reached, predicted = sum(moved) / longest, single.aggregate(line)
    efficiency = line["gbps"] / reached if reached else None
    bottleneck = list(dict.fromkeys(chain.from_iterable(share.shared))) if share else []
    verdict = _verdict(line, efficiency, predicted, bottleneck)
    ends = {flow[end]["device"] for flow in single.flows(line) for end in ("source", "destination") if flow.get(end)}
    return {
        **{name: line[name] for name in _KEY},
        **{"devices": len(ends), "alone_gbps": reached, "efficiency": efficiency, "predicted_gbps": predicted},
        **{"verdict": verdict, "bottleneck": bottleneck if verdict == SHARED else []},
    }


def _verdict(line: Json, efficiency: float | None, predicted: float | None, bottleneck: list[str]) -> str:
    gbps, overlap = line["gbps"], line["overlap"]
    if efficiency is None:
        return UNKNOWN
    if efficiency >= ENOUGH:
        return SCALES
    if predicted is not None and bottleneck and gbps >= EXPLAINED * predicted:
        return SHARED
    apart = overlap is not None and overlap < TOGETHER
    return APART if apart and (predicted is None or gbps >= EXPLAINED * predicted * overlap) else UNKNOWN


def _conclude(frame: polars.DataFrame) -> Finding:
    known = frame.filter(polars.col("efficiency").is_not_null())
    if known.is_empty():
        return note("analyze.scaling-none", sets=frame.height)
    count = {verdict: known.filter(polars.col("verdict") == verdict).height for verdict in (SCALES, SHARED, UNKNOWN)}
    return note("analyze.scaling-reached", sets=known.height, **count, least=known["efficiency"].min())


def _notes(frame: polars.DataFrame) -> list[Finding]:
    apart = frame.filter(polars.col("verdict") == APART)
    if apart.is_empty():
        return []
    of_gpus = apart["movement"].str.contains("^gpus?<?>gpus?$").any()
    code = "analyze.scaling-apart-gpus" if of_gpus else "analyze.scaling-apart"
    return [note(code, apart=apart.height, most=apart["overlap"].max())]


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the least efficient first, with what holds flows back: links without device numbers, or the verdict."""
    kind = polars.element().str.replace_all(r":\d+", "").str.replace("switch:", "")
    links = polars.col("bottleneck").cast(polars.List(polars.String)).list.eval(kind).list.unique(maintain_order=True)
    words = polars.when(polars.col("verdict") != SCALES).then(polars.concat_list("verdict"))
    return frame.sort("efficiency", nulls_last=True, maintain_order=True).with_columns(
        polars.when(links.list.len() > 0).then(links).otherwise(words).alias("held"),
        polars.col("place").str.split("|").list.last().alias("at"),
        polars.col("efficiency").alias("reached"),
    )


answer = Inquiry(
    key="analyze.scaling",
    find=scaling,
    conclude=_conclude,
    columns=(
        Column("gbps", Kind.NUMBER),
        Column("reached", Kind.PERCENT),
        Column("held", Kind.PATH),
    ),
    order=_order,
    lines=("moved", "called", "at"),
    shown=lambda frame: grouped(
        frame, ("movement", "called", "memories"), ("gbps", "reached", "predicted_gbps"), ("held",), "sets"
    ),
    notes=_notes,
)
