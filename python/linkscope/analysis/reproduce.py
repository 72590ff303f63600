"""Reproduce: every table, figure and claim of a study beside what runs on this machine found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars

from linkscope.analysis.by_flow import apart
from linkscope.analysis.claims import FormerGrounds, FormerJudgement, FormerUntestedError, judge, selected, typical
from linkscope.analysis.curves import curves
from linkscope.analysis.figures import figures
from linkscope.analysis.lists import listings
from linkscope.analysis.matrices import matrices
from linkscope.analysis.summary import Table
from linkscope.displayed import Displayed, displays
from linkscope.documents.typed_call import typed_call
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths, natural
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.study import Claim, Exhibit, Line, StudiedMachine, StudyFile, place

Json = dict[str, Any]


@dataclass(frozen=True)
class GridCell:
    """One figure of a study's table. ``published`` and ``here`` in the table's unit, None where there is none; ``why``
    there is none here. ``verdict`` of the claim that the published figure is."""

    published: float | None
    here: float | None
    why: str
    judgement: FormerJudgement | None


@dataclass(frozen=True)
class Grid:
    """A study's table; ``cells`` by line and column. Columns of this node's own speed classes follow the study's."""

    lines: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[GridCell, ...], ...]


@dataclass(frozen=True)
class ShownExhibit:
    """An exhibit with what the run has of it: pictures and matrices in ``tables``, or a ``grid``. ``rows``: the run's,
    labelled as the study has them. ``why`` there is nothing."""

    exhibit: Exhibit
    tables: tuple[Table, ...] = ()
    grid: Grid | None = None
    rows: tuple[Row, ...] = ()
    why: str = ""


@dataclass(frozen=True, repr=False)
class Reproduction(Displayed):
    """``machine``: the study's, the one that this node is, or its first. ``differences``: what, there, here.

    ``run``: the runs as one.
    """

    study: StudyFile
    machine: StudiedMachine
    run: RunFile
    differences: tuple[tuple[str, str, str], ...]
    shown: tuple[ShownExhibit, ...]
    judgements: tuple[FormerJudgement, ...]

    @property
    def modelled(self) -> bool:
        return self.run.modelled

    @property
    def predicted(self) -> tuple[int, int, int, int]:
        """Of a model's claims: inputs that agree, all inputs, predictions that agree, all predictions; tested ones."""
        tested = [one for one in self.judgements if one.outcome != "untested"]
        inputs, others = [one for one in tested if one.fitted], [one for one in tested if not one.fitted]
        agree = [sum(one.outcome == "agrees" for one in part) for part in (inputs, others)]
        return agree[0], len(inputs), agree[1], len(others)

    @property
    def counts(self) -> Counter[str]:
        """How many claims agree, differ, are untested."""
        return Counter(one.outcome for one in self.judgements)

    @typed_call()
    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of `linkscope reproduce -o` to ``path``. Raises LinkscopeError."""
        displays().write_page(self, Path(path))

    def to_json(self) -> Json:
        """A JSON-ready dict."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "node": self.run.node.name,
            "modelled": self.modelled,
            "differences": [dict(zip(("what", "study", "here"), one, strict=True)) for one in self.differences],
            "claims": [_claim(one) for one in self.judgements],
            "exhibits": [_exhibit(one) for one in self.shown],
        }


def _claim(judgement: FormerJudgement) -> Json:
    return {**asdict(judgement), "claim": msgspec.to_builtins(judgement.claim)}


def _exhibit(one: ShownExhibit) -> Json:
    found: Json = {"name": one.exhibit.name, "title": one.exhibit.title, "kind": one.exhibit.kind, "why": one.why}
    if one.grid is not None:
        cells = [
            [{"published": cell.published, "here": cell.here, "why": cell.why} for cell in line]
            for line in one.grid.cells
        ]
        found |= {"unit": one.exhibit.unit, "lines": one.grid.lines, "columns": one.grid.columns, "cells": cells}
    return found | {"tables": [table.to_json() for table in one.tables]}


