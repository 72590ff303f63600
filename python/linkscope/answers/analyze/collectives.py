"""Collectives: their latency and bandwidth compared with bounds, and the size at which latency turns linear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, at
from linkscope.answers.answer import Column, Kind
from linkscope.figures.collective import PASSES
from linkscope.figures.run import Run
from linkscope.machine.traits import method_traits
from linkscope.messages.finding import Finding, note
from linkscope.results.row import Row
from linkscope.statistics.crossing import Curve, crossing
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

MOST_MESSAGE = 64
"""Bytes: a larger message is no measure of latency alone."""
LINEAR = 2.0
"""Times the time of the smallest size: as much for the bytes as for the latency."""
LATENCY_BYTES = 4096
"""Up to so many bytes a time counts as latency."""
_SERIES = (*by.alike("figure"), "members")
_BUS = {"bus_gbps": "gbps", "bus_bytes": "bytes", **{name: name for name in ("peak_gbps", "of_peak", "bound_by")}}


def best_latencies(results: polars.DataFrame, rows: Mapping[str, Row]) -> dict[str, tuple[float, str]]:
    """Return by kind of device (gpu, numa) the least time of a small message between two of them, and its method.

    Between two GPUs, or two processes on host memory, of one host, alone; of tests shown as a latency. A message that
    is answered counts by its ping-pong alone: others take a round trip.
    """
    small = by.alone(results).filter(
        (polars.col("figure") == "latency") & (polars.col("hosts") == ""),
        polars.col("bytes").is_between(1, MOST_MESSAGE),
        polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
    )
    best: dict[str, tuple[float, str]] = {}
    for line in small.select("id", "method", "seconds").sort("seconds", maintain_order=True).iter_rows(named=True):
        best.setdefault(_kind(rows[line["id"]].case), (line["seconds"], line["method"]))
    return {kind: least for kind, least in best.items() if kind}


def _kind(case: Json) -> str:
    """Return the kind of device that the flow joins, where it measures the latency between two like devices."""
    flow = case["flows"][0]
    if method_traits(case, flow["method"]).answered and flow.get("parameters", {}).get("call", "send") != "ping-pong":
        return ""
    source, destination = flow["source"], flow["destination"]
    kinds = {end["device"].partition(":")[0] for end in (source, destination)}
    if kinds == {"gpu"}:
        return "gpu" if source["device"] != destination["device"] else ""
    return "numa" if kinds == {"numa"} and source.get("rank", 0) != destination.get("rank", 0) else ""


def collectives(results: polars.DataFrame, latencies: Mapping[str, tuple[float, str]]) -> polars.DataFrame:
    """Return a line for each collective, interface and way of launching it, in the run's order.

    ``latency_seconds`` is that of the smallest size, at most 4 KiB; ``bound_seconds`` schieffer24's: passes times the
    run's best point-to-point latency (null without), ``of_bound`` the one over the other. ``linear_bytes``: from where
    on the time is more than twice that of the smallest size, half of it for the bytes (n_1/2 of Hockney's line);
    with bounds, see ``crossing``. ``bus_gbps``: the best bus bandwidth, at ``bus_bytes``; ``of_peak``: over what no
    algorithm can exceed.
    """
    series = by.alone(results).filter(polars.col("collective").is_not_null(), polars.col("seconds_low") > 0)
    lines = (_line(one.sort("bytes"), latencies) for _, one in series.group_by(_SERIES, maintain_order=True))
    return by.frame_of(line for line in lines if line["bus_gbps"] is not None or line["latency_seconds"] is not None)


def _line(series: polars.DataFrame, latencies: Mapping[str, tuple[float, str]]) -> Json:
    times = series.unique("bytes", keep="first", maintain_order=True)
    smallest = times.row(0, named=True)
    bus = series.filter(polars.col("figure") == "bus").sort("gbps", descending=True).head(1).to_dicts()
    small = smallest["bytes"] <= LATENCY_BYTES
    kind = smallest["members"].partition(":")[0] if not smallest["hosts"] else ""
    least, method = latencies.get(kind, (0.0, ""))
    passes = PASSES.get(smallest["collective"])
    bound = passes * least if passes and small and least > 0 else None
    known = [(line["bytes"], by.interval(line, "seconds")) for line in times.iter_rows(named=True)]
    return {
        **{name: smallest[name] for name in (*by.DESCRIBED, "collective", "members") if name != "figure"},
        **{"sizes": times.height, "smallest_bytes": smallest["bytes"]},
        **by.spread("latency_seconds", known[0][1] if small else None),
        **by.spread("linear_bytes", turning(known) if small else None),
        **{"bound_seconds": bound, "of_bound": smallest["seconds"] / bound if bound else None},
        **{"passes": passes if bound else None, "bound_method": method if bound else None},
        **{name: bus[0][column] if bus else None for name, column in _BUS.items()},
    }


def turning(times: Curve) -> Interval | None:
    """Return the size from where on the time is above ``LINEAR`` times the first for good, with its bounds.

    None where it never is, or sizes begin with 0.
    """
    (smallest, first), (_, last) = times[0], times[-1]
    if len(times) < 2 or smallest <= 0 or last.value < LINEAR * first.value:
        return None
    return crossing(times, first.scaled(LINEAR))


def _conclude(frame: polars.DataFrame) -> Finding:
    bound, peak, turns = (frame[name].drop_nulls() for name in ("of_bound", "of_peak", "linear_bytes"))
    if bound.len():
        facts = {"low": bound.min(), "high": bound.max()}
        both = note("analyze.collectives-both", **facts, peak=peak.max() or 0.0)
        return both if peak.len() else note("analyze.collectives-latency", **facts)
    if peak.len():
        best = frame.drop_nulls("of_peak").sort("of_peak", maintain_order=True).row(-1, named=True)
        return note("analyze.collectives-bandwidth", peak=best["of_peak"], movement=best["movement"])
    if turns.len():
        return note("analyze.collectives-linear", first=turns.min(), last=turns.max())
    return note("analyze.collectives-none", series=frame.height)


def _find(run: Run) -> polars.DataFrame:
    results = by.usable(run)
    return collectives(results, best_latencies(results, run.rows))


answer = Inquiry(
    key="analyze.collectives",
    find=_find,
    conclude=_conclude,
    columns=(
        Column("latency_seconds", Kind.TIME),
        Column("of_bound", Kind.FACTOR),
        Column("linear_bytes", Kind.SIZE, detail=True),
        Column("bus_gbps", Kind.NUMBER),
        Column("of_peak", Kind.PERCENT),
    ),
    names=("at", "called"),
    order=lambda frame: frame.with_columns(at("members")),
    first=6,
)
