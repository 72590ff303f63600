"""Suites: data files whose rows expand into cases, read and checked."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from linkscope.documents.sizes import parse_counts, parse_size, parse_sizes
from linkscope.documents.yaml_file import SuiteLoader, YamlFile, read_yaml
from linkscope.errors import LinkscopeError
from linkscope.machine.described import machine_names
from linkscope.machine.traits import assumed_memory, known_memories
from linkscope.messages.near_names import unknown
from linkscope.plan.other_tools import meant_instead, nearly_meant
from linkscope.plan.patterns import BY_FLOW, GROWING, OF_MEMBERS, PATTERNS
from linkscope.plan.suite import Suite
from linkscope.plan.suite_file import ADVICE, MemorySet, SuiteFile, listed
from linkscope.plan.suite_row import Allocation, Background, End, SuiteRow, Variant
from linkscope.plan.suite_words import suite_with
from linkscope.plan.variant_settings import check_settings
from linkscope.plan.workload_fields import workload_row
from linkscope.plan.workload_row import INTERFACES, WorkloadRow
from linkscope.suites import SUITES, packaged_suites

Json = dict[str, Any]

MOST_FLOWS = 64
"""Flows on the same ends at the same time; more are a typing error."""
MOST_MEMBERS = 80
"""Members of a collective; sums over more are not exact in every type (engine/model/elements.hpp)."""
SLOTS = "slots"
"""Among counts of members: as many as the hosts, the job or the ranks have room for."""


_PLAIN = ("vendor", "table", "x", "rows", "min_sample_s", "point_budget_s", "parameters", "peer")
"""Fields of a row that are taken as they stand."""
_OF_MEMORY = frozenset({"placement", "first_touch", "advice", "at"})
"""Fields of an end that say more of its memory."""
_DISTINCT = frozenset(
    {
        "interface",
        "staging",
        "collective",
        "processes",
        "flows",
        "covers",
        "clock",
        "cache",
        "figure",
        "first_touch",
        "advice",
    }
)
"""Lists whose values differ."""
_AXES = frozenset({"size", "clock", "cache", "flows", "method", "executor", "collective", "processes", "environment"})
"""Axes of every row, beside which parameters are axes (plan/axes.py)."""
_BESIDE = ("background", "alongside")
"""Fields of a row with flows beside its own, and their roles."""
_SHARED = ("point_budget_s",)
"""Fields of a suite that hold for its own rows."""


def suite_names() -> list[str]:
    """Names of the packaged suites, `default` first."""
    return sorted(packaged_suites(), key=lambda name: (name != "default", name))


def load_suite(name: str) -> Suite:
    """A packaged suite by name, or the suite in the file of that path (anything with a slash or .yaml).

    Raises LinkscopeError, one line, where it is unknown, unreadable or no suite (plan/suite_file.py).
    """
    if name in suite_names():
        return _packaged_suite(SUITES / f"{name}.yaml")
    if name in machine_names():
        raise LinkscopeError(f"{name!r} is a machine model: `linkscope run --machine {name}` models it")
    if name.endswith(".jsonl"):
        raise LinkscopeError(f"{name} is a run file: `linkscope show {name}` prints it")
    if "/" in name or name.endswith((".yaml", ".yml")):
        return _suite(read_yaml(Path(name), "suite", SuiteLoader))
    raise _no_suite(name)


def _no_suite(name: str) -> LinkscopeError:
    """Return what to type where no suite has the name: a tool's, a word of cases, or one that is nearly right."""
    suites = [load_suite(one) for one in suite_names()]
    instead = meant_instead(name, suites)
    if instead is not None:
        return instead
    picking = suite_with(name, suites)
    if picking:
        return LinkscopeError(f"unknown suite {name!r}: `linkscope run {picking}` has cases with that name")
    return nearly_meant(name, suites) or unknown(
        "suite", name, suite_names(), "linkscope list suites", "give a file name.yaml"
    )


@cache
def packaged_methods() -> frozenset[str]:
    """Every method that a packaged suite uses: those are known even to an engine that lacks them."""
    methods = (method for flow in _packaged_flows() for method in _words(flow["method"]))
    return frozenset((*methods, *INTERFACES.values()))


@cache
def _packaged_flows() -> tuple[Json, ...]:
    """Rows of the packaged suites and the flows beside them, as written: quicker than the suites themselves."""
    rows = _packaged("rows")
    return (*rows, *(flow for row in rows for role in _BESIDE for flow in row.get(role, ())))


def _packaged(field: str) -> list[Json]:
    return [row for path in SUITES.glob("*.yaml") for row in _packaged_file(path).data.get(field, ())]


@cache
def _packaged_file(path: Path) -> YamlFile:
    return read_yaml(path, "suite", SuiteLoader)


