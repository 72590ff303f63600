"""Fits: latency and bandwidth of each path and method, by Hockney's line through its times by size."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.analysis.hockney import Estimate, Segment, Timing, hockney
from linkscope.analysis.size_series import KEY_SCHEMA, size_series
from linkscope.results.row import UNKNOWN_FROM

Json = dict[str, Any]

SCHEMA: dict[str, Any] = {
    **KEY_SCHEMA,
    **{"modelled": polars.Boolean, "segment": polars.Int32, "segments": polars.Int32, "points": polars.Int32},
    **{"first_bytes": polars.Int64, "last_bytes": polars.Int64},
    **dict.fromkeys(("alpha_seconds", "alpha_seconds_low", "alpha_seconds_high"), polars.Float64),
    **dict.fromkeys(("beta_gbps", "beta_gbps_low", "beta_gbps_high"), polars.Float64),
    **dict.fromkeys(("half_bytes", "half_bytes_low", "half_bytes_high", "misfit"), polars.Float64),
}

_WIDEST = (polars.col("seconds_high") / polars.col("seconds"), polars.col("seconds") / polars.col("seconds_low"))


def fits(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each segment of each size series, sizes ascending, series in the order of the run.

    ``alpha_seconds`` and ``beta_gbps`` of t = alpha + n / beta with 95 % intervals, see ``hockney``; ``half_bytes``:
    n_1/2 = alpha * beta. Several ``segments``: no one line describes the series, the protocol or the cache switches at
    ``last_bytes``. ``misfit``: the largest relative deviation of a time from the line. Times whose
    interval reaches further than ``UNKNOWN_FROM`` are left out.
    """
    found = []
    for key, lines in size_series(figures.filter(polars.max_horizontal(_WIDEST) <= UNKNOWN_FROM)):
        points = [Timing(*line) for line in lines.select("bytes", "seconds", "seconds_low", "seconds_high").iter_rows()]
        segments = hockney(points)
        found += [
            {**key, "segment": number, "segments": len(segments), **_told(segment)}
            for number, segment in enumerate(segments, start=1)
        ]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _told(segment: Segment) -> Json:
    return {
        **{"points": segment.points, "first_bytes": segment.first, "last_bytes": segment.last},
        **_named("alpha_seconds", segment.alpha, 1.0),
        **_named("beta_gbps", segment.beta, 1e-9),
        **_named("half_bytes", segment.half, 1.0),
        "misfit": segment.misfit,
    }


def _named(name: str, found: Estimate | None, scale: float) -> Json:
    if found is None:
        return {}
    return {name: found.value * scale, f"{name}_low": found.low * scale, f"{name}_high": found.high * scale}
