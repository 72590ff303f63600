"""Collectives: their latency and bandwidth against bounds, and the size at which latency turns linear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars

from linkscope.analysis.bounds import Latency
from linkscope.analysis.collective import PASSES
from linkscope.analysis.movement import with_movement

Json = dict[str, Any]

LINEAR = 2.0
"""Times the time of the smallest size: as much for the bytes as for the latency."""
LATENCY_BYTES = 4096
"""Up to so many a time counts as latency."""
_SERIES = (
    *("movement", "collective", "method", "parameters", "members", "members_memory", "processes"),
    *("regime", "cache", "environment", "hosts"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_SERIES, polars.String),
    **{"processes": polars.Int32, "sizes": polars.Int32, "smallest_bytes": polars.Int64},
    **dict.fromkeys(("latency_seconds", "latency_seconds_low", "latency_seconds_high"), polars.Float64),
    **{"bound_seconds": polars.Float64, "passes": polars.Int32, "bound_method": polars.String},
    **dict.fromkeys(("of_bound", "linear_bytes", "linear_bytes_low", "linear_bytes_high"), polars.Float64),
    **{"bus_gbps": polars.Float64, "bus_bytes": polars.Int64, "peak_gbps": polars.Float64, "of_peak": polars.Float64},
    **{"bound_by": polars.String, "modelled": polars.Boolean},
}


def collectives(figures: polars.DataFrame, latencies: Mapping[str, Latency]) -> polars.DataFrame:
    """A line for each collective, interface and way of launching it, in the run's order.

    ``latency_seconds`` is that of the smallest size, at most 4 KiB; ``bound_seconds`` schieffer24's: passes times the
    run's best point-to-point latency (``latencies`` as of ``best_latencies``; null without), ``of_bound`` the one over
    the other.
    ``linear_bytes``: from where on the time is more than twice that of the smallest size, half of it for the bytes
    (n_1/2 of Hockney's line); interpolated on logarithms, ``low`` and ``high`` being the measured sizes around it.
    ``bus_gbps``: the best bus bandwidth, at ``bus_bytes``; ``of_peak``: over what no algorithm can exceed
    (``Collective.bus_peak``).
    """
    usable = with_movement(
        figures.filter(
            polars.col("status").cast(polars.String) == "ok",
            polars.col("members").is_not_null() & (polars.col("flows") == 1) & (polars.col("background") == 0),
            polars.col("seconds_low") > 0,
        )
    )
    lines = [_line(series.sort("bytes"), latencies) for _, series in usable.group_by(_SERIES, maintain_order=True)]
    found = [line for line in lines if line["bus_gbps"] is not None or "latency_seconds" in line]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(series: polars.DataFrame, latencies: Mapping[str, Latency]) -> Json:
    times = series.unique("bytes", keep="first", maintain_order=True)
    smallest = times.row(0, named=True)
    bus = series.filter(polars.col("figure").cast(polars.String) == "bus").sort("gbps", descending=True).head(1)
    best = bus.row(0, named=True) if len(bus) else {}
    return {
        **{name: smallest[name] for name in _SERIES},
        **{"sizes": len(times), "smallest_bytes": smallest["bytes"], "modelled": bool(series["modelled"].any())},
        **(_of_latency(smallest, times, latencies) if smallest["bytes"] <= LATENCY_BYTES else {}),
        **{"bus_gbps": best.get("gbps"), "bus_bytes": best.get("bytes")},
        **{name: best.get(name) for name in ("peak_gbps", "of_peak", "bound_by")},
    }


def _of_latency(smallest: Json, times: polars.DataFrame, latencies: Mapping[str, Latency]) -> Json:
    latency = latencies.get(smallest["members"].partition(":")[0]) if not smallest["hosts"] else None
    passes = PASSES.get(smallest["collective"])
    linear = turning(list(times.select("bytes", "seconds", "seconds_low", "seconds_high").iter_rows()))
    told = {f"latency_{name}": smallest[name] for name in ("seconds", "seconds_low", "seconds_high")}
    told |= dict(zip(("linear_bytes", "linear_bytes_low", "linear_bytes_high"), linear or (), strict=False))
    if latency is None or passes is None or latency.seconds <= 0:
        return told
    bound = passes * latency.seconds
    of_bound = smallest["seconds"] / bound
    return {**told, "bound_seconds": bound, "passes": passes, "bound_method": latency.method, "of_bound": of_bound}


def turning(times: Sequence[tuple[int, float, float, float]]) -> tuple[float, float, float] | None:
    """From (bytes, seconds, low, high) by size: where the time passes ``LINEAR`` times the first for good, and the
    measured sizes between which that surely is; None where it never does, or sizes begin with none."""
    if len(times) < 2 or times[0][0] <= 0 or times[-1][1] < LINEAR * times[0][1]:
        return None
    _, first, first_low, first_high = times[0]
    for (size, time, _, _), (larger, longer, _, _) in reversed(list(pairwise(times))):
        if time < LINEAR * first <= longer:
            share = math.log(LINEAR * first / time) / math.log(longer / time)
            middle = size * (larger / size) ** share
            below = [one for one, _, _, high in times if one <= size and high < LINEAR * first_low]
            above = [one for one, _, low, _ in times if one >= larger and low > LINEAR * first_high]
            return middle, max(below, default=times[0][0]), min(above, default=times[-1][0])
    return None
