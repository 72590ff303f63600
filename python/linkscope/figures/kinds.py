"""Kinds of cases: what cases have in common that differ in id, size and place alone, found once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from linkscope.figures.collective import Collective
from linkscope.figures.likeness import likeness, way
from linkscope.figures.movement import movement, path, role
from linkscope.figures.peak import Peak, peak
from linkscope.figures.values import Quantity, quantities
from linkscope.machine.node import Node
from linkscope.machine.nominal import nominal, nominal_tiers
from linkscope.machine.paths import Paths, Traffic
from linkscope.machine.traits import MemoryTraits, memory_traits, method_traits
from linkscope.results.case_traffic import both_ways
from linkscope.results.noise_class import LARGE, noise_class
from linkscope.results.row import Row

Json = dict[str, Any]

_TOUCHERS = {"numa": "cpu", "gpu": "gpu"}
_CALLS = ("ping-pong", "window", "in-kernel")
"""Calls and forms whose result is not the time of one transfer from call to arrival."""
_VARYING = ("title", "row", "column", "x", "cells", "series", "variant", "peer")
"""Labels in which cases of a kind differ."""
_SIZED = {"tuning_group": None, "figures": None}
"""Fields of a flow that change with its size."""


@dataclass(frozen=True)
class KindResult:
    """One result of every case of a kind. ``number``: its place among those of all kinds; ``sized``: the flow whose
    bytes are moved, None where none are; ``fewest_of_two_speeds``: processes from which on they can show two speeds."""

    number: int
    quantity: Quantity
    sized: int | None
    peak: Peak | None
    fewest_of_two_speeds: int


class Kinds:
    """The kinds of a run's cases. ``columns``: of each part, the columns of the frame that its cases share.

    Peaks and tiers are those of links as they were built: one that is down makes no peer of a GPU its better.
    """

    def __init__(self, node: Node) -> None:
        self._paths, self._tiers = Paths(nominal(node)), nominal_tiers(node)
        self._known: dict[bytes, tuple[KindResult, ...]] = {}
        self.columns: list[Json] = []

    def of(self, row: Row) -> tuple[KindResult, ...]:
        """Return the parts of a row's case."""
        case = row.case
        flows = [{**flow, **_SIZED, "bytes": flow["bytes"] >= LARGE} for flow in case["flows"]]
        labels = {name: word for name, word in row.labels.items() if name not in _VARYING}
        own = [case.get(name) for name in ("suite", "name", "clock", "cache", "load", "environment", "processes")]
        cells = len(row.labels.get("cells", ()))
        key = msgspec.json.encode([flows, labels, own, cells, row.modelled, row.hosts, row.imported])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = tuple(self._result(row, one) for one in quantities(case))
        return found

    def _result(self, row: Row, quantity: Quantity) -> KindResult:
        flows = row.case["flows"]
        lead = quantity.first if row.labels.get("cells") else 0
        ordered = [flows[lead], *(flow for i, flow in enumerate(flows) if i != lead)]
        case = {**row.case, "flows": ordered}
        tier = str(row.labels.get("tier", ""))
        found = _columns(row, case, quantity.figure, self._tiers.get(tier, tier))
        limit = None if row.between else peak(case, quantity.figure, self._paths)
        found["bound_by"] = limit.why if limit is not None else None
        self.columns.append(found)
        sized = lead if moves(ordered[0]) else None
        known = limit if limit is not None and limit.gbps else None
        fewest = noise_class(case).fewest_of_two_speeds
        return KindResult(len(self.columns) - 1, quantity, sized, known, fewest)


def call_of(flow: Json) -> str:
    """Return the call or form of a flow whose result is not the time of one transfer; "" for others."""
    parameters = flow.get("parameters", {})
    return next((str(parameters[name]) for name in ("call", "form") if parameters.get(name) in _CALLS), "")


def moves(flow: Json) -> bool:
    """Return whether a plan's flow moves bytes: it has memory at an end."""
    return any(end in flow for end in ("source", "destination", "members"))


def memory(end: Json) -> str:
    """Return the kind of memory of an end, such as "pinned", "managed (first touch: gpu, read-mostly)"."""
    touch = f"first touch: {_TOUCHERS[end['first_touch'].partition(':')[0]]}" if "first_touch" in end else ""
    more = ", ".join(part for part in (touch, end.get("advice", "")) if part)
    return f"{end['memory']} ({more})" if more else str(end["memory"])


def layout(labels: Json) -> str:
    """Return whether a case belongs to a "matrix", a "curve" or a "list"."""
    show = labels.get("show")
    return show if show in ("matrix", "curve") else "list"


def calls_included(case: Json, flow: Json) -> bool:
    """Return whether a copy's calls count on the device's clock: a copy engine's between a GPU and pages that no driver
    has locked."""
    ends = [flow[end] for end in ("source", "destination") if end in flow]
    if case["clock"] != "device" or not method_traits(case, flow["method"]).stages:
        return False
    open_pages = any(_unlocked(memory_traits(case, end["memory"])) for end in ends)
    return open_pages and len({end["device"].partition(":")[0] for end in ends}) > 1


