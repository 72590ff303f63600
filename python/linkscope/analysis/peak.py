"""Peak of a row's headline: what the node's links and memories would allow the case's flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.analysis.collective import Collective
from linkscope.analysis.headline import OF_ALL, touched_ratio
from linkscope.machine.paths import Paths, Traffic
from linkscope.results.case_traffic import both_ways, traffic_of
from linkscope.results.row import Row
from linkscope.traits import memory_traits, method_traits

NAMED_BINDINGS = 3
ABOVE = 1.03
"""A figure beyond this multiple of its path's peak never crossed that path: clocks and peaks are better than that."""


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
    stores may have brought the pages elsewhere than the case says (``_wanders``), and where the flows' ends are on
    several hosts: nobody knows what the network between them could do. Nor is there one of a schedule, which packs,
    sends and waits by turns. ``bus`` and ``algorithm``: see ``Collective.bus_peak``.
    """
    if row.between or any("schedule" in flow for flow in row.case["flows"]):
        return None
    collective = Collective.of(row.case["flows"][0])
    if collective is not None:
        return _of_collective(collective, str(row.labels.get("figure")), paths)
    if any(_wanders(row.case, flow) for flow in row.case["flows"]):
        return None
    if str(row.labels.get("figure")) == "touched":
        return _touched(row, paths)
    return _payload(row, paths)


def _of_collective(collective: Collective, figure: str, paths: Paths) -> Peak | None:
    """Of its bus bandwidth, or what that leaves of the algorithm's; None for any other figure."""
    if figure not in ("algorithm", "bus"):
        return None
    try:
        found = collective.bus_peak(paths)
    except KeyError:  # a device that the recorded topology lacks
        return None
    if found is None:
        return None
    gbps, why = found
    return Peak(gbps if figure == "bus" else gbps / collective.bus_factor, why)


def _wanders(case: dict[str, Any], flow: dict[str, Any]) -> bool:
    """Whether unbound pages migrate to the device that loads or stores them, and the method is not to measure that.

    Copy engines leave them where they are.
    """
    ends = [end for end in _ends(flow) if end.get("placement") == "first-touch"]
    method = method_traits(case, flow["method"])
    stay = method.leaves_pages or method.migrates
    return not stay and any(memory_traits(case, end["memory"]).migrates for end in ends)


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
    traffic, measured = traffic_of(row.case, paths.node)
    if not measured:
        return None
    try:
        shared = paths.concurrent_peak(traffic)
    except KeyError:  # a device that the recorded topology lacks
        return None
    figure = str(row.labels.get("figure", "first"))
    counted = measured if figure in OF_ALL else measured[: _lanes(row.case, measured)]
    shares = [shared.flows[index] for index in counted]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return None
    total = sum(known) / (2 if figure == "half" else 1)
    return Peak(total, _why(shared.binding)) if total > 0 else None


def _lanes(case: dict[str, Any], measured: list[int]) -> int:
    """How many of the measured streams belong to the first measured flow."""
    first = next(flow for flow in case["flows"] if flow.get("role", "measured") == "measured")
    return min(2 if both_ways(case, first) else 1, len(measured))


def _why(binding: tuple[str, ...]) -> str:
    named = ", ".join(binding[:NAMED_BINDINGS])
    rest = len(binding) - NAMED_BINDINGS
    return f"limited by {named} and {rest} more" if rest > 0 else f"limited by {named}"
