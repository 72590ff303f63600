"""Collectives: what they cost on a machine model.

A collective takes its method's latency, and for each of its steps the method's step and the latency of the longest way
between two members. Then its bytes move, all steps at once: so the link that carries most decides, as in a pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import inf
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.modelled_methods import ModelledMethod
from linkscope.modelled.machine import ModelledMachine, memory_of
from linkscope.modelled.play import Lane
from linkscope.modelled.transfers import summed
from linkscope.modelled.work import NotModelledError, Work
from linkscope.plan.collectives import ELEMENT_BYTES, IN_BLOCKS

Json = dict[str, Any]

_ROOTED = ("broadcast", "reduce")


def collective(flow: Json, method: ModelledMethod, machine: ModelledMachine) -> Work:
    """Return the work of a flow. Raises NotModelledError, and LinkscopeError for a parameter that means nothing."""
    parameters = flow.get("parameters", {})
    kind, devices = parameters.get("collective", "all-reduce"), [one["device"] for one in flow["members"]]
    for device in devices:
        if method.driver == "gpu" and not device.startswith("gpu:"):
            raise NotModelledError(f"{flow['method']} has no member on {device}")
    _check_form(flow, kind, len(devices))
    if len(devices) < 2:
        raise NotModelledError("a collective needs two members")
    figures: Json = flow["figures"]
    passed: list[tuple[str, float]] = []
    longest_ns = 0.0
    for source, destination, share in _blocks(kind, method.passing, devices):
        route = _route(source, destination, method, machine)
        longest_ns = max(longest_ns, machine.latency_ns(route))
        passed += [(name, share) for name in (*route, memory_of(source), memory_of(destination))]
    latency_s = latency_of_steps(figures, steps_of(kind, method.passing, len(devices)), longest_ns)
    if latency_s <= 0 and flow["bytes"] == 0:
        raise NotModelledError(f"the description of {machine.name} gives {flow['method']} no latency")
    ceiling = float(figures.get("ceiling_gbps", inf)) * 1e9
    size = flow["bytes"]
    return Work(
        Lane(latency_s, size, summed(passed, figures), ceiling) if size else Lane(latency_s),
        payload=size,
        bandwidth=size > 0,
        measured=flow.get("role") != "background",
        group=flow.get("tuning_group", ""),
        members=len(devices),
    )


def steps_of(kind: str, passing: str, members: int) -> int:
    """Return how many steps follow one another."""
    if kind == "all-to-all":
        return 1
    if passing == "pairs":
        return 2 if kind in ("all-reduce", *_ROOTED) else 1
    return (members - 1) * (2 if kind == "all-reduce" else 1)


def latency_of_steps(figures: Json, steps: int, longest_ns: float) -> float:
    """Return the seconds of so many steps over ways whose links take ``longest_ns``."""
    step_ns = figures.get("step_us", 0.0) * 1e3 + longest_ns
    return float(figures.get("latency_us", 0.0) * 1e3 + steps * step_ns) * 1e-9


def _check_form(flow: Json, kind: str, members: int) -> None:
    parameters = flow.get("parameters", {})
    number, in_place = parameters.get("type", "float32"), parameters.get("in_place", "no")
    if number not in ELEMENT_BYTES:
        raise LinkscopeError(f"parameter type: '{number}' is none of {', '.join(ELEMENT_BYTES)}")
    if in_place not in ("yes", "no"):
        raise LinkscopeError(f"parameter in_place: '{in_place}' is neither yes nor no")
    unit = ELEMENT_BYTES[number] * (members if kind in IN_BLOCKS else 1)
    if flow["bytes"] % unit or (flow["bytes"] == 0 and kind != "barrier"):
        each = f"for each of {members} members"
        raise NotModelledError(f"{flow['bytes']} B is not a whole number of {number} {each}")
    if in_place == "yes" and kind == "all-to-all":
        raise NotModelledError("all-to-all in place: each call would send what the last one brought")
    if in_place == "yes" and kind == "barrier":
        raise NotModelledError("barrier in place: it has no input")


def _blocks(kind: str, passing: str, devices: list[str]) -> Iterator[tuple[str, str, float]]:
    """Yield what members pass on to one another: source, destination, share of the collective's bytes.

    Around a ring a round passes n - 1 of n blocks over every pair of neighbours, an all-reduce two rounds; what has a
    root goes along a chain. In pairs a round passes one block between any two; what has a root is cut into a block for
    each other member, which then shares it with the rest.
    """
    count, rooted = len(devices), kind in _ROOTED
    rounds = 2 if kind == "all-reduce" else 1
    pairs: list[tuple[int, int]]
    if passing == "ring" and kind != "all-to-all":
        pairs = [(one, (one + 1) % count) for one in range(count - rooted)]
        share = 1.0 if rooted else rounds * (count - 1) / count
    else:
        pairs = [(a, b) for a, b in permutations(range(count), 2) if b > 0 or not rooted]
        share = rounds / (count - 1 if rooted else count)
    for a, b in pairs:
        source, destination = (b, a) if kind == "reduce" else (a, b)
        yield devices[source], devices[destination], share


def _route(source: str, destination: str, method: ModelledMethod, machine: ModelledMachine) -> tuple[str, ...]:
    if method.passing == "pairs" and not machine.peers(source, destination):
        raise NotModelledError(f"{source} has no peer access to {destination}")
    route = machine.route(source, destination)
    if route is None:
        raise NotModelledError(f"the plan gives no route from {source} to {destination}")
    return route