def paths_of(flows: Sequence[Json]) -> str:
    """Return the ways over which the flows' bytes go, "gpu:0>gpu:1 gpu:1>gpu:0", or the one device, "gpu:0", in which
    they stay; "" for those of members, which lead from all to all."""
    found = [
        f"{a}>{b}" for one in flows if "members" not in one for a, b in Traffic.of(one).legs or [(one["executor"], "")]
    ]
    return " ".join(dict.fromkeys(step.rstrip(">") for step in found))


def together(flows: Sequence[Json]) -> str:
    """Return how several measured flows lie, as figures/columns.py has it."""
    if len(flows) == 1:
        return ""
    ends = [
        tuple(flow.get(end, {}).get("device", flow["executor"]) for end in ("source", "destination")) for flow in flows
    ]
    sources, destinations = {end[0] for end in ends}, {end[1] for end in ends}
    if len({frozenset(pair) for pair in ends}) == 1:
        return "both" if len(sources) > 1 and len(flows) == 2 else "one-path"
    if len(sources) == 1:
        return "one-to-many"
    if len(destinations) == 1:
        return "many-to-one"
    return "many-both" if all((b, a) in ends for a, b in ends) else "many"


def _unlocked(traits: MemoryTraits) -> bool:
    return traits.placed_by_touch and not (traits.registered or traits.migrates)


def _columns(row: Row, case: Json, figure: str, tier: str) -> Json:
    """Return the columns of the frame that depend on the kind alone. ``case`` has the part's flow first."""
    flows, labels = case["flows"], row.labels
    flow = flows[0]
    measured = [one for one in flows if one.get("role", "measured") == "measured"]
    collective = Collective.of(flow)
    members = flow.get("members", ())
    parameters = flow.get("parameters", {})
    by_model = row.modelled and not labels.get("by_clock")
    found: Json = {
        **{"suite": row.suite, "row": row.name, "layout": layout(labels), "figure": figure},
        **{"x_name": str(labels.get("x_name", "bytes")) if layout(labels) == "curve" else ""},
        **{"modelled": row.modelled, "origin": row.origin, "hosts": ", ".join(row.between)},
        **{"clock": "model" if by_model else case["clock"], "cache": case.get("cache", "rotated"), "load": row.load},
        **{"call": call_of(flow)},
        **{"calls_included": not row.modelled and calls_included(case, flow), "both_ways": both_ways(case, flow)},
        **{"environment": _words(row.environment), "processes": int(case.get("processes", 1))},
        **{"tier": tier, "class": noise_class(case).key, "method": flow["method"]},
        **{"executor": flow["executor"], **_end("source", flow), **_end("destination", flow)},
        **{"paths": paths_of(measured), "members": " ".join(end["device"] for end in members) if members else None},
        **{"members_memory": memory(members[0]) if members else None},
        **{"collective": collective.kind if collective else None, "parameters": _words(parameters)},
        **{"flows": len(measured), "background": len(flows) - len(measured), "together": together(measured)},
        **_of_workload(labels.get("workload"), flow),
        "beside": " ".join(_beside(case, measured)),
    }
    kinds = [found[name] for name in ("source_memory", "destination_memory") if found[name]]
    found["memories"] = ">".join(kinds) or found["members_memory"] or ""
    found |= {"movement": movement(found), "role": role(found), "path": path(found)}
    return found | {"way": way(found), "likeness": likeness(found)}


def _beside(case: Json, measured: Sequence[Json]) -> list[str]:
    """Return the movements of the other flows, each once; of one that goes against a measured flow with a note."""
    ends = [tuple(flow.get(end, {}).get("device") for end in ("source", "destination")) for flow in measured]
    found = []
    for flow in case["flows"]:
        if flow.get("role", "measured") != "measured":
            line = {**_end("source", flow), **_end("destination", flow), "executor": flow["executor"], "together": ""}
            members = " ".join(end["device"] for end in flow.get("members", ()))
            line |= {"members": members, "collective": flow.get("parameters", {}).get("collective"), "processes": 1}
            code = movement({**line, "both_ways": both_ways(case, flow)})
            against = line["source"] is not None and (line["destination"], line["source"]) in ends
            found.append(f"{code}/against" if against else code)
    return sorted(set(found))


def _of_workload(label: Json | None, flow: Json) -> Json:
    """Return the columns of a schedule; null for other flows."""
    if label is None:
        return dict.fromkeys(("workload", "deck", "interface", "state_memory", "rank_order", "messages", "isolated"))
    return {
        **{"workload": label["application"], "deck": label["deck"], "interface": label["interface"]},
        "state_memory": memory(flow["state"][0]) if flow.get("state") else None,
        "rank_order": " ".join(label.get("order") or (end["device"] for end in flow.get("members", ()))),
        **{"messages": label.get("messages"), "isolated": bool(label.get("isolated", False))},
    }


def _end(name: str, flow: Json) -> Json:
    end = flow.get(name)
    return {name: end["device"] if end else None, f"{name}_memory": memory(end) if end else None}


def _words(named: Json) -> str:
    return " ".join(f"{name}={value}" for name, value in named.items())
