"""Details of `linkscope list KIND NAME`: parameters, tests, devices, where it is used."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from linkscope.cli.list_entry import ListEntry
from linkscope.cli.model_extent import model_extent
from linkscope.machine.described import load_machine, machine_names, machine_sources
from linkscope.machine.traits import MemoryTraits, assumed_memory
from linkscope.plan.distinct_titles import distinct_titles
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.suites import load_suite, suite_names
from linkscope.plan.workload_row import WorkloadRow
from linkscope.results.study import load_study

Details: TypeAlias = dict[str, Mapping[str, str] | str]
"""A sentence by heading, or terms with their meanings."""


def details(what: str, one: ListEntry) -> Details:
    """Return what a card adds to an entry of the list ``what``. Raises LinkscopeError."""
    return _KINDS[what](one) if what in _KINDS else {}


def _suite(one: ListEntry) -> Details:
    suite = load_suite(one.name)
    titles = distinct_titles(_rows(suite))
    rows = {row.name: f"{titles[row.name]}{_of_gpus(row)}" for row in _rows(suite)}
    return {"tests": rows, "next": f"linkscope run {one.name}"}


def _of_gpus(row: SuiteRow | WorkloadRow) -> str:
    return " (needs GPUs)" if isinstance(row, SuiteRow) and row.needs_gpu else ""


def _method(one: ListEntry) -> Details:
    parameters = {"parameters": one.data["parameters"]} if "parameters" in one.data else {}
    return {**parameters, "suites": _suites_that(lambda row: one.name in row.methods)}


def _memory(one: ListEntry) -> Details:
    traits = MemoryTraits.of(one.data["traits"]) if "traits" in one.data else assumed_memory(one.name)
    told = ", ".join(f"{name}: {'yes' if value is True else value}" for name, value in traits.stated.items())
    return {"traits": told, "suites": _suites_that(lambda row: one.name in row.memories)}


def _pattern(one: ListEntry) -> Details:
    return {"suites": _suites_that(lambda row: isinstance(row, SuiteRow) and row.pattern == one.name)}


def _machine(one: ListEntry) -> Details:
    node = load_machine(one.name)
    sources, of_methods = machine_sources(one.name)
    kinds = {"gpu": "GPUs", "numa": "NUMA nodes", "switch": "switches"}
    devices = ", ".join(f"{len(node.of_kind(kind))} {name}" for kind, name in kinds.items() if node.of_kind(kind))
    notes = {str(number): note for number, note in enumerate(node.notes[1:], 1)}
    machine = shlex.quote(one.name)
    if one.name in machine_names():
        add = (
            f"copy machines/{one.name}.yaml (installed: linkscope/machines), add values and their source under "
            "methods, then `linkscope run --machine ./COPY.yaml`"
        )
    else:
        add = "add values and their source under methods of this file"
    return {
        "devices": f"{devices}, {len(node.links)} links",
        **model_extent(one.name),
        "sources by method": of_methods,
        "sources": sources,
        "notes": notes,
        "add data": add,
        "next": f"linkscope run --machine {machine}",
        "links": f"linkscope topology --machine {machine}",
    }


def _study(one: ListEntry) -> Details:
    study = load_study(one.name)
    return {
        "suites": _or_none(study.suites),
        "next": f"linkscope reproduce {one.name}",
    }


def _importer(one: ListEntry) -> Details:
    return {"next": f"linkscope import FILE --from {one.name} -o RUN.jsonl"}


def _suites_that(wanted: Callable[[SuiteRow | WorkloadRow], bool]) -> str:
    return _or_none(name for name in suite_names() if any(map(wanted, _rows(load_suite(name)))))


def _rows(suite: Suite) -> list[SuiteRow | WorkloadRow]:
    return [*suite.rows, *suite.workloads]


def _or_none(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


_KINDS: dict[str, Callable[[ListEntry], Details]] = {
    "suites": _suite,
    "methods": _method,
    "memories": _memory,
    "patterns": _pattern,
    "machines": _machine,
    "studies": _study,
    "importers": _importer,
}
