"""Narrowing: which cases tell what a difference is of: sizes at its edge, then one setting changed at a time.

First what the same processes measure: every power of two between the last size that is the same and the first that
differs, registered buffers, types. Then the algorithm and protocol of NCCL or RCCL, which take processes of their own.
Then halves between sizes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from linkscope.launch.job import Request, prepare
from linkscope.machine.traits import method_traits
from linkscope.plan.planned_case import PlannedCase
from linkscope.statistics.paired import FEWEST_ROUNDS, Difference
from linkscope.statistics.variance import HIGHER, LOWER, SAME

if TYPE_CHECKING:
    from linkscope.launch.ab import Comparison

Json = dict[str, Any]

MOST_SERIES = 4
"""Series of sizes whose edges are looked for, those that differ most first."""
Between = Callable[[int, int], Sequence[int]]
_FINEST = 1.26
"""Ratio of the first size that differs to the last that does not, from which on an edge is known."""
_MOST_SIZES = 8
"""Sizes that are added between two at once."""
_SETTINGS = {"registered": ("no", "yes"), "type": ("float32", "bfloat16"), "in_place": ("no", "yes")}
"""Parameters of methods that are changed one at a time, the default first."""
_ALGORITHMS = tuple((algorithm, protocol) for protocol in ("simple", "ll", "ll128") for algorithm in ("ring", "tree"))
_STAGES = 3
_ALGORITHM, _PROTOCOL = "NCCL_ALGO", "NCCL_PROTO"
"""Variables of NCCL, which RCCL reads as well."""


@dataclass
class Narrowing:
    """Hold what was added for the cases of ``request``, and what has still to be measured."""

    request: Request
    added: list[str] = field(default_factory=list)
    """Ids of the cases that came in addition."""
    _stage: int = 0

    def __call__(self, comparison: Comparison) -> Sequence[PlannedCase]:
        """Return the cases that come in addition, none while those before have too few rounds."""
        differences = _worst(comparison.differences())
        if any(_rounds(one, differences) < FEWEST_ROUNDS and self._runs(one, comparison) for one in self.added):
            return ()
        known = {case.id for case in comparison.cases}
        new: list[PlannedCase] = []
        while not new and self._stage < _STAGES and any(map(_differs, differences.values())):
            found = self._of_stage(comparison, differences)
            new = [replace(one, case=comparison.limited(one.case)) for one in found if one.id not in known]
            self._stage += 1 if self._stage < _STAGES - 1 or not new else 0
        self.added += [one.id for one in new]
        return new

    def _of_stage(self, comparison: Comparison, differences: Mapping[str, Difference]) -> list[PlannedCase]:
        if self._stage == 1:
            return _affordable(comparison, [*_algorithms(comparison, differences)])
        sizes = self._sizes(comparison, differences, _powers if self._stage == 0 else _half)
        return [*sizes, *(_parameters(comparison, differences) if self._stage == 0 else ())]

    @staticmethod
    def _runs(case_id: str, comparison: Comparison) -> bool:
        """Return whether a case gives results under all sides: an algorithm that cannot be used fails."""
        return case_id not in comparison.took_s or case_id in comparison.logs

    def _sizes(
        self, comparison: Comparison, differences: Mapping[str, Difference], between: Between
    ) -> Iterator[PlannedCase]:
        """Yield the cases of sizes at the edges of series that differ."""
        wanted: dict[str, set[int]] = {}
        for series, low, high in _edges(comparison.cases, differences):
            wanted.setdefault(series, set()).update(between(low, high))
        wanted = {series: sizes for series, sizes in wanted.items() if sizes}
        if not wanted:
            return
        sizes = ",".join(map(str, sorted(set().union(*wanted.values()))))
        launching = comparison.job.request.launching
        asked = replace(self.request, budget=None, sizes=sizes, launching=launching)
        for case in prepare(asked).cases:
            if case.skip is None and _bytes(case.case) in wanted.get(_series(case.case), ()):
                yield case


def _worst(differences: Mapping[tuple[str, str], Difference]) -> dict[str, Difference]:
    """Return of each case the difference of the side that differs most."""
    found: dict[str, Difference] = {}
    for (case_id, _), one in differences.items():
        if case_id not in found or _weight(one) > _weight(found[case_id]):
            found[case_id] = one
    return found


def _weight(one: Difference) -> tuple[bool, float]:
    return (_differs(one), abs(one.change))


def _differs(one: Difference | None) -> bool:
    return one is not None and one.verdict in (LOWER, HIGHER)


def _rounds(case_id: str, differences: Mapping[str, Difference]) -> int:
    return differences[case_id].rounds if case_id in differences else 0


def _edges(cases: Sequence[PlannedCase], differences: Mapping[str, Difference]) -> Iterator[tuple[str, int, int]]:
    """Yield the series with neighbouring sizes of which one differs and one does not, what differs most first."""
    series: dict[str, dict[int, Difference]] = {}
    for case in cases:
        one = differences.get(case.id)
        if one is not None and (_differs(one) or one.verdict == SAME) and _bytes(case.case):
            series.setdefault(_series(case.case), {})[_bytes(case.case)] = one
    ranked = sorted(series.items(), key=lambda item: -max(abs(one.change) for one in item[1].values()))
    for name, by_size in ranked[:MOST_SERIES]:
        sizes = sorted(by_size)
        for low, high in pairwise(sizes):
            if _differs(by_size[low]) != _differs(by_size[high]):
                yield name, low, high


def _powers(low: int, high: int) -> list[int]:
    """Return the powers of two between two sizes, at most ``_MOST_SIZES``."""
    powers = [1 << power for power in range(low.bit_length(), high.bit_length() + 1) if low < 1 << power < high]
    return powers[:: -(-len(powers) // _MOST_SIZES)] if powers else []


def _half(low: int, high: int) -> list[int]:
    """Return what lies halfway between two sizes, while that is worth it."""
    unit = 1 << max(low.bit_length() - 4, 0)
    middle = round((low + high) / 2 / unit) * unit
    return [middle] if high / low > _FINEST and low < middle < high else []


def _bytes(case: Json) -> int:
    """Return the bytes of the first measured flow."""
    return int(next(flow["bytes"] for flow in case["flows"] if flow.get("role", "measured") == "measured"))


def _series(case: Json) -> str:
    """Return a text that is equal for cases that differ in their size alone."""
    flows = [
        {name: value for name, value in flow.items() if name not in ("bytes", "figures", "tuning_group")}
        for flow in case["flows"]
    ]
    own = [case.get(name) for name in ("suite", "name", "clock", "cache", "load", "environment", "processes")]
    return json.dumps([flows, own], sort_keys=True)


def _representatives(comparison: Comparison, differences: Mapping[str, Difference]) -> Iterator[PlannedCase]:
    """Yield the case of each method and collective that differs most."""
    found: dict[tuple[Any, ...], PlannedCase] = {}
    for case in comparison.cases:
        if _differs(differences.get(case.id)):
            flow = case.case["flows"][0]
            kind = (flow["method"], flow.get("parameters", {}).get("collective"))
            if kind not in found or _weight(differences[case.id]) > _weight(differences[found[kind].id]):
                found[kind] = case
    yield from found.values()


def _parameters(comparison: Comparison, differences: Mapping[str, Difference]) -> Iterator[PlannedCase]:
    """Yield these cases with one parameter changed at a time."""
    known = comparison.job.engine.catalog().methods
    for case in _representatives(comparison, differences):
        for name, values in _SETTINGS.items():
            yield from _with_parameter(case, name, values, known)


def _algorithms(comparison: Comparison, differences: Mapping[str, Difference]) -> Iterator[PlannedCase]:
    """Yield these cases of NCCL's or RCCL's collectives by every algorithm and protocol, where nobody has set one."""
    taken = {*os.environ, *(name for one in comparison.turns for name, _ in one.side.variables)}
    for case in _representatives(comparison, differences):
        flow = case.case["flows"][0]
        by_library = method_traits(case.case, flow["method"]).by_xccl and "members" in flow
        if by_library and not {*taken, *case.environment} & {_ALGORITHM, _PROTOCOL}:
            yield from (_with_algorithm(case, *pair) for pair in _ALGORITHMS)


def _affordable(comparison: Comparison, cases: Sequence[PlannedCase]) -> list[PlannedCase]:
    """Return as many cases, each in processes of its own, as can have enough rounds in the time that is left."""
    left = comparison.left_s()
    found = []
    for case in cases:
        left -= FEWEST_ROUNDS * (comparison.starts_s([case]) + comparison.visit_s(case))
        if left > 0:
            found.append(case)
    return found


def _with_parameter(
    case: PlannedCase, name: str, values: Sequence[str], known: Mapping[str, frozenset[str]]
) -> Iterator[PlannedCase]:
    """Yield the case with the other value of a parameter, where all its methods have that."""
    flows = case.case["flows"]
    if not all(name in known.get(flow["method"], ()) for flow in flows):
        return
    now = str(flows[0].get("parameters", {}).get(name, values[0]))
    for value in values:
        if value != now:
            changed = [{**flow, "parameters": {**flow.get("parameters", {}), name: value}} for flow in flows]
            yield replace(case, case={**case.case, "id": f"{case.id}/{name}-{value}", "flows": changed})


def _with_algorithm(case: PlannedCase, algorithm: str, protocol: str) -> PlannedCase:
    """Return the case with the library's algorithm and protocol fixed by the environment."""
    settings = {**case.environment, _ALGORITHM: algorithm, _PROTOCOL: protocol}
    name = f"{algorithm}-{protocol}"
    labels = {**case.case.get("labels", {}), "environment": name}
    fields = {"id": f"{case.id}/{name}", "environment": settings, "labels": labels}
    return replace(case, case={**case.case, **fields})
