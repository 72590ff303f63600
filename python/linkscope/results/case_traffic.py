"""Case traffic: what the flows of a case ask of the node's links and memories."""

from __future__ import annotations

from typing import Any

from linkscope.machine.node import Node
from linkscope.machine.paths import Traffic
from linkscope.machine.traits import method_traits


def traffic_of(case: dict[str, Any], node: Node) -> tuple[list[Traffic], list[int]]:
    """Return what each flow asks of the node (an exchange: there and back), and which of them are measured."""
    traffic: list[Traffic] = []
    measured: list[int] = []
    for flow in case["flows"]:
        there = _asked(case, flow, node)
        ways = [there]
        if both_ways(case, flow):
            ways.append(Traffic(there.destination, there.source, there.executor))
        if flow.get("role", "measured") == "measured":
            measured += range(len(traffic), len(traffic) + len(ways))
        traffic += ways
    return traffic, measured


def _asked(case: dict[str, Any], flow: dict[str, Any], node: Node) -> Traffic:
    """Return what the flow says. A migration away from its executor names no end and goes to the GPU's host."""
    traffic = Traffic.of(flow)
    at_executor = traffic.source == traffic.executor
    goal = flow.get("parameters", {}).get("to", "host" if at_executor else "executor")
    if not method_traits(case, flow["method"]).migrates or goal != "host":
        return traffic
    homes = [numa.id for numa in node.of_kind("numa")]
    nearest = f"numa:{node.device(traffic.executor).numa}"
    known = nearest in homes or not homes  # a machine model may have no host: then the path is not known
    return Traffic(traffic.source, nearest if known else homes[0], traffic.executor)


def both_ways(case: dict[str, Any], flow: dict[str, Any]) -> bool:
    """Return whether the one flow moves bytes both ways at once, and its rate is of both together."""
    return method_traits(case, flow["method"]).both_ways or flow.get("parameters", {}).get("call") == "both-ways"
