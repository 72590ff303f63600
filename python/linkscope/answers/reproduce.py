"""Reproduce: every table, picture and claim of a study beside what runs on this machine found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.claims import Grounds, Judgement, UntestedError, judge, selected, typical
from linkscope.answers.run_head import run_head
from linkscope.answers.tables import tables
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.machine.paths import natural
from linkscope.messages.catalog import problem, sentence
from linkscope.messages.finding import Finding, note
from linkscope.results.same_machine import same_machine
from linkscope.results.study import Exhibit, Line, StudiedMachine, StudyFile, load_study, place

_CLAIMS: dict[str, Any] = {
    **dict.fromkeys(("where", "says", "outcome", "here", "code"), polars.String),
    **{"fitted": polars.Boolean, "cell": polars.Boolean, "off": polars.Float64},
    **{"published": polars.Float64, "value": polars.Float64, "unit": polars.String},
}
_COUNTS = tuple(one.value for one in (Outcome.HOLDS, Outcome.FAILS, Outcome.UNTESTED))
_CLAIM = (Column("where"), Column("says"), Column("here"))
MOST_DIFFERING, MOST_PLACES = 3, 12


def answer(*runs: Run, study: str) -> Answer:
    """Return a study beside runs of one node; of a case that several have, the first that is ok counts.

    Raises LinkscopeError where the runs are of several machines, or none has a test of the study.
    """
    asked = load_study(study)
    results = _together(runs, asked)
    first = runs[0]
    grounds = Grounds(results, first.paths, tuple(machine.node for machine in asked.machines))
    if not selected(results, {"row": sorted(tests(asked))}).height:
        raise problem("reproduce.nothing", path=str(first.path), study=study, suites=" ".join(asked.suites))
    inputs = fitted_places(first.node, study) if first.modelled else frozenset()
    judgements = [
        replace(one, fitted=first.modelled and (one.claim.widest is not None or _named(one, inputs)))
        for one in (judge(claim, grounds) for claim in asked.claims)
    ]
    machine = next((one for one in asked.machines if one.node == first.node.name), asked.machines[0])
    claims = _frame(judgements)
    heads = [run_head(run) for run in runs]
    outcome, headline = _headline(judgements, study)
    return Answer(
        question="reproduce",
        runs=tuple(heads),
        headline=headline,
        outcome=outcome,
        findings=(*(found for head in heads for found in head.findings), *_fitted(judgements)),
        tables=(*_of_claims(claims), *_exhibits(asked, grounds, judgements)),
        next=(note("reproduce.next", study=study),),
        details=(note("reproduce.study", title=asked.title), *_differences(machine, first)),
    )


def _together(runs: Sequence[Run], study: StudyFile) -> polars.DataFrame:
    """Return the results of the study's suites, with the clock of the plan."""
    if any(not same_machine(runs[0].file, run.file) for run in runs):
        raise problem("reproduce.several-machines", paths=[str(run.path) for run in runs])
    frames = []
    for number, run in enumerate(runs):
        clocks = {id_: row.case["clock"] for id_, row in run.rows.items()}
        clock = polars.col("id").replace_strict(clocks, return_dtype=polars.String).alias("clock")
        frames.append(run.results.filter(polars.col("suite").is_in(study.suites)).with_columns(clock, run=number))
    every = polars.concat(frames)
    bad = polars.col("status") != "ok"
    best = every.sort(bad, "run", maintain_order=True).unique("id", keep="first", maintain_order=True)
    return every.join(best.select("id", "run"), on=["id", "run"], how="semi", maintain_order="left")


def tests(study: StudyFile) -> set[str]:
    """Return the tests that the claims and exhibits are about."""
    rows = [where.get("row", []) for where in wheres(study)]
    return {str(name) for row in rows for name in (row if isinstance(row, list) else [row])}


def wheres(study: StudyFile) -> Iterator[dict[str, Any]]:
    """Yield everything in the study that selects results."""
    for claim in study.claims:
        crossing = (claim.crossing.below, claim.crossing.above) if claim.crossing else ()
        yield from (dict(one) for one in (claim.figure, claim.over, claim.minus, *crossing) if one)
    for exhibit in study.exhibits:
        columns = exhibit.columns or [Line("all", {})]
        for line in exhibit.lines or [Line("all", {})]:
            yield from ({**exhibit.where, **line.where, **column.where} for column in columns)


