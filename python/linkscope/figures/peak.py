"""Peak: what the node's links and memories allow the flows of a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.figures.collective import Collective
from linkscope.machine.paths import Paths, Traffic
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.results.case_traffic import both_ways, traffic_of

Json = dict[str, Any]

OF_ALL = ("sum", "aggregate", "touched")
"""Figures of all flows of a case together, as labels name them."""


@dataclass(frozen=True)
class Peak:
    """Payload GB/s, comparable with the result; ``why`` names what limits it, in words of
    links ("numa:0>gpu:1"), memories ("memory:gpu:0") and all links of a member ("into:gpu:0", "out-of:members").

    ``touches``: bytes read and written for each byte of payload, by which the peak is to be multiplied and for which
    alone it holds; 0 where it is as it is.
    """

    gbps: float
    why: str
    touches: int = 0

    def of(self, touched: float | None) -> float | None:
        """Return the peak of a method that touches so many bytes for each byte of payload; None where none holds."""
        if not self.touches:
            return self.gbps
        return self.gbps * touched if touched == self.touches else None


def peak(case: Json, figure: str, paths: Paths) -> Peak | None:
    """Return the limit of a case's figure ("first", "sum", "bus" ...); None where the topology does not know it.

    One flow: the narrowest link of its widest path, or a memory at its ends (a local copy takes two accesses per
    byte). Several flows, background ones too: their max-min fair rates over all links and memories at once, of
    which a ``first`` result is compared with the first flow's and a ``sum`` or ``aggregate`` with the measured ones'.
    ``touched``: the memory's own rate where one device does it all in its memory; elsewhere as ``first``, each
    byte counted at both ends. None, too, where loads and stores may have brought the pages elsewhere than the case
    says, and of a schedule, which packs, sends and waits by turns. ``bus`` and ``algorithm``: see
    ``Collective.bus_peak``.
    """
    flows = case["flows"]
    if any("schedule" in flow for flow in flows):
        return None
    collective = Collective.of(flows[0])
    if collective is not None:
        return _of_collective(collective, figure, paths)
    if any(_wanders(case, flow) for flow in flows):
        return None
    if figure != "touched":
        return _payload(case, figure, paths)
    flow = next(one for one in flows if one.get("role", "measured") == "measured")
    ends = [end["device"] for end in _ends(flow)]
    if len(flows) == 1 and set(ends) == {flow["executor"]}:
        memory = paths.peak(Traffic(flow["executor"], None, flow["executor"]))
        return None if memory is None else Peak(memory, _why((f"memory of {flow['executor']}",)))
    payload = _payload(case, figure, paths)
    return None if payload is None else Peak(payload.gbps, payload.why, len(ends))


def _of_collective(collective: Collective, figure: str, paths: Paths) -> Peak | None:
    """Return the peak of bus bandwidth, or what it leaves of the algorithm's; None for any other figure."""
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


def _wanders(case: Json, flow: Json) -> bool:
    """Return whether unbound pages migrate to the device that loads or stores them, where the method is not to measure
    that. Copy engines leave them where they are."""
    ends = [end for end in _ends(flow) if end.get("placement") == "first-touch"]
    method = method_traits(case, flow["method"])
    stay = method.leaves_pages or method.migrates
    return not stay and any(memory_traits(case, end["memory"]).migrates for end in ends)


def _ends(flow: Json) -> list[Json]:
    return [flow[end] for end in ("source", "destination") if end in flow]


def _payload(case: Json, figure: str, paths: Paths) -> Peak | None:
    traffic, measured = traffic_of(case, paths.node)
    if not measured:
        return None
    try:
        shared = paths.concurrent_peak(traffic)
    except KeyError:  # a device that the recorded topology lacks
        return None
    counted = measured if figure in OF_ALL else measured[: _lanes(case, measured)]
    shares = [shared.flows[index] for index in counted]
    known = [share for share in shares if share is not None]
    if len(known) < len(shares):
        return None
    total = sum(known) / (2 if figure == "half" else 1)
    return Peak(total, _why(shared.binding)) if total > 0 else None


def _lanes(case: Json, measured: list[int]) -> int:
    """Return how many of the measured streams belong to the first measured flow."""
    first = next(flow for flow in case["flows"] if flow.get("role", "measured") == "measured")
    return min(2 if both_ways(case, first) else 1, len(measured))


def _why(binding: tuple[str, ...]) -> str:
    return " ".join(one.replace("memory of ", "memory:") for one in binding)
