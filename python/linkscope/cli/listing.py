"""What `linkscope list` lists: names, each with one line on what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkscope.analysis.study import load_study, study_names
from linkscope.importers.importers import IMPORTERS
from linkscope.launch.engines import ENGINES, choose_engine, describe, find_engines
from linkscope.launch.outlook import SuiteEstimate, suite_estimates
from linkscope.machine.described import load_machine, machine_names
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.suite import load_suite, suite_names
from linkscope.report import wording

Entry = dict[str, Any]


def entries(what: str) -> list[Entry]:
    """Entries {"name", "text"} of one kind; methods and memories also have "parameters" (name to meaning), suites
    "cases" and "seconds" where an engine is built.

    Raises LinkscopeError, for example where methods are asked for and no engine is built.
    """
    return _KINDS[what]()


def _suites() -> list[Entry]:
    """What each answers, and how many cases and how long that is here: of the latter nothing without an engine."""
    names = suite_names()
    listed: list[Entry] = [{"name": name, "text": load_suite(name).answers} for name in names]
    if not find_engines():
        return listed
    found = suite_estimates(names)
    for entry in listed:
        outlook = found[entry["name"]]
        entry["text"] += f" [{outlook.problem or _extent(outlook)}]"
        entry |= {"cases": outlook.cases, "seconds": round(outlook.seconds, 1)}
    return listed


def _extent(outlook: SuiteEstimate) -> str:
    cases = f"{outlook.cases} case{'s' if outlook.cases != 1 else ''}"
    return f"here: {cases}, about {wording.duration(outlook.seconds)}"


def _studies() -> list[Entry]:
    studies = [load_study(name) for name in study_names()]
    return [{"name": one.name, "text": f"{one.title} [{len(one.claims)} claims]"} for one in studies]


def _patterns() -> list[Entry]:
    return [{"name": name, "text": _first_line(pattern)} for name, pattern in PATTERNS.items()]


def _machines() -> list[Entry]:
    return [{"name": name, "text": " ".join(load_machine(name).notes[:1])} for name in machine_names()]


def _methods() -> list[Entry]:
    return [_catalog_entry(entry) for entry in choose_engine().description["methods"]]


def _memories() -> list[Entry]:
    return [_catalog_entry(entry) for entry in choose_engine().description["memories"]]


def _engines() -> list[Entry]:
    found = find_engines()
    listed = []
    for name in ENGINES:
        if name not in found:
            listed.append({"name": name, "text": "not built"})
            continue
        description = describe(found[name])
        devices = ", ".join(device["id"] for device in description["devices"]) or "no devices"
        listed.append({"name": name, "text": f"{found[name]}: {description.get('problem') or devices}"})
    return listed


def _importers() -> list[Entry]:
    return [{"name": name, "text": one.summary} for name, one in IMPORTERS.items()]


def _catalog_entry(entry: dict[str, Any]) -> Entry:
    text = str(entry.get("summary", ""))
    if not entry["available"]:
        text += f" [not available: {entry.get('reason', 'no reason given')}]"
    return {"name": entry["name"], "text": text, "parameters": entry.get("parameters", {})}


def _first_line(thing: Callable[..., Any]) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


_KINDS: dict[str, Callable[[], list[Entry]]] = {
    "suites": _suites,
    "methods": _methods,
    "memories": _memories,
    "patterns": _patterns,
    "machines": _machines,
    "studies": _studies,
    "engines": _engines,
    "importers": _importers,
}