@cache
def _packaged_suite(path: Path) -> Suite:
    return _suite(_packaged_file(path))


def _suite(file: YamlFile) -> Suite:
    path = file.path
    data = msgspec.to_builtins(file.typed(SuiteFile))
    shared = {key: data[key] for key in _SHARED if key in data}
    own = tuple(_checked(data["name"], shared | row) for row in data.get("rows", ()))
    workloads = tuple(_checked_workload(data["name"], shared | row) for row in data.get("workloads", ()))
    included = [load_suite(name) for name in data.get("includes", ())]
    suite = Suite(
        data["name"],
        data["answers"],
        own + tuple(replace(row, suite=data["name"]) for one in included for row in one.rows),
        workloads + tuple(replace(row, suite=data["name"]) for one in included for row in one.workloads),
        data["listed_under"],
        data.get("brief", data["answers"]),
    )
    if not suite.row_names:
        raise LinkscopeError(f"suite {path} has neither rows nor includes: it asks for nothing")
    for name in suite.row_names:
        if suite.row_names.count(name) > 1:
            raise LinkscopeError(f"suite {path}: two rows are named {name!r}; names are unique in a suite")
    return suite


def _checked_workload(suite: str, data: Json) -> WorkloadRow:
    """The row; raises LinkscopeError, which names it, for what is wrong with it."""
    try:
        _refuse_repeated(data)
        return workload_row(suite, data, tuple(_variant(one) for one in data.get("environment", ())))
    except LinkscopeError as error:
        raise LinkscopeError(f"suite {suite}, row {data['name']}: {error}") from error


def _checked(suite: str, data: Json) -> SuiteRow:
    """The row; raises LinkscopeError, which names it, for what is wrong with it."""
    try:
        _refuse_incomplete(data)
        row = _row(suite, data)
        wrong = _contradiction(row, data)
    except LinkscopeError as error:
        wrong = str(error)
    if wrong is not None:
        raise LinkscopeError(f"suite {suite}, row {data['name']}: {wrong}")
    return row


def _refuse_incomplete(data: Json) -> None:
    """Raises LinkscopeError where a field lacks what it needs beside it, or a list names the same twice."""
    for name in ("members",) if "collective" in data else ("source", "destination", "executor"):
        if name not in data:
            raise LinkscopeError(f"{name}: is missing")
    for end in ("source", "destination"):
        alone = _OF_MEMORY.intersection(data.get(end, ()))
        if alone and "memory" not in data[end]:
            raise LinkscopeError(f"{end}: {min(alone)} needs a memory")
        for advice in _words(data.get(end, {}).get("advice", ())):
            if not re.match(ADVICE, advice):
                raise LinkscopeError(f"{end}: advice {advice!r} is neither none nor words of memory advice joined by +")
    for fields in (data, data.get("source", {}), data.get("destination", {})):
        _refuse_repeated(fields)


def _refuse_repeated(fields: Json) -> None:
    for name in sorted(_DISTINCT.intersection(fields)):
        values = fields[name]
        if isinstance(values, list) and len(set(values)) < len(values):
            raise LinkscopeError(f"{name}: a value is named twice")


def _row(suite: str, data: Json) -> SuiteRow:
    plain = {key: data[key] for key in _PLAIN if key in data}
    collectives = _words(data.get("collective", ()))
    barrier = collectives == ("barrier",)
    sizes = str(data.get("sizes", 0 if barrier else 1))
    members = data.get("members", {})
    source, destination = (members, {"on": members["on"]}) if members else (data["source"], data["destination"])
    return SuiteRow(
        suite=suite,
        name=data["name"],
        title=data["title"],
        pattern=data["pattern"],
        source=_end(source),
        destination=_end(destination),
        collectives=collectives,
        counts=tuple(str(one) for one in listed(members["count"])) if "count" in members else (),
        processes=tuple(str(word) for word in listed(data.get("processes", "one"))),
        figures=_words(data.get("figure", "first")),
        methods=_words(data["method"]),
        executors=_words(data.get("executor", "source")),
        sizes=() if sizes == "region" else tuple(parse_sizes(sizes, least=0)),
        by_region=sizes == "region",
        show=data["show"],
        flows=_flows(data.get("flows", 1)),
        background=tuple(_beside(one, role) for role in _BESIDE for one in data.get(role, ())),
        variants=tuple(_variant(one) for one in data.get("environment", ())),
        covers=tuple(data.get("covers", ())),
        clocks=_words(data.get("clock", ())),
        caches=_words(data.get("cache", "rotated")),
        **plain,
    )


