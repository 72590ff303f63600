"""Conditions: under what a figure was measured besides path, method and size, and which of them tell figures apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkscope.messages.telling_apart import telling_apart
from linkscope.results.row import Row

_ALONE = ("memory", "cache", "environment", "suite row")
"""Conditions whose values speak for themselves, as words do that are values of parameters."""


def conditions(row: Row) -> dict[str, str]:
    """By name, the plainest first: parameters of the method, memories, caches, load, clock, environment, suite row."""
    flow = row.case["flows"][0]
    ends = (flow[end] for end in ("source", "destination") if end in flow)
    memories = (" ".join(filter(None, (end.get("memory"), end.get("first_touch")))) for end in ends)
    return {
        **{name: str(value) for name, value in (flow.get("parameters") or {}).items()},
        "memory": " > ".join(memories),
        **{"cache": str(row.case.get("cache", "rotated")), "load": row.load, "clock": str(row.case.get("clock"))},
        "environment": " ".join(f"{name}={value}" for name, value in sorted(row.environment.items())),
        "suite row": f"{row.suite}/{row.name}",
    }


def differing(alike: Sequence[Mapping[str, str]]) -> list[str]:
    """Of each of figures with these conditions what tells it from the others: "release", "hops 512"; "" for one
    alone."""
    names = list(dict.fromkeys(name for one in alike for name in one))
    return [
        " ".join(words)
        for words in telling_apart([[_word(name, one.get(name, "")) for name in names] for one in alike])
    ]


def _word(name: str, value: str) -> str:
    alone = name in _ALONE or (value.isalpha() and name not in ("load", "clock"))
    return value if alone or not value else f"{name} {value}"
