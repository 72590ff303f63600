"""Scaling: what several flows at once reach of what they reach one by one, and what holds them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median
from typing import Any

import polars

from linkscope.analysis.headline import OF_ALL
from linkscope.analysis.movement import with_movement
from linkscope.analysis.shared_rates import AloneFigures
from linkscope.machine.paths import Paths
from linkscope.results.row import Row

Json = dict[str, Any]

SCALES, SHARED, APART, UNKNOWN = "scales", "shared", "apart", "unknown"
ENOUGH = 0.95
"""Of the sum of the flows' own rates: they do not hinder one another."""
EXPLAINED = 0.9
"""Of what max-min fair sharing predicts: it explains the rate."""
TOGETHER = 0.9
"""Flows that ran together for less than this share of the time are worth a remark."""
_COPIED = (
    *("movement", "tier", "role", "method", "source_memory", "destination_memory", "parameters", "together", "figure"),
    *("regime", "load", "environment", "suite", "row", "place"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_COPIED, polars.String),
    **{"bytes": polars.Int64, "flows": polars.Int32, "devices": polars.Int32},
    **dict.fromkeys(("gbps", "gbps_low", "gbps_high", "alone_gbps", "efficiency", "predicted_gbps"), polars.Float64),
    **{"overlap": polars.Float64, "verdict": polars.String},
    **{"bottleneck": polars.List(polars.String), "modelled": polars.Boolean},
}


def scaling(figures: polars.DataFrame, paths: Paths, rows: Mapping[str, Row]) -> polars.DataFrame:
    """A line for each set of at least two simultaneous flows whose rate together was measured, in the run's order.

    ``rows``: the run's, by id. ``alone_gbps``: what the flows would reach together if each had its rate alone
    (of those not measured alone the median of the others counts; null where none was): the sum, or, as an aggregate is
    all bytes over the time to the last end, that. ``efficiency``: ``gbps`` over it. ``devices``: those
    at their ends. ``predicted_gbps``: the same by max-min fair sharing of links and memories (``AloneFigures.shared``).
    ``overlap``: share of the time in which all of them ran.
    ``verdict``: "scales" where efficiency is at least 95 %, "shared" where the rate is at least 90 % of the prediction,
    by what is in ``bottleneck``; "apart" where nothing can be told, as the flows ran together for too little of the
    time: less than 90 %, and the prediction may have been reached in it; else "unknown".
    """
    alone = AloneFigures(figures, rows, paths)
    together = with_movement(
        figures.filter(
            polars.col("status").cast(polars.String) == "ok",
            (polars.col("flows") > 1) & (polars.col("background") == 0) & polars.col("gbps").is_not_null(),
            polars.col("figure").cast(polars.String).is_in(OF_ALL) & (polars.col("hosts").cast(polars.String) == ""),
        )
    )
    found = [_line(line, alone, rows[line["id"]]) for line in together.iter_rows(named=True)]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(line: Json, alone: AloneFigures, row: Row) -> Json:
    share = alone.shared(line)
    known = [one["gbps"] for one in share.alone if one and one["gbps"]] if share else []
    own = total = None
    if share is not None and known:
        rates = [one["gbps"] if one and one["gbps"] else median(known) for one in share.alone]
        own, total = sum(rates), _sum(share.predicted)
        if line["figure"] == "aggregate":
            moved = alone.moved(line)
            longest = max(size / rate for size, rate in zip(moved, rates, strict=True))
            if longest > 0:
                own, total = sum(moved) / longest, alone.aggregate(line)
    efficiency = line["gbps"] / own if own else None
    bottleneck = list(dict.fromkeys(chain.from_iterable(share.shared))) if share else []
    verdict = UNKNOWN
    if efficiency is not None and efficiency >= ENOUGH:
        verdict = SCALES
    elif total is not None and bottleneck and line["gbps"] >= EXPLAINED * total:
        verdict = SHARED
    elif efficiency is not None and _apart(line["gbps"], total, row.overlap):
        verdict = APART
    ends = {flow[end]["device"] for flow in row.case["flows"] for end in ("source", "destination") if flow.get(end)}
    return {
        **{name: line[name] for name in (*_COPIED, "bytes", "flows", "gbps", "gbps_low", "gbps_high", "modelled")},
        **{"devices": len(ends), "alone_gbps": own, "efficiency": efficiency, "predicted_gbps": total},
        **{"overlap": row.overlap, "verdict": verdict, "bottleneck": bottleneck if verdict == SHARED else []},
    }


def _apart(gbps: float, predicted: float | None, overlap: float | None) -> bool:
    """Whether flows may be short only because they did not run at the same time."""
    if overlap is None or overlap >= TOGETHER:
        return False
    return predicted is None or gbps >= EXPLAINED * predicted * overlap


def _sum(rates: Sequence[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None
