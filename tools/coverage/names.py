"""Names: what others measure, what covers it, and what cannot be had."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from linkscope.documents.yaml_file import SuiteLoader
from linkscope.errors import LinkscopeError
from linkscope.plan.suites import load_suite, suite_names
from linkscope.suites import SUITES

NAMES = Path(__file__).resolve().parent / "names.yaml"


@dataclass(frozen=True)
class Group:
    """One tool's or study's names: name -> why it cannot be had, None where tests are to cover it."""

    title: str
    source: str
    start: str
    """What a user of it types first, after `linkscope`."""
    names: dict[str, str | None]


def load_names(path: Path = NAMES) -> tuple[Group, ...]:
    """The groups in the file's order. Raises LinkscopeError for a name that stands twice."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    groups = tuple(Group(one["title"], one["source"], one["start"], one["names"]) for one in data)
    every = [name for group in groups for name in group.names]
    for name in every:
        if every.count(name) > 1:
            raise LinkscopeError(f"{path.name}: {name!r} stands twice")
    return groups


def own_rows(suite: str) -> tuple[str, ...]:
    """Names of the rows that stand in the suite's own file, not those it includes."""
    return tuple(row["name"] for field in ("rows", "workloads") for row in _file(suite).get(field, ()))


def home_of(suite: str, row: str) -> str:
    """suite/row by the suite whose file holds the row, which ``suite`` may only include; "" where none does."""
    if row in own_rows(suite):
        return f"{suite}/{row}"
    return next((home for name in _file(suite).get("includes", ()) if (home := home_of(name, row))), "")


@cache
def _file(suite: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((SUITES / f"{suite}.yaml").read_text(encoding="utf-8"), SuiteLoader)
    return found


def covered() -> dict[str, tuple[str, ...]]:
    """Name -> the rows, as suite/row, that say they cover it."""
    found: dict[str, list[str]] = {}
    for suite in suite_names():
        own = own_rows(suite)
        for row in load_suite(suite).rows:
            if row.name not in own:
                continue
            peer = (f"{row.peer['tool']} {row.peer['case']}",) if row.peer is not None else ()
            for name in (*row.covers, *peer):
                found.setdefault(name, []).append(f"{suite}/{row.name}")
        for workload in load_suite(suite).workloads:
            for name in workload.covers if workload.name in own else ():
                found.setdefault(name, []).append(f"{suite}/{workload.name}")
    return {name: tuple(rows) for name, rows in found.items()}