def reproduce(study: StudyFile, runs: Sequence[RunFile]) -> Reproduction:
    """The study beside the runs, all of one node; of a case that several have the first counts.

    Raises LinkscopeError where the runs are of several machines, or none has a row of the study.
    """
    run = _together(runs, study.suites)
    paths = Paths(run.node)
    studied = tuple(machine.node for machine in study.machines)
    grounds = FormerGrounds(figures(run), paths, studied)
    if not selected(grounds.figures, {"row": [*_rows_named(study)]}).height:
        raise LinkscopeError(
            f"{run.path} has nothing that {study.name} measures: `linkscope run {' '.join(study.suites)}` does"
        )
    machine = next((one for one in study.machines if one.node == run.node.name), study.machines[0])
    inputs = fitted_places(run.node, study.name) if run.modelled else frozenset()
    judgements = tuple(replace(judge(claim, grounds), fitted=_given(claim, run, inputs)) for claim in study.claims)
    return Reproduction(
        study=study,
        machine=machine,
        run=run,
        differences=_differences(machine, run),
        shown=tuple(_shown(exhibit, run, grounds, judgements) for exhibit in study.exhibits),
        judgements=judgements,
    )


def _given(claim: Claim, run: RunFile, inputs: frozenset[str]) -> bool:
    """Whether a description holds what the claim says: the links, or a figure of the places that it names."""
    said = claim.widest is not None or bool(inputs.intersection(claim.where.split(", ")))
    return run.node.modelled and said


def fitted_places(node: Node, study: str) -> frozenset[str]:
    """Tables, figures and sections of a study whose figures the description of a node has as inputs (``fits``:
    "schieffer24 Fig. 6c, Fig. 7; pearson23 III-C")."""
    described = [one for method in node.methods.values() for one in (method, *method.get("rules", ()))]
    said = [part.strip() for one in described for part in str(one.get("fits", "")).split(";")]
    own = [part.removeprefix(study).strip() for part in said if part.split(" ")[0] == study]
    return frozenset(place.strip() for part in own for place in part.split(","))


def _together(runs: Sequence[RunFile], suites: Sequence[str]) -> RunFile:
    """Of a case that several runs have, the first that is ok counts; rows of other suites are left out."""
    machines = {
        f"{run.node.name}, modelled" if run.node.modelled else f"{run.node.name} on {run.header['host']}"
        for run in runs
    }
    if len(machines) > 1:
        names = "; ".join(sorted(machines))
        raise LinkscopeError(f"the runs are of several machines, {names}: name runs of one")
    rows: dict[str, Row] = {}
    for row in (row for run in runs for row in run.rows if row.suite in suites):
        if row.id not in rows or (row.status == "ok" and rows[row.id].status != "ok"):
            rows[row.id] = row
    return replace(runs[0], rows=tuple(rows.values()))


def _rows_named(study: StudyFile) -> Iterator[str]:
    """Suite rows that the claims and exhibits are about."""
    for where in wheres(study):
        row = where.get("row", [])
        yield from (str(one) for one in (row if isinstance(row, list) else [row]))


def wheres(study: StudyFile) -> Iterator[dict[str, Any]]:
    """Everything in the study that selects figures."""
    for claim in study.claims:
        crossing = (claim.crossing.below, claim.crossing.above) if claim.crossing else ()
        yield from (dict(one) for one in (claim.figure, claim.over, claim.minus, *crossing) if one)
    for exhibit in study.exhibits:
        columns = exhibit.columns or [Line("all", {})]
        for line in exhibit.lines or [Line("all", {})]:
            yield from ({**exhibit.where, **line.where, **column.where} for column in columns)


def _differences(machine: StudiedMachine, run: RunFile) -> tuple[tuple[str, str, str], ...]:
    engine = run.header.get("engine", {})
    versions = ", ".join(f"{name} {text}" for name, text in engine.get("versions", {}).items())
    told = (
        ("GPUs", machine.gpu, _gpus(run.node)),
        ("links", machine.link, _links(run.node)),
        ("software", machine.software, versions or f"{engine.get('backend', 'unknown')} engine"),
    )
    return tuple(one for one in told if one[1] != one[2])


def _gpus(node: Node) -> str:
    counts = Counter(device.name or "GPU" for device in node.of_kind("gpu"))
    return ", ".join(f"{count} x {name}" for name, count in counts.items()) or "none"


def _links(node: Node) -> str:
    """Of each kind of link the payload peaks, one way."""
    peaks: dict[str, set[str]] = {}
    for link in node.links:
        if link.kind != "memory":
            peaks.setdefault(link.kind, set()).add("unknown" if link.peak_gbps is None else f"{link.peak_gbps:g}")
    words = (f"{kind} {', '.join(sorted(rates, key=lambda rate: (len(rate), rate)))}" for kind, rates in peaks.items())
    return f"{'; '.join(words)} GB/s each way" if peaks else "none known"