def _contradiction(row: SuiteRow, data: Json) -> str | None:
    """Return what the types cannot say is wrong with the row; None where nothing is."""
    names = [variant.name for variant in row.variants]
    for text in (one for value in row.parameters.values() for one in listed(value) if ":" in str(one)):
        parse_counts(str(text), MOST_FLOWS)  # raises where it is no range
    if taken := _AXES & row.parameters.keys():
        return f"parameters: {min(taken)} is an axis of every test: no parameter can have that name"
    if row.pattern not in PATTERNS:
        return str(unknown("pattern", row.pattern, PATTERNS, "linkscope list patterns"))
    barrier = row.collectives == ("barrier",)
    if "sizes" not in data and (row.source.memories or row.destination.memories) and not barrier:
        return "sizes are missing: only flows between ends without memory need none"
    if (row.table or row.collectives) and not row.clocks:
        return "clock is missing: a collective, and a row that shares a table, says what it is timed by"
    if row.collectives or row.pattern in OF_MEMBERS:
        return _contradiction_of_members(row, data)
    if any(one.beside == "members" for one in row.background):
        return "beside: only a collective has members"
    if row.by_region and not all(_is_region(text) for text in listed(row.parameters.get("region", ""))):
        return "sizes: region wants the parameter region as WIDTHxROWSxPLANES, for example 512x384x1"
    if not {"one", "each"}.issuperset(row.processes):
        return "processes: a number is for the members of a collective: the two ends are in one process or in two"
    if {"bus", "algorithm"} & set(row.figures):
        return f"figure: {' and '.join(row.figures)}: only collectives have an algorithm and a bus bandwidth"
    if row.x not in ("bytes", "flows", "gpus", *row.parameters):
        return f"x: {row.x} is neither bytes, flows nor gpus, nor one of its parameters"
    if row.x == "gpus" and row.pattern not in GROWING:
        return f"x: gpus wants a pattern that grows: {' or '.join(GROWING)}"
    if row.flows != (1,) and row.pattern in BY_FLOW:
        return f"flows and the pattern {row.pattern} exclude each other: there, each flow has a place of its own"
    if len(set(names)) < len(names):
        return "two variants of its environment have one name"
    return None


def _contradiction_of_members(row: SuiteRow, data: Json) -> str | None:
    if not row.collectives:
        return f"pattern {row.pattern} lays out the members of a collective: name the collective and its members"
    if row.pattern not in OF_MEMBERS:
        return f"pattern {row.pattern} lays out flows between two ends: of members there are {', '.join(OF_MEMBERS)}"
    for name in ("source", "destination", "executor"):
        if name in data:
            return f"{name}: a collective has only members"
    if any(one.beside != "members" for one in row.background):
        return "beside: of a collective there are only members"
    if "barrier" in row.collectives and (len(row.collectives) > 1 or row.sizes != (0,)):
        return "collective: barrier moves nothing: it has a row of its own, without sizes"
    if row.counts and row.pattern != "all":
        return f"members: count: the pattern {row.pattern} says itself how many there are"
    for text in (text for text in row.counts if text != SLOTS):
        parse_counts(text, MOST_MEMBERS)  # raises where it is no range
    if row.x not in ("bytes", "members", "flows", *row.parameters):
        return f"x: {row.x} is neither bytes, members nor flows, nor one of its parameters"
    return None


def _end(data: Json) -> End:
    memory = data.get("memory", ())
    return End(
        on=data["on"],
        memories=_memories(memory),
        every=msgspec.convert(memory, MemorySet) if isinstance(memory, dict) else None,
        placement=data.get("placement"),
        first_touches=_words(data.get("first_touch", ())),
        advices=_words(data.get("advice", ())),
        at=data.get("at", "own"),
    )


def _memories(memory: Json | str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    """Memories by name, or those that everybody knows of a set. Raises LinkscopeError where these are none."""
    if not isinstance(memory, dict):
        return _words(memory)
    found = msgspec.convert(memory, MemorySet).of(known_memories(), assumed_memory)
    if not found:
        raise LinkscopeError("memory: none has these traits: see linkscope list memories")
    return found


def _beside(data: Json, role: str) -> Background:
    ends = {end: Allocation(**data[end]) for end in ("source", "destination") if end in data}
    size = parse_size(str(data["size"])) if "size" in data else None
    asked = data.get("parameters", {})
    return Background(data["beside"], data["method"], data["executor"], size=size, parameters=asked, role=role, **ends)


def _variant(data: Json) -> Variant:
    settings = {name: str(value) for name, value in data.get("set", {}).items()}
    check_settings(settings)
    return Variant(data["name"], settings, data.get("vendor"))


def _flows(value: int | str | list[int]) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list) else tuple(parse_counts(str(value), MOST_FLOWS))


def _is_region(text: object) -> bool:
    return re.fullmatch(r"[1-9]\d*x[1-9]\d*x[1-9]\d*", str(text)) is not None


def _words(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
