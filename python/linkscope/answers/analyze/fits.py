"""Fits: latency and bandwidth of each path and method, by Hockney's line through its times by size."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.size_series import KEY_SCHEMA, size_series
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.results.row import UNKNOWN_FROM
from linkscope.statistics.hockney import Segment, Timing, hockney
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

NO_LINE = 0.2
"""A line does not describe times that are further from it."""
SMALL = 64 << 10
"""Bytes: a series that begins beyond does not show the latency of small transfers."""
_INTERVALS = ("alpha_seconds", "beta_gbps", "half_bytes")
SCHEMA: dict[str, Any] = {
    **KEY_SCHEMA,
    **dict.fromkeys(("segment", "segments", "points"), polars.Int32),
    **dict.fromkeys(("first_bytes", "last_bytes"), polars.Int64),
    **{f"{name}{bound}": polars.Float64 for name in _INTERVALS for bound in ("", "_low", "_high")},
    "misfit": polars.Float64,
}


def answer(run: Run) -> Answer:
    """Return latency and bandwidth by t = alpha + n / beta."""
    return answered(_QUESTION, run, fits(usable(run)))


def fits(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each segment of each size series, sizes ascending, series in the order of the run.

    ``alpha_seconds`` and ``beta_gbps`` of t = alpha + n / beta with 95% intervals, see ``hockney``; ``half_bytes``:
    n_1/2 = alpha * beta. Several ``segments``: no one line describes the series, the protocol or the cache switches at
    ``last_bytes``. ``misfit``: the largest relative deviation of a time from the line. Times whose interval reaches
    further than ``UNKNOWN_FROM`` are left out.
    """
    time = polars.col("seconds")
    widest = polars.max_horizontal(polars.col("seconds_high") / time, time / polars.col("seconds_low"))
    found: list[Json] = []
    for key, lines in size_series(results.filter(widest <= UNKNOWN_FROM)):
        times = lines.select("bytes", "seconds", "seconds_low", "seconds_high").iter_rows()
        segments = hockney([Timing(size, Interval(*bounds)) for size, *bounds in times])
        found += [
            {**key, "segment": number, "segments": len(segments), **_line(segment)}
            for number, segment in enumerate(segments, start=1)
        ]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(segment: Segment) -> Json:
    found = (segment.alpha, segment.beta and segment.beta.scaled(1e-9), segment.half)
    bounds = {
        f"{name}{bound}": value
        for name, one in zip(_INTERVALS, found, strict=True)
        if one is not None
        for bound, value in (("", one.value), ("_low", one.low), ("_high", one.high))
    }
    sizes = {"points": segment.points, "first_bytes": segment.first, "last_bytes": segment.last}
    return {**sizes, **bounds, "misfit": segment.misfit}


def _conclude(frame: polars.DataFrame) -> Finding:
    series = frame.filter(polars.col("segment") == 1)
    fitting = series.filter(polars.col("misfit") <= NO_LINE)
    straight = fitting.filter(polars.col("segments") == 1).height
    good = fitting.filter(polars.col("first_bytes") <= SMALL, polars.col("alpha_seconds_low") > 0)
    facts = {"straight": straight, "series": series.height}
    if good.is_empty():
        return note("analyze.fits-none", **facts)
    times = good["alpha_seconds"]
    return note("analyze.fits-latency", fastest=times.min(), slowest=times.max(), **facts)


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the frame with what a line surely says: nothing where it misses times, no alpha that may be 0."""
    fits = polars.col("misfit") <= NO_LINE
    positive = fits & (polars.col("alpha_seconds_low") > 0)
    return frame.with_columns(
        polars.when(polars.col("segments") > 1).then(polars.concat_list("first_bytes", "last_bytes")).alias("sizes"),
        polars.when(positive).then(polars.col("alpha_seconds")).alias("alpha"),
        *(polars.when(positive).then(polars.col(f"alpha_seconds_{b}")).alias(f"alpha_{b}") for b in ("low", "high")),
        *(polars.when(fits).then(polars.col(f"beta_gbps{b}")).alias(f"beta{b}") for b in ("", "_low", "_high")),
        polars.when(fits).then(polars.col("half_bytes")).alias("half"),
        polars.when(~fits).then(polars.lit("no")).otherwise(polars.lit("yes")).alias("line"),
    )


_QUESTION = Inquiry(
    key="analyze.fits",
    conclude=_conclude,
    columns=(
        Column("sizes", Kind.SIZE),
        Column("alpha", Kind.TIME, interval=True),
        Column("beta", Kind.NUMBER, interval=True),
        Column("half", Kind.SIZE, detail=True),
    ),
    names=("path", "called"),
    order=_shown,
)
