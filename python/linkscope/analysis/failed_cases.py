"""Failed cases: those that failed for one reason, together, and the GPUs that all of them use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from linkscope.results.row import Row

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class FailedCases:
    """How many cases failed for one ``reason`` (numbers apart), the GPUs that all of them use, and their ids."""

    reason: str
    where: tuple[str, ...]
    ids: tuple[str, ...]


def failed_cases(rows: Iterable[Row]) -> tuple[FailedCases, ...]:
    """The most frequent reason first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_NUMBER.sub("…", row.reason or "no reason recorded"), []).append(row)
    found = []
    for some in groups.values():
        shared = set.intersection(*(_gpus_of(row) for row in some))
        found.append(FailedCases(some[0].reason or "", tuple(sorted(shared)), tuple(row.id for row in some)))
    return tuple(sorted(found, key=lambda one: -len(one.ids)))


def _gpus_of(row: Row) -> set[str]:
    flows = row.case["flows"]
    ends = [end for flow in flows for end in (flow.get("source"), flow.get("destination"), *flow.get("members", ()))]
    named = {flow["executor"] for flow in flows} | {end["device"] for end in ends if end}
    return {name for name in named if name.startswith("gpu:")}
