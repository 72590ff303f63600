"""Figures: the results frame as older analyses know it: words as categories, how flows lie and timing in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars

from linkscope.figures.columns import OF_ONE_FLOW as OF_ONE_FLOW
from linkscope.figures.columns import RATE as RATE
from linkscope.figures.columns import TIME as TIME
from linkscope.figures.kinds import Kinds
from linkscope.figures.results import results_of
from linkscope.machine.paths import Paths
from linkscope.results.run_file import RunFile

Json = dict[str, Any]

BETWEEN_NOTES = "; "
_WORDS = polars.Categorical
SCHEMA: dict[str, Any] = {
    **{"id": polars.String, "suite": _WORDS, "row": _WORDS, "title": _WORDS, "status": _WORDS, "reason": _WORDS},
    **{
        "left_out": polars.Boolean,
        "modelled": polars.Boolean,
        "assumed": polars.Boolean,
        "origin": _WORDS,
        "clock": _WORDS,
        "regime": _WORDS,
        "cache": _WORDS,
        "load": _WORDS,
    },
    **{"environment": _WORDS, "processes": polars.Int32, "hosts": _WORDS, "tier": _WORDS, "class": _WORDS},
    **{"method": _WORDS, "executor": _WORDS, "source": _WORDS, "source_memory": _WORDS, "destination": _WORDS},
    **{
        "destination_memory": _WORDS,
        "paths": _WORDS,
        "members": _WORDS,
        "members_memory": _WORDS,
        "collective": _WORDS,
    },
    **dict.fromkeys(("workload", "deck", "interface", "state_memory", "rank_order"), _WORDS),
    **{"messages": polars.Int64, "isolated": polars.Boolean},
    **{"parameters": _WORDS, "bytes": polars.Int64, "flows": polars.Int32, "background": polars.Int32},
    "together": _WORDS,
    **{"place": _WORDS, "variant": _WORDS, "figure": _WORDS},
    **dict.fromkeys(("gbps", "gbps_low", "gbps_high", "seconds", "seconds_low", "seconds_high"), polars.Float64),
    **{"unit": _WORDS, "n": polars.Int64, "replicates": polars.Int32, "noise": polars.Float64},
    **{"replicate_values": polars.List(polars.Float64), "of_samples": polars.Float64},
    **{"peak_gbps": polars.Float64, "of_peak": polars.Float64, "bound_by": _WORDS},
    "notes": _WORDS,
    "parts_s": polars.List(polars.Float64),
}
"""Columns of the frame and their types; "class" is the class of figures that share a noise."""


def figures(run: RunFile) -> polars.DataFrame:
    """Return every result of a run, in the plan's order, with the columns of ``SCHEMA``; null where unknown.

    Columns mean what figures/columns.py says. ``regime`` is the clock with what it holds, in words, ``together`` such
    as "both ways", "1 to 3", "12 flows", ``clock`` that of the case.
    """
    cases = {row.id: row.case for row in run.rows}
    known = {
        "id": list(cases),
        "clock": [case["clock"] for case in cases.values()],
        "together": [_together(case["flows"]) for case in cases.values()],
    }
    found = results_of(run.rows, Kinds(Paths(run.node)))
    regime = polars.concat_str(
        polars.when(polars.col("clock") == "model")
        .then(polars.lit("the model's clock"))
        .otherwise(polars.col("clock") + " clock"),
        polars.when("calls_included").then(polars.lit(", calls included")).otherwise(polars.lit("")),
        polars.when("both_ways").then(polars.lit(", both ways")).otherwise(polars.lit("")),
        polars.when(polars.col("call") != "").then(", " + polars.col("call")).otherwise(polars.lit("")),
    )
    notes = polars.when(polars.col("status") == "ok").then(polars.col("notes").list.join(BETWEEN_NOTES))
    found = found.with_columns(regime.alias("regime"), notes.alias("notes"))
    of_case = polars.DataFrame(known, dict.fromkeys(known, polars.String))
    found = found.drop("clock", "together").join(of_case, on="id", maintain_order="left")
    return found.select(polars.col(name).cast(kind) for name, kind in SCHEMA.items())


def _together(flows: Sequence[Json]) -> str:
    measured = [flow for flow in flows if flow.get("role", "measured") == "measured"]
    if len(measured) == 1:
        return ""
    ends = [
        tuple(flow.get(end, {}).get("device", flow["executor"]) for end in ("source", "destination"))
        for flow in measured
    ]
    sources, destinations = {end[0] for end in ends}, {end[1] for end in ends}
    if len({frozenset(pair) for pair in ends}) == 1:
        return "both ways" if len(sources) > 1 and len(measured) == 2 else f"{len(measured)} flows on one path"
    if len(sources) == 1 or len(destinations) == 1:
        return f"{len(sources)} to {len(destinations)}"
    return f"{len(measured)} flows{', both ways' if all((b, a) in ends for a, b in ends) else ''}"