_TABLES: dict[str, Callable[[Iterable[Row], Paths], Sequence[Table]]] = {
    "curve": curves,
    "matrix": matrices,
    "list": listings,
}


def _shown(
    exhibit: Exhibit, run: RunFile, grounds: FormerGrounds, judgements: Sequence[FormerJudgement]
) -> ShownExhibit:
    if exhibit.kind == "table":
        return ShownExhibit(exhibit, grid=_grid(exhibit, grounds, judgements))
    rows = tuple(_labelled(exhibit, run, grounds.figures))
    tables = tuple(_TABLES[exhibit.kind](rows, grounds.paths))
    if not any(entry.headline is not None for table in tables for entry in table.flat):
        reasons = Counter(row.reason for row in rows if row.reason)
        why = reasons.most_common(1)[0][0] if reasons else "the run has no such figure"
        return ShownExhibit(exhibit, why=str(why))
    return ShownExhibit(exhibit, tables=tables, rows=rows)


def _labelled(exhibit: Exhibit, run: RunFile, frame: polars.DataFrame) -> Iterator[Row]:
    """The run's rows of an exhibit, with its name in their titles and its lines' labels as their series."""
    by_id: dict[str, list[Row]] = {}
    own: list[Line | None] = [*exhibit.lines] or [None]
    for line in own:
        where = {**exhibit.where, **(line.where if line else {})}
        chosen = selected(frame, where).select("id", "place")
        wanted = {(str(case), str(place)) for case, place in chosen.iter_rows()}
        for row in run.rows:
            if row.id not in {case for case, _ in wanted}:
                continue
            for part in by_id.setdefault(row.id, apart([row])):
                labels = part.labels
                if (part.id, f"{labels.get('row', '')}|{labels.get('column', '')}") in wanted:
                    yield _relabelled(part, exhibit, line)


def _relabelled(part: Row, exhibit: Exhibit, line: Line | None) -> Row:
    labels: Json = {**part.labels, "show": exhibit.kind, "table": exhibit.name}
    own = exhibit.title if line or exhibit.kind == "matrix" else labels.get("title", exhibit.title)
    labels["title"] = f"{exhibit.name}: {own}"
    if exhibit.kind == "curve":
        labels["row"] = exhibit.name
    if line is not None:
        labels["series"] = line.label
    return replace(part, case={**part.case, "labels": labels})


def _grid(exhibit: Exhibit, grounds: FormerGrounds, judgements: Sequence[FormerJudgement]) -> Grid:
    columns = [*exhibit.columns, *_own_columns(exhibit, grounds)]
    by_place = {one.claim.says: one for one in judgements if one.claim.where == exhibit.name}
    cells = tuple(
        tuple(_cell(exhibit, line, column, grounds, by_place.get(place(line, column))) for column in columns)
        for line in exhibit.lines
    )
    return Grid(tuple(one.label for one in exhibit.lines), tuple(one.label for one in columns), cells)


def _own_columns(exhibit: Exhibit, grounds: FormerGrounds) -> list[Line]:
    """Of a table by speed class, the classes that this node has and the study's does not."""
    if not any("tier" in column.where for column in exhibit.columns):
        return []
    known = {column.where.get("tier") for column in exhibit.columns}
    tiers: set[str] = set()
    for line in exhibit.lines:
        found = selected(grounds.figures, {**exhibit.where, **line.where})
        tiers |= set(found.filter(polars.col("unit").is_not_null())["tier"].cast(polars.String))
    if tiers & known:
        return []
    return [Line(tier, {"tier": tier}) for tier in sorted(tiers, key=natural)]


def _cell(
    exhibit: Exhibit, line: Line, column: Line, grounds: FormerGrounds, judgement: FormerJudgement | None
) -> GridCell:
    published = judgement.claim.about if judgement else None
    if judgement is not None and judgement.outcome != "untested":
        return GridCell(published, judgement.value, "", judgement)
    try:
        where = {**exhibit.where, **line.where, **column.where}
        return GridCell(published, typical(grounds, where, exhibit.unit), "", judgement)
    except FormerUntestedError as error:
        return GridCell(published, None, str(error), judgement)