def _named(judgement: Judgement, inputs: frozenset[str]) -> bool:
    """Return whether a machine model has a number of the claim's place as input."""
    return bool(inputs.intersection(judgement.claim.where.split(", ")))


def fitted_places(node: Node, study: str) -> frozenset[str]:
    """Return the tables, figures and sections of a study whose numbers a machine model has as inputs.

    A model says so in ``fits``: "schieffer24 Fig. 6c, Fig. 7; pearson23 III-C".
    """
    methods = [method for method in node.methods.values() if isinstance(method, Mapping)]
    rules = [rule for method in methods for rule in method.get("rules", ()) if isinstance(rule, Mapping)]
    said = [part.strip() for one in (*methods, *rules) for part in str(one.get("fits", "")).split(";")]
    own = [part.removeprefix(study).strip() for part in said if part.split(" ")[0] == study]
    return frozenset(place.strip() for part in own for place in part.split(","))


def _frame(judgements: Sequence[Judgement]) -> polars.DataFrame:
    lines = [
        {
            **{"where": one.claim.where, "says": one.claim.says, "outcome": one.outcome.value, "fitted": one.fitted},
            **{"here": sentence(one.here), "code": one.here.code, "off": one.off, "cell": one.claim.cell},
            **{"published": one.claim.about, "value": one.value, "unit": one.claim.unit},
        }
        for one in judgements
    ]
    return polars.DataFrame(lines, schema=_CLAIMS, orient="row")


def _headline(judgements: Sequence[Judgement], study: str) -> tuple[Outcome, Finding]:
    counts = Counter(one.outcome for one in judgements)
    tested = counts[Outcome.HOLDS] + counts[Outcome.FAILS]
    facts = {"study": study, "claims": len(judgements), "tested": tested, "hold": counts[Outcome.HOLDS]}
    if not tested:
        return Outcome.UNTESTED, note("reproduce.untested", **facts)
    if counts[Outcome.FAILS]:
        return Outcome.FAILS, note("reproduce.differs", **facts)
    return Outcome.HOLDS, note("reproduce.holds", **facts)


def _fitted(judgements: Sequence[Judgement]) -> Iterator[Finding]:
    """Yield how many claims a model was fitted to, and how many of its predictions hold."""
    tested = [one for one in judgements if one.outcome is not Outcome.UNTESTED]
    predicted = [one for one in tested if not one.fitted]
    if len(predicted) < len(tested):
        hold = sum(one.outcome is Outcome.HOLDS for one in predicted)
        yield note("reproduce.fitted", fitted=len(tested) - len(predicted), predicted=len(predicted), hold=hold)


def _of_claims(claims: polars.DataFrame) -> Iterator[Table]:
    """Yield all claims, those that differ, and how many hold by where the study makes them."""
    verdict, off = Column("outcome", Kind.NAME), Column("off", Kind.CHANGE)
    yield Table("reproduce.claims", claims, (*_CLAIM, off, verdict), detail=True)
    differing = claims.filter(polars.col("outcome") == Outcome.FAILS.value)
    yield Table("reproduce.differing", differing, (*_CLAIM, off), first=MOST_DIFFERING)
    counts = [(polars.col("outcome") == name).sum().alias(name) for name in _COUNTS]
    largest = polars.col("off").filter(polars.col("published").is_not_null()).abs().max()
    places = claims.group_by("where", maintain_order=True).agg(*counts, largest.alias("largest"))
    shown = [Column(name, Kind.COUNT) for name in _COUNTS if places[name].sum()]
    yield Table(
        "reproduce.places", places, (Column("where"), *shown, Column("largest", Kind.PERCENT)), first=MOST_PLACES
    )


def _exhibits(study: StudyFile, grounds: Grounds, judgements: Sequence[Judgement]) -> Iterator[Table]:
    """Yield the study's tables, then its pictures, as this machine has them."""
    for exhibit in study.exhibits:
        if exhibit.kind == "table":
            yield _grid(exhibit, grounds, judgements)
        else:
            found = _labelled(exhibit, grounds.results)
            yield from (replace(table, detail=True) for table in (tables(found) if found.height else ()))


