"""Movement: what a result moves from where to where, as a code that names.toml puts into words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Line = Mapping[str, Any]


def movement(line: Line) -> str:
    """Return the code of a line of the frame: "gpu>gpu", "host<>gpus", "gpu-reads-host", "all-reduce/4gpus"."""
    apart = "/processes" if (line["processes"] or 1) > 1 else ""
    if line["members"]:
        members = line["members"].split()
        if line.get("workload"):
            return f"{line['workload']}/{line['deck'] or ''}"
        kind = "gpus" if members[0].startswith("gpu:") else "ranks"
        return f"{line['collective']}/{len(members)}{kind}{apart if kind == 'gpus' else ''}"
    source, destination, executor = line["source"], line["destination"], line["executor"]
    if not source or not destination:
        verb, end = ("reads", source) if source else ("writes", destination)
        if not end:
            return f"{_side(executor)}-calls{apart}"
        whose = "own" if end == executor else "peer" if _side(end) == _side(executor) == "gpu" else "host"
        return f"{'gpu' if _side(executor) == 'gpu' else 'cpu'}-{verb}-{whose}{apart}"
    together = line["together"]
    if source == destination and not apart and together in ("", "one-path"):
        return _side(source)
    many_from = together in ("many-to-one", "many", "many-both")
    many_to = together in ("one-to-many", "many", "many-both")
    arrow = "<>" if together in ("both", "many-both") or line["both_ways"] else ">"
    a, b = _side(source), _side(destination)
    if arrow == "<>" and (a, b) == ("host", "gpu"):
        a, b, many_from, many_to = b, a, many_to, many_from
    ends = f"{_plural(a, many_from)}{arrow}{_plural(b, many_to)}"
    return f"{ends}{apart}"


def role(line: Line) -> str:
    """Return who drives a transfer between two devices: "push", "pull" or a third device; else ""."""
    source, destination, executor = line["source"], line["destination"], line["executor"]
    if not source or not destination or source == destination:
        return ""
    return str({source: "push", destination: "pull"}.get(executor, f"by {executor}"))


def path(line: Line) -> str:
    """Return "gpu:0>gpu:1", or the members of a collective."""
    pair = f"{line['source'] or line['executor']}>{line['destination'] or line['executor']}"
    return str(line["members"] or pair)


def _side(device: str) -> str:
    return {"gpu": "gpu", "rank": "rank"}.get(device.partition(":")[0], "host")


def _plural(side: str, many: bool) -> str:
    return "gpus" if many and side == "gpu" else side
