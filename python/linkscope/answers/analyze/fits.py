"""Fits: latency and bandwidth of each path and method, by Hockney's line through its times by size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, at
from linkscope.answers.answer import Column, Kind
from linkscope.messages.finding import Finding, note
from linkscope.statistics.hockney import Timing, hockney
from linkscope.statistics.interval import UNKNOWN_FROM

Json = dict[str, Any]

NO_LINE = 0.2
"""A line does not describe times that are further from it."""
SMALL = 64 << 10
"""Bytes: a series that begins beyond does not show the latency of small transfers."""


def fits(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each segment of each size series, sizes ascending, series in the order of the run.

    ``alpha_seconds`` and ``beta_gbps`` of t = alpha + n / beta with 95% intervals, see ``hockney``; ``half_bytes``:
    n_1/2 = alpha * beta. Several ``segments``: no one line describes the series, the protocol or the cache switches at
    ``last_bytes``. ``misfit``: the largest relative deviation of a time from the line. Times whose interval reaches
    further than ``UNKNOWN_FROM`` are left out.
    """
    time = polars.col("seconds")
    widest = polars.max_horizontal(polars.col("seconds_high") / time, time / polars.col("seconds_low"))
    lines = by.size_series(results.filter(widest <= UNKNOWN_FROM))
    return by.frame_of({**key, **one} for key, series in lines for one in _segments(series))


def _segments(series: polars.DataFrame) -> Iterator[Json]:
    segments = hockney([Timing(one["bytes"], by.interval(one, "seconds")) for one in series.iter_rows(named=True)])
    for number, segment in enumerate(segments, start=1):
        yield {
            **{"segment": number, "segments": len(segments), "points": segment.points},
            **{"first_bytes": segment.first, "last_bytes": segment.last},
            **segment.alpha.columns("alpha_seconds"),
            **by.spread("beta_gbps", segment.beta.scaled(1e-9) if segment.beta else None),
            **by.spread("half_bytes", segment.half),
            "misfit": segment.misfit,
        }


def _conclude(frame: polars.DataFrame) -> Finding:
    series = frame.filter(polars.col("segment") == 1)
    fitting = series.filter(polars.col("misfit") <= NO_LINE)
    facts = {"straight": fitting.filter(polars.col("segments") == 1).height, "series": series.height}
    times = fitting.filter(polars.col("first_bytes") <= SMALL, polars.col("alpha_seconds_low") > 0)["alpha_seconds"]
    if times.is_empty():
        return note("analyze.fits-none", **facts)
    return note("analyze.fits-latency", fastest=times.min(), slowest=times.max(), **facts)


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the frame with what a line surely says: nothing where it misses times, no alpha that may be 0."""
    fits = polars.col("misfit") <= NO_LINE
    positive = fits & (polars.col("alpha_seconds_low") > 0)
    return frame.with_columns(
        at(),
        polars.when(polars.col("segments") > 1).then("first_bytes").alias("start"),
        polars.when(positive).then("alpha_seconds").alias("alpha"),
        polars.when(fits).then("beta_gbps").alias("beta"),
        polars.when(fits).then("half_bytes").alias("half"),
    )


answer = Inquiry(
    key="analyze.fits",
    find=lambda run: fits(by.usable(run)),
    conclude=_conclude,
    columns=(
        Column("start", Kind.SIZE),
        Column("alpha", Kind.TIME),
        Column("beta", Kind.NUMBER),
        Column("half", Kind.SIZE, detail=True),
    ),
    names=("at", "called"),
    order=_order,
)
