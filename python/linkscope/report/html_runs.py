"""Several runs side by side: the answer of each, what changed from the first, and each table in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import polars

from linkscope.analysis.cell import payload
from linkscope.analysis.choose import choose
from linkscope.analysis.compare import Comparison, compare, knows_machine
from linkscope.analysis.excerpt import Excerpt
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import RATE
from linkscope.analysis.headline import in_unit
from linkscope.analysis.overview import overview
from linkscope.analysis.shared_figures import shared_figures
from linkscope.analysis.spoilers import spoilers
from linkscope.analysis.summary import Table, TableSummary, table_summary
from linkscope.errors import LinkscopeError
from linkscope.messages.catalog import sentence
from linkscope.report import compare_text, wording
from linkscope.report.html_answer import Opening, answer
from linkscope.report.html_sections import EVEN
from linkscope.report.provenance import date, precision
from linkscope.report.runs_curves import RunsCurves, runs_curves
from linkscope.results.run_file import RunFile
from linkscope.results.same_machine import same_machine

MOST_RUNS = 12
MOST_LINES = 400
MOST_FINDINGS = 6
MOST_PICTURES = 20
CHANGED = 0.01
"""A table that differs from the base by less is told without how much."""


@dataclass(frozen=True)
class RunHeading:
    """A run's name on the page, its node, date and answer; ``modelled`` and ``imported`` as its rows are; ``under``: in
    what state of the machine, as a load."""

    name: str
    node: str
    started: str
    opening: Opening
    modelled: bool
    imported: tuple[str, ...]
    under: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunFigure:
    """A table's figures in one run; ``change`` from the base, such as "+3.1 %", of the figures that both have, empty
    where there is none to tell. ``of``: what else is to be known of that, such as "of the 11 that both have", "-20.0 %
    to x7.12". ``tone``: better or worse where `compare` tells that figures of the table are in this run, empty where it
    may be noise and in runs of other nodes."""

    text: str
    change: str
    tone: str
    of: str = ""


@dataclass(frozen=True)
class RunsLine:
    """One table: a figure for each run, None where it has none."""

    title: str
    unit: str
    figures: tuple[RunFigure | None, ...]


@dataclass(frozen=True)
class SideBySide:
    """``verdict`` and ``findings`` are what `compare` says of each run of the first one's node against it; ``lone``:
    a sentence for each run that has no table in common with any other; ``left_out`` counts the tables that are not
    shown. ``pictures``: of tables over sizes that runs share, ``undrawn`` of which there are more."""

    runs: tuple[RunHeading, ...]
    verdict: str
    findings: tuple[str, ...]
    lone: tuple[str, ...]
    lines: tuple[RunsLine, ...]
    left_out: int
    modelled: bool
    pictures: tuple[RunsCurves, ...]
    undrawn: int


@dataclass(frozen=True)
class _RunTable:
    """A table of a run, and that in one line."""

    table: Table
    line: TableSummary


def side_by_side(whole: Sequence[Excerpt]) -> SideBySide:
    """Raises LinkscopeError for more than ``MOST_RUNS`` runs, and where no two have a table in common."""
    runs = [one.run for one in whole]
    if len(runs) > MOST_RUNS:
        raise LinkscopeError(f"{len(runs)} runs are too many for one page: name at most {MOST_RUNS}")
    heads: list[RunHeading] = []
    tables = []
    for number, (run, frame) in enumerate((one.run, one.figures) for one in whole):
        found = overview(run.rows, run.node, precision(run.header))
        opening = answer(run.node, explain(run), choose(frame), found.summary, found.workloads)
        started = date(str(run.header.get("started", "")))
        of = found.summary
        under = tuple(sentence(found) for found in spoilers(run))
        if heads:
            opening = in_order_of(heads[0].opening, opening)
        heads.append(RunHeading(_name(runs, number), run.node.name, started, opening, of.modelled, of.imported, under))
        lines = [(line, table) for table in found.tables if (line := table_summary(table)) is not None]
        tables.append({_key(line): _RunTable(table, line) for line, table in lines})
    tables = _whatever_size(tables)
    lone = [number for number in range(len(runs)) if len(runs) > 1 and _is_lone(number, tables)]
    held = [f"{head.name} holds {_held(table)}" for head, table in zip(heads, tables, strict=True)]
    if lone and len(lone) == len(runs):
        raise LinkscopeError(f"nothing to set side by side: {'; '.join(held)}: give each a page of its own")
    found_keys = list(dict.fromkeys(key for table in tables for key in table))
    comparable = [False, *(_is_comparable(runs[0], run) for run in runs[1:])]
    compared = [_compared(runs[0], one) if is_so else None for one, is_so in zip(whole, comparable, strict=True)]
    verdict, findings = _changes(runs, compared)
    told = [set(_told(runs[0], found)) for found in compared]
    pictures = list(_pictures([head.name for head in heads], tables, found_keys))
    return SideBySide(
        runs=tuple(heads),
        verdict=verdict,
        findings=findings,
        lone=tuple(f"{held[number]}, of which the others have none: give it a page of its own." for number in lone),
        lines=tuple(_line(key, tables, told) for key in found_keys[:MOST_LINES]),
        left_out=max(len(found_keys) - MOST_LINES, 0),
        modelled=any(head.modelled for head in heads),
        pictures=tuple(pictures[:MOST_PICTURES]),
        undrawn=max(len(pictures) - MOST_PICTURES, 0),
    )


def in_order_of(like: Opening, opening: Opening) -> Opening:
    """What to use for what in the order of another opening, what only this one has last."""
    places = {moved: place for place, (moved, _) in enumerate(like.use)}
    return replace(opening, use=tuple(sorted(opening.use, key=lambda use: places.get(use[0], len(places)))))


def _pictures(
    names: Sequence[str], tables: Sequence[dict[Key, _RunTable]], keys: Sequence[Key]
) -> Iterator[RunsCurves]:
    for key in keys:
        picture = runs_curves(names, [of_run[key].table if key in of_run else None for of_run in tables])
        if picture is not None:
            yield picture


def _is_lone(number: int, tables: Sequence[dict[Key, _RunTable]]) -> bool:
    """Whether no other run has a table of this one, of whatever size."""
    own = set(map(_unsized, tables[number]))
    return all(own.isdisjoint(map(_unsized, other)) for at, other in enumerate(tables) if at != number)


def _held(table: dict[Key, _RunTable]) -> str:
    """Such as "2 tables of p2p-processes, first "Message between processes""."""
    if not table:
        return "no figure"
    suites = dict.fromkeys(one.line.heading.suite for one in table.values())
    first = next(iter(table.values())).line.heading.title
    return f'{wording.count(len(table), "table")} of {wording.few(list(suites))}, first "{first}"'


def _is_comparable(base: RunFile, run: RunFile) -> bool:
    """Whether it is of the base's node, since others have no noise in common with it, and has cases of it, too."""
    have = {row.id for row in base.rows if row.status == "ok"}
    shares = any(row.status in ("ok", "failed") and row.id in have for row in run.rows)
    return shares and same_machine(base, run)


