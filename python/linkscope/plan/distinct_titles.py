"""Distinct titles: what tests of one title differ in, in words that follow the title."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscope.documents.sizes import format_bytes
from linkscope.messages.telling_apart import telling_apart
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.workload_row import WorkloadRow

AnyRow = SuiteRow | WorkloadRow


def distinct_titles(rows: Sequence[AnyRow]) -> dict[str, str]:
    """Return the title of each of a suite's ``rows`` by name. Where several share a title, as in one table, the
    difference follows it, and no more than is needed: "..., by size, mpi" and "..., by size, shm-copy".
    """
    alike: dict[str, list[AnyRow]] = {}
    for row in rows:
        alike.setdefault(row.title, []).append(row)
    return {
        row.name: ", ".join([title, *words])
        for title, some in alike.items()
        for row, words in zip(some, telling_apart(_every(some)), strict=True)
    }


def _every(rows: Sequence[AnyRow]) -> list[list[str]]:
    """The facts of each."""
    parameters = list(dict.fromkeys(name for row in rows if isinstance(row, SuiteRow) for name in row.parameters))
    return [_facts(row, parameters) for row in rows]


def _facts(row: AnyRow, parameters: Sequence[str]) -> list[str]:
    """List what may distinguish a row, the plainest first, with its ``parameters``. Its name is last."""
    if isinstance(row, WorkloadRow):
        return [_either(row.interfaces), row.name]
    ends = [end for end in (row.source, row.destination) if end.memories]
    return [
        _either(row.methods),
        " to ".join(end.on for end in ends),
        " to ".join(dict.fromkeys(_either(end.memories) for end in ends)),
        *(f"{name} {_value(row.parameters[name])}" if name in row.parameters else "" for name in parameters),
        "" if row.processes == ("one",) else f"processes {_either(row.processes)}",
        _either(row.collectives),
        f"{_either(row.clocks)} clock" if row.clocks else "",
        f"{_either(row.caches)} caches",
        " to ".join(dict.fromkeys(format_bytes(size) for size in row.sizes[:: max(len(row.sizes) - 1, 1)])),
        str((row.peer or {}).get("case", "")),
        row.name,
    ]


def _value(value: object) -> str:
    return _either(map(str, value)) if isinstance(value, list) else str(value)


def _either(words: Iterable[str]) -> str:
    return " or ".join(words)
