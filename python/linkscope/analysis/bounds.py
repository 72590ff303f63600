"""Bounds: what a collective's time is held against, out of the point-to-point latencies of the same run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.analysis.collective import PASSES, Collective
from linkscope.machine.traits import method_traits
from linkscope.results.row import Row

Json = dict[str, Any]

ONE_WAY_CALLS = ("ping-pong",)
"""Of methods with a ``call``: those that give the time of one way. A send that is answered takes a round trip."""
MOST_BYTES = 64
"""A message of more is no measure of latency alone, an empty one none of its bytes' way."""


@dataclass(frozen=True)
class Latency:
    """The best of a run between two devices of one kind; ``method`` gave it."""

    seconds: float
    method: str


@dataclass(frozen=True)
class Bound:
    """schieffer24, section VI: ``passes`` times the best measured point-to-point latency."""

    seconds: float
    passes: int
    method: str


def best_latencies(rows: Iterable[Row]) -> dict[str, Latency]:
    """By kind of device (gpu, numa): the shortest median time of a small message between two of them, alone.

    Between two GPUs, or two processes on host memory, of one host; of rows shown as a latency. An MPI message counts
    by its ping-pong alone.
    """
    best: dict[str, Latency] = {}
    for row in rows:
        flows = row.case["flows"]
        if row.status != "ok" or row.labels.get("figure") != "latency" or len(flows) != 1 or row.between:
            continue
        kind, seconds = _kind(row), row.flows[0].seconds.median
        if kind and (kind not in best or seconds < best[kind].seconds):
            best[kind] = Latency(seconds, flows[0]["method"])
    return best


def bounds_of(rows: Sequence[Row], best: Mapping[str, Latency]) -> tuple[Bound, ...]:
    """Of the rows of one table, each bound once, shortest first; empty unless it shows collectives' times, of members
    on one host.
    """
    found = set()
    for row in rows:
        collective = Collective.of(row.case["flows"][0])
        if collective is None or row.labels.get("figure") != "latency" or collective.kind not in PASSES or row.between:
            continue
        latency = best.get(collective.members[0].partition(":")[0])
        if latency is not None:
            passes = PASSES[collective.kind]
            found.add(Bound(passes * latency.seconds, passes, latency.method))
    return tuple(sorted(found, key=lambda bound: bound.seconds))


def _kind(row: Row) -> str | None:
    """What the flow joins, where it measures the latency between two like devices."""
    flow = row.case["flows"][0]
    if "source" not in flow or "destination" not in flow or not 0 < flow["bytes"] <= MOST_BYTES:
        return None
    answered = method_traits(row.case, flow["method"]).answered
    if answered and flow.get("parameters", {}).get("call", "send") not in ONE_WAY_CALLS:
        return None
    source, destination = flow["source"], flow["destination"]
    kinds = {end["device"].partition(":")[0] for end in (source, destination)}
    apart = source.get("rank", 0) != destination.get("rank", 0)
    if kinds == {"gpu"}:
        return "gpu" if source["device"] != destination["device"] else None
    return "numa" if kinds == {"numa"} and apart else None