def _compared(base: RunFile, new: Excerpt) -> Comparison:
    """What was left out of an excerpt alone is not gone."""
    found = compare([base], [new.run])
    have = set(new.figures.filter(~polars.col("left_out"))["id"])
    return replace(found, gone=tuple(name for name in found.gone if name not in have))


def _changes(runs: Sequence[RunFile], compared: Sequence[Comparison | None]) -> tuple[str, tuple[str, ...]]:
    """Verdict and findings of `compare`, with the run's name where several were compared."""
    elsewhere = [run for run in runs[1:] if not same_machine(runs[0], run)]
    strangers = compared[1:].count(None) - len(elsewhere)
    reasons = [_apart(runs[0], elsewhere)] if elsewhere else []
    reasons += [f"{wording.count(strangers, 'run')} with no case of the first"] * bool(strangers)
    apart = ", ".join(reasons)
    named = [(f"{_name(runs, number)}: ", found) for number, found in enumerate(compared) if found is not None]
    if not named:
        between = " Below are differences between nodes." if not strangers and all(map(knows_machine, runs)) else ""
        return f"What changed from the first run can't be told: {apart}.{between}", ()
    if len(named) == 1:
        named = [("", named[0][1])]
        verdict = compare_text.verdict(named[0][1])
    else:
        verdict = " ".join(f"{name}{compare_text.changed(found)}" for name, found in named)
    findings = [
        f"{name}{one.what}: {'worse' if one.worse else 'better'}, {compare_text.percent(one.ratio)}"
        for name, found in named
        for one in found.findings[:MOST_FINDINGS]
    ]
    return verdict + (f" Not compared: {apart}." if apart else ""), tuple(findings)


