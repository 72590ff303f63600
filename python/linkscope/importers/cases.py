"""Cases: those of the suites that a tool's figures are of, expanded on its node, with the ids that linkscope gives."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkscope.importers.peer_output import Figure, PeerOutput
from linkscope.machine.node import Node
from linkscope.machine.traits import known_memories
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.flows import ends_of
from linkscope.plan.select import Selection
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.suites import load_suite, packaged_methods
from linkscope.results.noise_class import LARGE

Json = dict[str, Any]
_LIKE = ("method", "executor", "bytes", "source", "destination", "members", "role", "parameters", "rank")
"""Fields of a flow that say what it moves; the rest says how it is measured."""


@dataclass(frozen=True)
class Match:
    """A suite's case and the tool's figures of it, by the place of each among the case's own (0 where it has one)."""

    case: Json
    figures: Mapping[int, Figure]


def tests_of(row: SuiteRow) -> set[str]:
    """The names of other tools' tests that the row measures as they do."""
    peer = {f"{row.peer['tool']} {row.peer['case']}"} if row.peer else set()
    return peer | set(row.covers)


def claimed(peer: PeerOutput, node: Node, tests: Iterable[str]) -> list[tuple[set[str], Json]]:
    """Each case of the tool's suites that measures one of ``tests`` on ``node``, with the names of those tests.

    A row takes the sizes of its tests' figures and numbers of members besides its own, so that its ids name sizes as
    those of `linkscope run` do.
    """
    wanted = set(tests)
    sizes: dict[str, set[int]] = {}
    for figure in peer.figures:
        sizes.setdefault(figure.test, set()).update(() if figure.size is None else (figure.size,))
    members = {str(figure.facts["members"]) for figure in peer.figures if figure.facts.get("members")}
    found: list[tuple[set[str], Json]] = []
    for suite in map(load_suite, peer.suites):
        for row in suite.rows:
            names = tests_of(row) & wanted
            if names and (node.of_kind("gpu") or not row.needs_gpu):
                asked = set[int]().union(*(sizes.get(name, ()) for name in names))
                sized = replace(row, sizes=tuple(dict.fromkeys((*row.sizes, *sorted(asked)))))
                row = sized if len(row.sizes) > 1 else row
                row = replace(row, counts=tuple(dict.fromkeys((*row.counts, *members)))) if row.counts else row
                cases = expand([Suite(suite.name, suite.answers, (row,))], node, _catalog(row), Selection())
                found += [(names, planned.case) for planned in cases if planned.skip is None]
    return found


def within(case: Json, peer: PeerOutput) -> bool:
    """Return whether the tool ran on all GPUs of the case; a tool that names no GPUs counts as so."""
    return not peer.gpus or all(int(gpu.removeprefix("gpu:")) < len(peer.gpus) for gpu in gpus_of(case))


def gpus_of(case: Json) -> set[str]:
    """Return those that carry out its flows, or hold their data."""
    places = {end["device"] for flow in case["flows"] for end in ends_of(flow)}
    places |= {flow["executor"] for flow in case["flows"]}
    return {place for place in places if place.startswith("gpu:")}


def matches(peer: PeerOutput, cases: Sequence[tuple[set[str], Json]]) -> Iterator[Match]:
    """Yield the cases that have figures. A figure belongs to the first case that it fits."""
    left: dict[str, dict[str, deque[Figure]]] = {}
    for figure in peer.figures:  # those that fit the same cases wait in line, so that the work is linear
        alike = repr((figure.row, figure.column, figure.size, figure.facts))
        left.setdefault(figure.test, {}).setdefault(alike, deque()).append(figure)
    for names, case in cases:
        found: dict[int, Figure] = {}
        labels = case["labels"]
        for number, place in enumerate(labels.get("cells") or [labels]):
            for name in sorted(names):
                waiting = left.get(name, {}).values()
                fitting = (some for some in waiting if number not in found and some and _fits(some[0], case, place))
                first = next(fitting, None)
                if first is not None:
                    found[number] = first.popleft()
        if found:
            yield Match(case, found)


def renamed(case: Json, known: Mapping[str, Json]) -> Json | None:
    """The case with the id and labels of the one of ``known`` (by ``movement``, and by id) that moves the same, of its
    own id where there is one; how it was timed stays the tool's own. None where there is none."""
    moved = movement(case)
    own = known.get(case["id"])
    same = own if own is not None and movement(own) == moved else known.get(moved)
    names = ("id", "suite", "name", "labels")
    return None if same is None else {**case, **{name: same[name] for name in names if name in same}}


def movement(case: Json) -> str:
    """Return what tells one movement from another: flows, figure and clock; and the form of its table."""
    flows = [{name: flow[name] for name in _LIKE if name in flow} for flow in case["flows"]]
    labels = case.get("labels", {})
    shown = [labels.get("show"), labels.get("figure", "first"), len(labels.get("cells", ()))]
    return repr((_sorted(flows), case["clock"], shown))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((name, _sorted(one)) for name, one in value.items())
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def _fits(figure: Figure, case: Json, place: Json) -> bool:
    flow = case["flows"][0]
    if figure.row not in ("", place.get("row")) or figure.column not in ("", place.get("column")):
        return False
    if figure.size not in (None, flow["bytes"]) and not _large(figure, case):
        return False
    return all(_fact(name, case, flow) == value for name, value in figure.facts.items())


def _large(figure: Figure, case: Json) -> bool:
    """Return whether the suite does not distinguish the case's size from the figure's: of a table without sizes, both
    beyond what a copy's start and end count in."""
    sizes = (figure.size or 0, case["flows"][0]["bytes"])
    return bool(case["labels"].get("show") != "curve" and min(sizes) >= LARGE)


def _fact(name: str, case: Json, flow: Json) -> Any:
    """Return a fact of a case, its clock, cache or processes, or of its first flow: the method, the memory of all ends
    or of the host's, the devices, which side drives (push, pull), the members' number, or a parameter; None where it
    has none.
    """
    if name in ("clock", "cache"):
        return case[name]
    if name == "processes":
        return case.get("processes", 1)
    if name == "method":
        return flow["method"]
    if name == "side":
        return "push" if flow["executor"] == flow.get("source", {}).get("device") else "pull"
    if name == "devices":
        return ">".join(flow.get(end, {}).get("device", flow["executor"]) for end in ("source", "destination"))
    if name == "host_memory":
        return next((end["memory"] for end in ends_of(flow) if end["device"].startswith("numa:")), None)
    if name == "members":
        return len(flow.get("members", ()))
    if name == "memory":
        return ">".join(dict.fromkeys(end["memory"] for end in ends_of(flow)))
    return flow.get("parameters", {}).get(name)


def _catalog(row: SuiteRow) -> EngineCatalog:
    """An engine that can do all that the row asks for: another tool has done it."""
    methods = {method: frozenset(row.parameters) for method in packaged_methods()}
    engine = {"nvidia": "cuda", "amd": "hip"}.get(row.vendor or "", "cuda")
    return EngineCatalog(engine, methods, frozenset(known_memories()))
