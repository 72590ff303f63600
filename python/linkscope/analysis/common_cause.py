"""Common cause: figures that changed for the same reason told as one finding, by the smallest thing they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from linkscope.machine.paths import Paths, Traffic
from linkscope.results.row import Row

if TYPE_CHECKING:
    from linkscope.analysis.compare import Change

Json = dict[str, Any]

FEWEST = 2
"""Figures that make a common cause."""
MOST_UNCHANGED = 0.34
"""Share of the figures that have a thing in common and yet did not change, from which it is not the cause."""
_ORDER = ("link", "path", "memory of", "GPU", "NUMA node", "method", "memory", "row", "class", "all")
"""Of two things that explain the same figures the earlier one is told."""


@dataclass(frozen=True, eq=False)
class CommonCause:
    """Changes of one direction. ``what``: what they share, "GPU gpu:1", "link gpu:1>switch:nvswitch", "method
    copy-engine"; a table's title and place where a change stands alone. ``ratio``: the median of new over base.
    ``unchanged``: how many comparable figures share it, too, and did not change."""

    what: str
    worse: bool
    ratio: float
    unchanged: int
    changes: tuple[Change, ...]

    def to_json(self) -> Json:
        """A JSON-ready dict; changes by their ids."""
        ids = list(dict.fromkeys(change.key[0] for change in self.changes))
        return {"what": self.what, "worse": self.worse, "ratio": self.ratio, "unchanged": self.unchanged, "ids": ids}


def findings(changes: Sequence[Change], paths: Paths) -> tuple[CommonCause, ...]:
    """Of all changes that are worse or better, the gravest first.

    Greedily: the thing whose figures are best told by "changed" (F measure of precision and recall) explains all that
    have it; then the next among what is left. A link or GPU counts before a method, a method before a suite's row.
    """
    told = {change: frozenset(_things(change.figure.part, paths)) for change in changes if change.low is not None}
    found = [
        one for verdict in ("worse", "better") for one in _of_direction([c for c in told if c.verdict == verdict], told)
    ]
    return tuple(sorted(found, key=lambda one: (not one.worse, -abs(math.log(one.ratio)) * len(one.changes) ** 0.5)))


def _of_direction(changed: list[Change], told: dict[Change, frozenset[tuple[str, str]]]) -> list[CommonCause]:
    found = []
    left = list(changed)
    while len(left) >= FEWEST:
        thing = _best(left, told)
        if thing is None:
            break
        explained = [change for change in left if thing in told[change]]
        alike = [change for change in told if thing in told[change] and change.verdict not in ("worse", "better")]
        found.append(_finding(" ".join(thing).strip(), explained, len(alike)))
        left = [change for change in left if thing not in told[change]]
    return [*found, *(_finding(_alone(change), [change], 0) for change in left)]


def _best(left: Sequence[Change], told: dict[Change, frozenset[tuple[str, str]]]) -> tuple[str, str] | None:
    best: tuple[tuple[float, int], tuple[str, str]] | None = None
    for thing in dict.fromkeys(thing for change in left for thing in sorted(told[change])):
        explained = sum(thing in told[change] for change in left)
        direction = left[0].verdict
        others = sum(thing in things and change.verdict != direction for change, things in told.items())
        if explained < FEWEST or others > MOST_UNCHANGED * (explained + others):
            continue
        precision, recall = explained / (explained + others), explained / len(left)
        score = (round(2 * precision * recall / (precision + recall), 3), -_ORDER.index(thing[0]))
        if best is None or score > best[0]:
            best = score, thing
    return best[1] if best else None


def _things(row: Row, paths: Paths) -> Iterable[tuple[str, str]]:
    """Whatever its measured flows have: kind and name."""
    yield "all", "figures"
    yield "row", row.name
    for flow, _ in row.measured_flows:
        yield "method", str(flow["method"])
        ends = [flow[end] for end in ("source", "destination") if end in flow] + list(flow.get("members", ()))
        yield from (("memory", str(end["memory"])) for end in ends)
        devices = dict.fromkeys([str(flow["executor"]), *(str(end["device"]) for end in ends)])
        for device in devices:
            yield ("GPU" if device.startswith("gpu:") else "NUMA node"), device
        if len(devices) == 1:
            yield "memory of", next(iter(devices))
        for source, destination in _legs(flow):
            yield "path", f"{source} > {destination}"
            way = _route(paths, source, destination)
            yield from (("link", link) for link in way)


def _legs(flow: Json) -> list[tuple[str, str]]:
    if "members" in flow:
        names = [str(end["device"]) for end in flow["members"]]
        return [(a, b) for a in names for b in names if a != b]
    return list(Traffic.of(flow).legs)


def _route(paths: Paths, source: str, destination: str) -> Sequence[str]:
    try:
        path = paths.between(source, destination)
    except KeyError:  # a device that the recorded topology lacks
        return ()
    return path.route if path is not None else ()


def _finding(what: str, changes: Sequence[Change], unchanged: int) -> CommonCause:
    return CommonCause(what, changes[0].verdict == "worse", median(c.ratio for c in changes), unchanged, tuple(changes))


def _alone(change: Change) -> str:
    _, row, column, _ = change.key
    where = " > ".join(word for word in (row, column) if word)
    return f"{change.table}: {where}" if where else change.table