def _apart(base: RunFile, elsewhere: Sequence[RunFile]) -> str:
    """Why runs are not compared with the base, as far as that is known of their nodes."""
    for one, other in ((base, elsewhere[0]), *((run, base) for run in elsewhere)):
        if not knows_machine(one):
            return f"{one.path.name} is {compare_text.no_machine(str(other.path))}"
    others = len(elsewhere)
    told = "1 run is of another node" if others == 1 else f"{others} runs are of other nodes"
    by_number = any(run.header.get("host") == base.header.get("host") for run in elsewhere)
    return f"{told} by serial numbers" if by_number else told


def _name(runs: Sequence[RunFile], number: int) -> str:
    """The file's; with its folder where another one has the same."""
    path = runs[number].path
    twins = sum(run.path.stem == path.stem for run in runs)
    return path.stem if twins == 1 else f"{path.parent.name}/{path.stem}"


Key = tuple[str, str, str, bool]


def _key(line: TableSummary) -> Key:
    """Tables that are set against one another have the same name, title, size, and kind of figure."""
    heading = line.heading
    size = wording.size(heading.bytes) if heading.bytes else ""
    return f"{heading.suite}/{heading.name}", heading.title, size, _is_rate(line)


def _whatever_size(tables: Sequence[dict[Key, _RunTable]]) -> list[dict[Key, _RunTable]]:
    """Tables that every run has at one size alone are set against one another, though the sizes differ."""
    of_size: dict[Key, set[str]] = {}
    for table in tables:
        counts = Counter(_unsized(key) for key in table)
        for key in table:
            of_size.setdefault(_unsized(key), set()).add(key[2] if counts[_unsized(key)] == 1 else "several")
    sized = {key: " or ".join(sorted(sizes)) for key, sizes in of_size.items() if "several" not in sizes}

    def common(key: Key) -> Key:
        name, title, size, is_rate = key
        return name, title, sized.get(_unsized(key), size), is_rate

    return [{common(key): line for key, line in table.items()} for table in tables]


def _unsized(key: Key) -> Key:
    name, title, _, is_rate = key
    return name, title, "", is_rate


Told = tuple[str, str, bool, int | None, bool]
"""Suite and title of a table, whether its figures are rates, their bytes (None: of a table of several sizes), and
whether `compare` tells that figures of such a table are worse or better."""


def _told(base: RunFile, found: Comparison | None) -> Iterator[Told]:
    """What is told of one run against the base; nothing where they are not compared."""
    cases = {row.id: row for row in base.rows}
    for one in found.findings if found else ():
        for change in one.changes:
            case = cases[change.key[0]]
            for size in (payload(case) or None, None):
                yield case.suite, change.table, change.unit == RATE, size, one.worse


def _is_rate(line: TableSummary) -> bool:
    return line.best.headline is not None and line.best.headline.higher_is_better


def _line(key: Key, tables: Sequence[dict[Key, _RunTable]], told: Sequence[Collection[Told]]) -> RunsLine:
    """``told``: of each run."""
    _, title, size, _ = key
    base = tables[0].get(key)
    unit = next(table[key].line.heading.unit for table in tables if key in table)
    found = [_figure(table.get(key), base, unit, of_run) for table, of_run in zip(tables, told, strict=True)]
    return RunsLine(f"{title}{f', {size}' if size else ''}", unit, tuple(found))


def _figure(own: _RunTable | None, base: _RunTable | None, unit: str, told: Collection[Told]) -> RunFigure | None:
    if own is None:
        return None
    line = own.line
    low, high, mean = (_value(line, number, unit) for number in (line.min, line.max, line.mean))
    text = wording.value(mean) if line.spread <= EVEN else f"{wording.value(low)} – {wording.value(high)}"
    if base is None or base is own:
        return RunFigure(text, "", "")
    shared = shared_figures(base.table.flat, own.table.flat)
    if shared is None:
        return RunFigure(text, "", "", "no figure that both have")
    parts = [f"of the {shared.count} that both have"] if shared.count < max(line.ok, base.line.ok) else []
    if shared.most > shared.least * (1 + EVEN):
        parts.append(f"{compare_text.percent(shared.least)} to {compare_text.percent(shared.most)}")
    elif not parts and abs(shared.mean - 1) < CHANGED:
        return RunFigure(text, "", "")
    worse, heading = (shared.mean > 1) != _is_rate(line), line.heading
    is_told = (heading.suite, heading.title, _is_rate(line), heading.bytes, worse) in told
    tone = ("worse" if worse else "better") if is_told else ""
    return RunFigure(text, compare_text.percent(shared.mean), tone, ", ".join(parts))


def _value(line: TableSummary, number: float, unit: str) -> float:
    """In the unit of the first run that has the table; times may stand in others."""
    own = line.heading.unit
    return number if own == unit else in_unit(number / in_unit(1.0, own), unit)
