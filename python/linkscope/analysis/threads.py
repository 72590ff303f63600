"""Threads: what more threads of a CPU get out of memory, and from how many on no more comes."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.analysis.movement import with_movement
from linkscope.analysis.size_ranges import Cost

ENOUGH = 0.95
"""Of the best rate."""
_NUMBER = r"\bthreads=(\d+) ?"
_SERIES = (
    *("movement", "role", "method", "path", "source_memory", "destination_memory", "others", "bytes", "figure"),
    *("regime", "cache", "load", "environment", "processes"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_SERIES, polars.String),
    **{"bytes": polars.Int64, "processes": polars.Int32, "fewest_threads": polars.Int32, "most_threads": polars.Int32},
    **dict.fromkeys(("fewest_gbps", "gbps", "gbps_low", "gbps_high", "speedup"), polars.Float64),
    **{"best_threads": polars.Int32, "enough_threads": polars.Int32, "efficiency": polars.Float64},
    **{"clear": polars.Boolean, "surely_best": polars.Boolean, "modelled": polars.Boolean},
}


def threads(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each copy or access by a CPU that was measured with several numbers of threads, in the run's order;
    none of warm caches, whose rates are not memory's and may grow faster than the threads.

    ``gbps`` is the best rate, with ``best_threads``; ``enough_threads``: the fewest that reach 95 % of it, as far as
    was measured. ``speedup``: the best rate over that of ``fewest_threads``; ``efficiency``: speedup over how many
    times more ``enough_threads`` are. ``clear``: the intervals of these two rates tell them apart, or they are one.
    ``surely_best``: the intervals tell the best rate from that of every other number of threads. ``others``: the
    parameters but the threads.
    """
    parameters = polars.col("parameters").cast(polars.String)
    usable = with_movement(
        figures.filter(
            polars.col("status").cast(polars.String) == "ok",
            polars.col("cache").cast(polars.String) != "warm",
            (polars.col("flows") == 1) & (polars.col("background") == 0) & (polars.col("gbps_low") > 0),
            polars.col("executor").cast(polars.String).str.starts_with("numa:") & parameters.str.contains(_NUMBER),
        )
    ).with_columns(
        parameters.str.extract(_NUMBER).cast(polars.Int32).alias("threads"),
        parameters.str.replace(_NUMBER, "").str.strip_chars().alias("others"),
    )
    each = usable.filter(polars.col("threads") > 0).unique([*_SERIES, "threads"], keep="first", maintain_order=True)
    found = []
    for _, series in each.group_by(_SERIES, maintain_order=True):
        ordered = series.sort("threads")
        if len(ordered) < 2:
            continue
        first, best = ordered.row(0, named=True), ordered.sort("gbps", maintain_order=True).row(-1, named=True)
        enough = int(ordered.filter(polars.col("gbps") >= ENOUGH * best["gbps"])["threads"][0])
        speedup = best["gbps"] / first["gbps"]
        found.append(
            {
                **{name: first[name] for name in (*_SERIES, "modelled")},
                **{"fewest_threads": first["threads"], "most_threads": ordered["threads"][-1]},
                **{"fewest_gbps": first["gbps"], "best_threads": best["threads"], "enough_threads": enough},
                **{name: best[name] for name in ("gbps", "gbps_low", "gbps_high")},
                **{"speedup": speedup, "efficiency": speedup / (enough / first["threads"])},
                "surely_best": all(
                    _cost(one).dearer_than(_cost(best))
                    for one in ordered.iter_rows(named=True)
                    if one["threads"] != best["threads"]
                ),
                "clear": best["threads"] == first["threads"] or _cost(first).dearer_than(_cost(best)),
            }
        )
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _cost(line: dict[str, Any]) -> Cost:
    """Seconds a gigabyte."""
    return Cost(1 / line["gbps"], 1 / line["gbps_high"], 1 / line["gbps_low"])
