"""Pages of methods and memories: what the engines here say of them, all together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from tools.site.lists import card, rows_of

from linkscope.cli.list_entry import ListEntry
from linkscope.launch.engines import ENGINES, describe, find_engines, modelling_engine
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite, suite_names

Kind = Literal["methods", "memories"]


def methods() -> str:
    """How bytes move: each method, its parameters, and the suites with it."""
    introduction = "How bytes move. `linkscope list methods` says which your machine has."
    reading = "[Reading results](../reading-results.md) says what each result is."
    return _page("methods", "Methods", f"{introduction} {reading}", _methods_of)


def memories() -> str:
    """Kinds of allocations, and the suites with them."""
    introduction = "Kinds of allocations. `linkscope list memories` says which your machine has."
    return _page("memories", "Memories", introduction, _memories_of)


def _page(kind: Kind, title: str, introduction: str, named_by: Callable[[Suite], Iterable[str]]) -> str:
    said: dict[str, dict[str, Any]] = {}
    for one in (one for description in _descriptions() for one in description[kind]):
        said.setdefault(one["name"], one)
    named = {name for suite in suite_names() for name in named_by(load_suite(suite))}
    missing = sorted(named - set(said))
    lines = [f"# {title}", "", introduction, ""]
    if missing:
        lines += ["Of those without a description the engine that has them was not built with this page.", ""]
    for name in [*said, *missing]:
        about = said.get(name, {})
        measures = {"measures": str(about["kind"])} if "kind" in about else {}
        data = {"parameters": about.get("parameters", {})}
        lines += card(kind, ListEntry(name, about.get("summary", ""), columns=measures, data=data))
    return "\n".join(lines)


def _descriptions() -> list[dict[str, Any]]:
    """What every engine found says of itself, the one with the longest catalog first."""
    found = find_engines()
    if not found:
        return []
    return [*(describe(found[name]) for name in ENGINES if name in found), modelling_engine().description]


def _methods_of(suite: Suite) -> Iterable[str]:
    return [name for row in rows_of(suite) for name in row.methods]


def _memories_of(suite: Suite) -> Iterable[str]:
    return [name for row in rows_of(suite) for name in row.memories]
