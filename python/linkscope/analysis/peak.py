"""Peak of a row's headline: what the node's links and memories would allow the case's flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.analysis.headline import touched_ratio
from linkscope.machine.paths import Paths, Traffic
from linkscope.results.row import Row

NAMED_BINDINGS = 3
_MIGRATING = ("page-fault", "fault-chase", "prefetch")
"""Methods before whose every start the pages lie again where the case says."""


@dataclass(frozen=True)
class Peak:
    """Payload GB/s, comparable with the headline; ``why`` names what limits it."""

    gbps: float
    why: str


def peak(row: Row, paths: Paths) -> Peak | None:
    """The limit of the case's headline; None where the topology does not know it.

    One flow: the narrowest link of its widest path, or a memory at its ends (a local copy takes two accesses per
    byte). Several flows, background ones too: their max-min fair rates over all links and memories at once, of
    which a ``first`` headline is compared with the first flow's and a ``sum`` or ``aggregate`` with the measured ones'.
    ``touched``: the memory's own rate where one device does it all in its memory; elsewhere as ``first``, each
    byte counted at both ends, and None where the method touches more or less than that. None, too, where loads and
    stores may have brought the pages elsewhere than the case says (``_wanders``).
    """
    if any(_wanders(flow) for flow in row.case["flows"]):
        return None
    if str(row.labels.get("figure")) == "touched":
        return _touched(row, paths)
    return _payload(row, paths)


def _wanders(flow: dict[str, Any]) -> bool:
    """Whether pages that nothing binds migrate to whoever loads or stores them, and the method is not to measure that.

    Copy engines leave them where they are.
    """
    free = any(end["memory"] == "managed" and end.get("placement") == "first-touch" for end in _ends(flow))
    return free and not flow["method"].startswith("copy-engine") and flow["method"] not in _MIGRATING


def _ends(flow: dict[str, Any]) -> list[dict[str, Any]]:
    return [flow[end] for end in ("source", "destination") if end in flow]


def _touched(row: Row, paths: Paths) -> Peak | None:
    if not row.measured_flows:
        return None
    flow, result = row.measured_flows[0]
    ends = [flow[end]["device"] for end in ("source", "destination") if end in flow]
    alone = len(row.case["flows"]) == 1
    if alone and set(ends) == {flow["executor"]}:
        memory = paths.peak(Traffic(flow["executor"], None, flow["executor"]))
        return None if memory is None else Peak(memory, f"limited by memory of {flow['executor']}")
    payload, ratio = _payload(row, paths), touched_ratio(flow, result)
    return None if payload is None or ratio != len(ends) else Peak(payload.gbps * ratio, payload.why)


def _payload(row: Row, paths: Paths) -> Peak | None:
    traffic, measured = _traffic(row.case["flows"])
    if not measured:
        return None
    try:
        shared = paths.concurrent_peak(traffic)
    except KeyError:  # a device that the recorded topology lacks
        return None
    figure = str(row.labels.get("figure", "first"))
    counted = measured if figure in ("sum", "aggregate") else measured[: _lanes(row.case["flows"], measured)]
    shares = [shared.flows[index] for index in counted]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return None
    total = sum(known) / (2 if figure == "half" else 1)
    return Peak(total, _why(shared.binding)) if total > 0 else None


def _traffic(flows: list[dict[str, Any]]) -> tuple[list[Traffic], list[int]]:
    """What each flow asks of the node (an exchange: one way and back) and which of them are measured."""
    traffic: list[Traffic] = []
    measured: list[int] = []
    for flow in flows:
        there = Traffic.of(flow)
        ways = [there]
        if _both_ways(flow):
            ways.append(Traffic(there.destination, there.source, there.executor))
        if flow.get("role", "measured") == "measured":
            measured += range(len(traffic), len(traffic) + len(ways))
        traffic += ways
    return traffic, measured


def _lanes(flows: list[dict[str, Any]], measured: list[int]) -> int:
    """How many of the measured streams belong to the first measured flow."""
    first = next(flow for flow in flows if flow.get("role", "measured") == "measured")
    return min(2 if _both_ways(first) else 1, len(measured))


def _both_ways(flow: dict[str, Any]) -> bool:
    return bool(flow["method"] == "kernel-exchange")


def _why(binding: tuple[str, ...]) -> str:
    named = ", ".join(binding[:NAMED_BINDINGS])
    rest = len(binding) - NAMED_BINDINGS
    return f"limited by {named} and {rest} more" if rest > 0 else f"limited by {named}"
