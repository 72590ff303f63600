"""Collectives: their latency and bandwidth compared with bounds, and the size at which latency turns linear."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered
from linkscope.answers.analyze.comparing import DESCRIBED, alike, alone, usable
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.columns import SCHEMA as RESULTS
from linkscope.figures.run import Run
from linkscope.machine.traits import method_traits
from linkscope.messages.finding import Finding, note
from linkscope.results.row import Row

Json = dict[str, Any]

PASSES = {"reduce": 1, "broadcast": 1, "all-reduce": 2, "reduce-scatter": 2, "all-gather": 2}
"""Communication passes as schieffer24, section VI, counts them; it has no word on the other kinds."""
MOST_MESSAGE = 64
"""Bytes: a larger message is no measure of latency alone."""
LINEAR = 2.0
"""Times the time of the smallest size: as much for the bytes as for the latency."""
LATENCY_BYTES = 4096
"""Up to so many bytes a time counts as latency."""
_SERIES = (*alike("figure"), "members")
_KEY = tuple(name for name in (*DESCRIBED, "collective", "members") if name != "figure")
SCHEMA: dict[str, Any] = {
    **{name: RESULTS[name] for name in _KEY},
    **{"sizes": polars.Int32, "smallest_bytes": polars.Int64},
    **dict.fromkeys(("latency_seconds", "latency_seconds_low", "latency_seconds_high"), polars.Float64),
    **{"bound_seconds": polars.Float64, "passes": polars.Int32, "bound_method": polars.String},
    **dict.fromkeys(("of_bound", "linear_bytes", "linear_bytes_low", "linear_bytes_high"), polars.Float64),
    **{"bus_gbps": polars.Float64, "bus_bytes": polars.Int64, "peak_gbps": polars.Float64, "of_peak": polars.Float64},
    "bound_by": polars.String,
}


@dataclass(frozen=True)
class LeastLatency:
    """The shortest of a run between two devices of one kind; ``method`` gave it."""

    seconds: float
    method: str


def answer(run: Run) -> Answer:
    """Return how near collectives come to their bounds."""
    results = usable(run)
    return answered(_QUESTION, run, collectives(results, best_latencies(results, run.rows)))


def best_latencies(results: polars.DataFrame, rows: Mapping[str, Row]) -> dict[str, LeastLatency]:
    """Return by kind of device (gpu, numa) the shortest time of a small message between two of them, alone.

    Between two GPUs, or two processes on host memory, of one host; of tests shown as a latency. A message that is
    answered counts by its ping-pong alone: others take a round trip.
    """
    small = alone(results).filter(
        polars.col("figure") == "latency",
        polars.col("bytes").is_between(1, MOST_MESSAGE),
        polars.col("hosts") == "",
        polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
    )
    best: dict[str, LeastLatency] = {}
    for line in small.select("id", "method", "seconds").sort("seconds", maintain_order=True).iter_rows(named=True):
        kind = _kind(rows[line["id"]].case)
        if kind and kind not in best:
            best[kind] = LeastLatency(line["seconds"], line["method"])
    return best


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


def collectives(results: polars.DataFrame, latencies: Mapping[str, LeastLatency]) -> polars.DataFrame:
    """Return a line for each collective, interface and way of launching it, in the run's order.

    ``latency_seconds`` is that of the smallest size, at most 4 KiB; ``bound_seconds`` schieffer24's: passes times the
    run's best point-to-point latency (null without), ``of_bound`` the one over the other. ``linear_bytes``: from where
    on the time is more than twice that of the smallest size, half of it for the bytes (n_1/2 of Hockney's line);
    interpolated on logarithms, ``low`` and ``high`` being the measured sizes around it. ``bus_gbps``: the best bus
    bandwidth, at ``bus_bytes``; ``of_peak``: over what no algorithm can exceed.
    """
    series = alone(results).filter(polars.col("collective").is_not_null(), polars.col("seconds_low") > 0)
    lines = [_line(one.sort("bytes"), latencies) for _, one in series.group_by(_SERIES, maintain_order=True)]
    found = [line for line in lines if line["bus_gbps"] is not None or "latency_seconds" in line]
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(series: polars.DataFrame, latencies: Mapping[str, LeastLatency]) -> Json:
    times = series.unique("bytes", keep="first", maintain_order=True)
    smallest = times.row(0, named=True)
    bus = series.filter(polars.col("figure") == "bus").sort("gbps", descending=True).head(1)
    best = bus.row(0, named=True) if bus.height else {}
    return {
        **{name: smallest[name] for name in _KEY},
        **{"sizes": times.height, "smallest_bytes": smallest["bytes"]},
        **(_of_latency(smallest, times, latencies) if smallest["bytes"] <= LATENCY_BYTES else {}),
        **{"bus_gbps": best.get("gbps"), "bus_bytes": best.get("bytes")},
        **{name: best.get(name) for name in ("peak_gbps", "of_peak", "bound_by")},
    }


def _of_latency(smallest: Json, times: polars.DataFrame, latencies: Mapping[str, LeastLatency]) -> Json:
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
    """Return, from (bytes, seconds, low, high) by size, where the time passes ``LINEAR`` times the first for good.

    Beside it stand the measured sizes between which that surely is. None where it never does, or sizes begin with 0.
    """
    if len(times) < 2 or times[0][0] <= 0 or times[-1][1] < LINEAR * times[0][1]:
        return None
    _, first, first_low, first_high = times[0]
    for (size, time, _, _), (larger, longer, _, _) in reversed(list(pairwise(times))):
        if time < LINEAR * first <= longer:
            share = math.log(LINEAR * first / time) / math.log(longer / time)
            below = [one for one, _, _, high in times if one <= size and high < LINEAR * first_low]
            above = [one for one, _, low, _ in times if one >= larger and low > LINEAR * first_high]
            middle = size * (larger / size) ** share
            return middle, max(below, default=times[0][0]), min(above, default=times[-1][0])
    return None


def _conclude(frame: polars.DataFrame) -> Finding:
    bound, peak = frame["of_bound"].drop_nulls(), frame["of_peak"].drop_nulls()
    turns = frame["linear_bytes"].drop_nulls()
    if bound.len():
        facts = {"low": bound.min(), "high": bound.max()}
        if peak.len():
            return note("analyze.collectives-both", **facts, peak=peak.max())
        return note("analyze.collectives-latency", **facts)
    if peak.len():
        best = frame.sort("of_peak", nulls_last=True, maintain_order=True).drop_nulls("of_peak").row(-1, named=True)
        facts = {"peak": best["of_peak"], "movement": best["movement"], "way": best["called"]}
        return note("analyze.collectives-bandwidth", **facts)
    if turns.len():
        return note("analyze.collectives-linear", first=turns.min(), last=turns.max())
    return note("analyze.collectives-none", series=frame.height)


_QUESTION = Inquiry(
    first=6,
    key="analyze.collectives",
    conclude=_conclude,
    columns=(
        Column("latency_seconds", Kind.TIME),
        Column("of_bound", Kind.FACTOR),
        Column("linear_bytes", Kind.SIZE),
        Column("bus_gbps", Kind.NUMBER),
        Column("of_peak", Kind.PERCENT),
    ),
)
