"""Lists of `linkscope list`: names, each with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from linkscope.cli.list_entry import ListEntry
from linkscope.cli.model_extent import interfaces
from linkscope.importers.importers import IMPORTERS
from linkscope.launch.engines import (
    ENGINES,
    choose_engine,
    describe,
    find_engines,
    has_gpu,
    machine_description,
    modelling_engine,
)
from linkscope.launch.outlook import EXAMPLE, SuiteEstimate, example_estimate, suite_estimates
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.traits import known_memories
from linkscope.messages import numbers
from linkscope.messages.near_names import unknown
from linkscope.plan.patterns import PATTERNS
from linkscope.plan.suites import load_suite, packaged_methods, suite_names
from linkscope.results.study import load_study, study_names

HEADINGS = {
    "start": "Start here",
    "question": "By question",
    "processes": "Between processes, and applications",
    "reference": "As a study or another tool has it",
}
"""Headings of suites by ``listed_under``, in this order."""
LEGENDS = {
    "suites": f"cases and time: of this machine, or of {EXAMPLE} where a note says so",
    "machines": "messages: between processes; xccl: NCCL or RCCL; none: no source has data, so a run skips them",
}
"""Legends of a list's columns."""
_NAMED_BY_SUITES: dict[str, Callable[[], Iterable[str]]] = {"methods": packaged_methods, "memories": known_memories}
"""Lists of what the engine here has, of which suites name more."""


def entries(what: str) -> list[ListEntry]:
    """Return all of one of ``KINDS``. Raises LinkscopeError for another kind, and for methods without an engine."""
    if what not in KINDS:
        raise unknown("list", what, KINDS, "linkscope list -h")
    return KINDS[what]()


def legend(what: str, listed: Sequence[ListEntry]) -> str:
    """Return what the columns of a list mean, or what there is besides those ``listed``; "" where its head says all."""
    besides = [one.name for one in _elsewhere(what) if one.name not in {here.name for here in listed}]
    return f"need a GPU: {', '.join(besides)}" if besides else LEGENDS.get(what, "")


def entry(what: str, name: str) -> ListEntry:
    """Return the one of that name; a machine's may be its file. Raises LinkscopeError where there is none."""
    if what == "machines":
        return _machine(name)
    here = entries(what) if what != "suites" else _suites_without_extent()
    found = {one.name: one for one in (*_elsewhere(what), *here)}
    if name not in found:
        raise unknown(_SINGULAR.get(what, what.removesuffix("s")), name, found, f"linkscope list {what}")
    return found[name] if what != "suites" else _with_gpus(_with_extents([found[name]])[0])


def _suites() -> list[ListEntry]:
    """Return what each answers, how many cases it has and how long they take."""
    return _with_extents(_suites_without_extent())


def _suites_without_extent() -> list[ListEntry]:
    order = list(HEADINGS)
    suites = sorted(map(load_suite, suite_names()), key=lambda one: order.index(one.listed_under))
    return [ListEntry(one.name, one.answers, HEADINGS[one.listed_under], brief=one.brief) for one in suites]


def _with_extents(suites: Sequence[ListEntry]) -> list[ListEntry]:
    """Return suites with cases and time here, or with GPUs where they need some; without both where no engine is."""
    found = suite_estimates([one.name for one in suites]) if find_engines() else {}
    return [_with_extent(one, found[one.name]) for one in suites] if found else list(suites)


def _with_extent(one: ListEntry, here: SuiteEstimate) -> ListEntry:
    """Return a suite with its cases and time; the JSON has those of this machine."""
    data: dict[str, Any] = {"cases": here.cases, "seconds": round(here.seconds, 1)}
    shown, note = here, here.problem or ""
    if here.elsewhere:
        shown = example_estimate(one.name)
        why = "needs GPUs" if here.lacks_gpus else note
        note = f"{why} (cases and time of {EXAMPLE})"
        data["on_example"] = {"node": EXAMPLE, "cases": shown.cases, "seconds": round(shown.seconds, 1)}
    columns = {
        "cases": str(shown.cases) if shown.cases else "-",
        "time": numbers.duration(shown.seconds) if shown.cases else "-",
    }
    return replace(one, columns=columns, note=note, data=data)


def _with_gpus(one: ListEntry) -> ListEntry:
    """Return a suite with its cases and time with GPUs, where this machine has none and runs a part of it."""
    in_part = one.data.get("cases") and any(row.needs_gpu for row in load_suite(one.name).rows)
    if not in_part or has_gpu(machine_description()):
        return one
    found = example_estimate(one.name)
    told = f"{found.cases} cases, {numbers.duration(found.seconds)} on {EXAMPLE}"
    return replace(one, columns={**one.columns, "with GPUs": told})


def _studies() -> list[ListEntry]:
    studies = [load_study(name) for name in study_names()]
    return [ListEntry(one.name, one.title, columns={"claims": str(len(one.claims))}) for one in studies]


def _patterns() -> list[ListEntry]:
    return [ListEntry(name, _first_line(pattern)) for name, pattern in PATTERNS.items()]


def _machines() -> list[ListEntry]:
    return [_machine(name) for name in machine_names()]


def _machine(name_or_path: str) -> ListEntry:
    return ListEntry(name_or_path, " ".join(load_machine(name_or_path).notes[:1]), columns=interfaces(name_or_path))


def _methods() -> list[ListEntry]:
    return [_of_catalog(one, {"measures": one.get("kind", "")}) for one in choose_engine().description["methods"]]


def _memories() -> list[ListEntry]:
    return [_of_catalog(one, {}) for one in choose_engine().description["memories"]]


def _elsewhere(what: str) -> list[ListEntry]:
    """Return methods or memories that suites name, also those that the engine here lacks."""
    if what not in _NAMED_BY_SUITES:
        return []
    modelled = {one["name"]: one["summary"] for one in modelling_engine().description[what]}
    note = "needs a GPU, and the engine that `make setup` builds for it"
    unmodelled = "a GPU engine has it"
    names = sorted(_NAMED_BY_SUITES[what]())
    return [ListEntry(name, modelled.get(name, unmodelled), note=note) for name in names]


def _engines() -> list[ListEntry]:
    found = find_engines()
    listed = []
    for name in ENGINES:
        if name not in found:
            listed.append(ListEntry(name, "not built"))
            continue
        description = describe(found[name])
        devices = ", ".join(device["id"] for device in description["devices"]) or "no devices"
        listed.append(ListEntry(name, f"{found[name]}: {description.get('problem') or devices}"))
    return listed


def _importers() -> list[ListEntry]:
    return [ListEntry(name, one.summary) for name, one in IMPORTERS.items()]


def _of_catalog(one: dict[str, Any], columns: dict[str, str]) -> ListEntry:
    note = "" if one["available"] else str(one.get("reason", "not available here"))
    data = {"parameters": one.get("parameters", {}), "available": one["available"]}
    return ListEntry(one["name"], str(one.get("summary", "")), columns=columns, note=note, data=data)


def _first_line(thing: Callable[..., Any]) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]


KINDS: dict[str, Callable[[], list[ListEntry]]] = {
    "suites": _suites,
    "methods": _methods,
    "memories": _memories,
    "patterns": _patterns,
    "machines": _machines,
    "studies": _studies,
    "engines": _engines,
    "importers": _importers,
}
_SINGULAR = {"memories": "memory", "studies": "study"}