def _labelled(exhibit: Exhibit, results: polars.DataFrame) -> polars.DataFrame:
    """Return the results of an exhibit as one test: named as the study does, with a series for each line."""
    known = results.filter(polars.col("value").is_not_null())
    labelled = [
        selected(known, {**exhibit.where, **line.where}).with_columns(
            series=polars.lit(line.label), suite=polars.lit("")
        )
        for line in exhibit.lines
    ]
    found = polars.concat(labelled) if labelled else selected(known, exhibit.where)
    name = polars.lit(f"{exhibit.name}: ")
    title = polars.lit(exhibit.title) if exhibit.lines or exhibit.kind == "matrix" else polars.col("title")
    found = found.with_columns((name + title).alias("title"), layout=polars.lit(exhibit.kind))
    return found if exhibit.kind == "list" else found.with_columns(row=polars.lit(exhibit.name))


def _grid(exhibit: Exhibit, grounds: Grounds, judgements: Sequence[Judgement]) -> Table:
    """Return a study's table: of each line the published numbers, and below them those of this machine."""
    columns = [*exhibit.columns, *_further(exhibit, grounds)]
    by_place = {one.claim.says: one for one in judgements if one.claim.where == exhibit.name}
    schema: dict[str, Any] = dict.fromkeys(("exhibit", "line", "who"), polars.String)
    schema |= {column.label: polars.Float64 for column in columns}
    schema |= {f"{column.label} differs": polars.Boolean for column in columns}
    lines: list[dict[str, Any]] = []
    for line in exhibit.lines:
        study: dict[str, Any] = {"exhibit": exhibit.name, "line": line.label, "who": "study"}
        here = {**study, "who": "here"}
        for column in columns:
            known = by_place.get(place(line, column))
            study[column.label] = known.claim.about if known else None
            here[column.label] = _here(exhibit, {**exhibit.where, **line.where, **column.where}, grounds, known)
            here[f"{column.label} differs"] = known is not None and known.outcome is Outcome.FAILS
        lines += [study, here]
    kind = Kind.PERCENT if exhibit.unit == "of peak" else Kind.NUMBER
    cells = (Column(one.label, kind, head=one.label, mark=f"{one.label} differs") for one in columns)
    facts = {"name": exhibit.name, "title": exhibit.title, "unit": exhibit.unit}
    frame = polars.DataFrame(lines, schema=schema, orient="row")
    return Table("reproduce.table", frame, (Column("who"), *cells), group="line", facts=facts, detail=True)


def _further(exhibit: Exhibit, grounds: Grounds) -> list[Line]:
    """Return the speed classes of this node, of a table by speed class whose classes this node does not have."""
    if not any("tier" in column.where for column in exhibit.columns):
        return []
    found: set[str] = set()
    for line in exhibit.lines:
        lines = selected(grounds.results, {**exhibit.where, **line.where})
        found |= set(lines.filter(polars.col("unit").is_not_null())["tier"])
    if found & {column.where.get("tier") for column in exhibit.columns}:
        return []
    return [Line(tier, {"tier": tier}) for tier in sorted(found, key=natural)]


def _here(exhibit: Exhibit, where: dict[str, Any], grounds: Grounds, judgement: Judgement | None) -> float | None:
    if judgement is not None and judgement.outcome is not Outcome.UNTESTED:
        return judgement.value
    try:
        return typical(grounds, where, exhibit.unit)
    except UntestedError:
        return None


def _differences(machine: StudiedMachine, run: Run) -> Iterator[Finding]:
    """Yield in what this machine differs from the study's."""
    engine = run.header.get("engine", {})
    versions = ", ".join(f"{name} {text}" for name, text in engine.get("versions", {}).items())
    gpus = Counter(device.name or "GPU" for device in run.node.of_kind("gpu"))
    peaks: dict[str, set[str]] = {}
    for link in run.node.links:
        if link.kind != "memory" and link.peak_gbps is not None:
            peaks.setdefault(link.kind, set()).add(f"{link.peak_gbps:g}")
    links = "; ".join(f"{kind} {', '.join(sorted(rates, key=natural))}" for kind, rates in peaks.items())
    here = (", ".join(f"{count} x {name}" for name, count in gpus.items()), f"{links} GB/s", versions)
    code = ("reproduce.other-gpus", "reproduce.other-links", "reproduce.other-software")
    there = (machine.gpu, machine.link, machine.software)
    yield from (
        Finding(one, facts={"study": a, "here": b}) for one, a, b in zip(code, there, here, strict=True) if a != b and b
    )
