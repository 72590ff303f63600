"""Show: a run on one screen: how fast each movement is by each method, and what is odd about the run."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from shlex import quote
from statistics import median
from textwrap import wrap

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.movements import FEW_ROWS, PARTED_BY, MoveRow, blocks, by_tier, taken_apart
from linkscope.answers.not_checked import skipped_cases
from linkscope.answers.questions import ask
from linkscope.answers.run_head import RunHead, nvls_off, run_head
from linkscope.answers.show_details import (
    departures,
    hosts,
    provenance,
    reasons,
    remarks,
    slowest_members,
)
from linkscope.answers.show_tables import WIDTH, Naming, by_method, by_size, height, in_lines, matrix
from linkscope.answers.speeds import two_speeds
from linkscope.answers.tables import tables
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.figures.run import Run
from linkscope.messages.catalog import commands, message, problem, sentence
from linkscope.messages.finding import Finding, Level, note
from linkscope.messages.near_names import near_names

ROOM = 24
"""Lines of a first screen."""
UNCERTAIN = 0.05
"""Median relative uncertainty that a reader must know of."""
ORDERS = ("of-peak",)
DEFAULT_PRECISION = 0.01
"""Relative half width of the 95% interval that a run asks for unless told otherwise."""
_LEAST_SIZES = 3
_REST_ROWS = 4
_MOST_CAUSES = 2
_MOST_SIZED = 5
_TOGETHER = 0.9
"""Flows that ran together for a smaller share of the time did not share their path throughout."""


def answer(
    run: Run,
    *,
    table: str | None = None,
    where: str | None = None,
    sort: str | None = None,
    program: str = "linkscope",
) -> Answer:
    """Return what a run holds. ``table``: tests with this word in their title or method; ``where``: results that
    involve this device; ``sort``: "of-peak", all results in one list, the furthest below its peak first. ``program``:
    how a shell finds this one.

    Raises LinkscopeError where the run has nothing of the kind.
    """
    head = run_head(run)
    results = _narrowed(run, table, where)
    data = {"header": run.header, "hosts": list(hosts(run)), "missing": list(run.missing)}
    if sort is not None or table is not None:
        part = tables(results) if sort is None else [_sorted(results, sort)]
        return Answer("show", (head,), _count(results), findings=head.findings, tables=tuple(part), data=data)
    details, facts = tuple(_details(run, results)), tuple(_facts(run, results))
    if results.height and results["workload"].is_not_null().all():
        found = ask("app", run)  # which method is fastest is what is asked of such a run
        found = replace(found, question="show", outcome=None, data=data, next=tuple(_next(run, results, None, program)))
        return replace(found, tables=(*found.tables, *details), details=(*found.details, *facts))
    verdict = ask("explain", run) if where is None else None
    headline = verdict.headline if verdict else _count(results)
    causes = [found for found in verdict.at(Level.ERROR) if found not in head.findings] if verdict else []
    slow = frozenset(name for found in causes for name in found.results)
    findings = (*head.findings, *nvls_off(run), *causes[:_MOST_CAUSES], *_notes(run, head, results))
    steps = tuple(_next(run, results, verdict, program))
    return Answer(
        "show",
        (head,),
        headline,
        findings=findings,
        tables=(*_screen(results, Naming(run.library, slow), _room(headline, findings, steps)), *details),
        next=steps,
        details=facts,
        data=data,
    )


def _room(headline: Finding, findings: Sequence[Finding], steps: Sequence[Finding]) -> int:
    """Return how many lines of a first screen are left for tables."""
    lines = sum(
        len(wrap(f"warning: {sentence(found)}", WIDTH)) + len(commands(found)) for found in (headline, *findings)
    )
    blank = any(found.level is Level.NOTE for found in findings) + any(message(found.code).label for found in findings)
    return ROOM - 1 - lines - bool(steps) - blank


def _screen(results: polars.DataFrame, naming: Naming, room: int) -> list[Table]:
    """Return the tables of the first screen: paths that differ, movements by method, and what fits beside them."""
    main, *others = blocks(results) or [[]]
    if not main:
        return []
    shown = [table for table in (matrix(results, naming),) if table]
    room -= sum(map(height, shown))
    crowded = bool(shown) or any(len(by_tier(row)) > 1 for row in main)
    below: list[Table] = []
    for table in _beside(main, others, naming):
        fits = not crowded and height(table) <= room - min(len(main), FEW_ROWS) - 4
        below.append(table if fits else replace(table, detail=True))
        room -= height(table) if fits else 0
    # Kinds, then memories share rows where their words would take the place of methods or of shares of the peak.
    fitted = [_fitted(main, naming, room, by) for by in (PARTED_BY, ("memory", "size"), ("size",))]
    return [*shown, min(fitted, key=lambda table: (table.facts["left_out"], not _has_shares(table))), *below]


def _has_shares(table: Table) -> bool:
    return any(column.kind is Kind.PERCENT for column in table.columns)


def _beside(main: Sequence[MoveRow], others: Sequence[Sequence[MoveRow]], naming: Naming) -> Iterator[Table]:
    """Yield what stands below the main table: results by size where that is small, and lines of all others."""
    sized: list[MoveRow] = []
    rest: list[MoveRow] = []
    for rows in others:
        several = any(len({line["bytes"] for line in row.lines}) >= _LEAST_SIZES for row in rows)
        (sized if several and len(main) <= FEW_ROWS else rest).extend(taken_apart(rows, _REST_ROWS, ("kind", "memory")))
    if rest:
        yield in_lines(rest, naming)
    if sized:
        yield replace(by_size(sized, naming), first=_MOST_SIZED if len(sized) > _MOST_SIZED else None)


def _fitted(rows: Sequence[MoveRow], naming: Naming, room: int, by: Collection[str]) -> Table:
    """Return the table by method in at most so many lines; ``by``: what may have rows of its own."""
    most = room - 3
    for _ in range(2):
        table = by_method(taken_apart(rows, max(most, len(rows)), by), naming)
        over = height(table) - room
        if over <= 0:
            return table
        most = table.frame.height - over
    return replace(table, first=max(most - 1, 1))


def _details(run: Run, results: polars.DataFrame) -> Iterator[Table]:
    """Yield what --full adds: all results of each test, cases without results, remarks, where it all comes from."""
    yield from (replace(table, detail=True) for table in tables(results))
    more = (reasons(run), remarks(run), slowest_members(run), departures(run), provenance(run))
    yield from (table for table in more if table.frame.height)


def _notes(run: Run, head: RunHead, results: polars.DataFrame) -> Iterator[Finding]:
    """Yield what a reader of the first screen must know of its results."""
    yield from skipped_cases(run)
    above = results.filter(polars.col("of_peak") > ABOVE_PEAK)["id"].unique().to_list()
    if above:
        yield replace(note("show.above-peak", count=len(above)), results=tuple(above))
    margins = _margins(results)
    if margins and not head.modelled and median(margins) > UNCERTAIN:
        yield note("show.uncertain", margin=median(margins))
    elif two := two_speeds(run):
        yield two


def _facts(run: Run, results: polars.DataFrame) -> Iterator[Finding]:
    """Yield what readers of every detail want to know of the intervals and of flows at once."""
    asked = float(run.header.get("plan", {}).get("options", {}).get("precision", DEFAULT_PRECISION))
    margins = _margins(results)
    wide = sum(margin > asked for margin in margins)
    if wide and not run.modelled:
        yield note("show.wide", wide=wide, results=len(margins), asked=asked)
    if not run.modelled and results.filter(status="ok")["replicates"].max() == 1:
        yield note("show.one-round")
    assumed = results.filter("assumed")["id"].unique().to_list()
    if assumed:
        yield replace(note("show.assumed", count=len(assumed)), results=tuple(assumed))
    apart = results.filter(polars.col("overlap") < _TOGETHER)
    for (movement,), some in apart.group_by("movement", maintain_order=True):
        ends = (some["overlap"].min(), some["overlap"].max())
        yield replace(note("show.overlap", movement=movement, overlap=ends), results=tuple(some["id"].unique()))


def _margins(results: polars.DataFrame) -> list[float]:
    """Return how far each interval reaches from its value, as a share of it."""
    value, low, high = (polars.col(name) for name in ("value", "value_low", "value_high"))
    known = results.filter(value > 0, low.is_not_null())
    return list(known.select(polars.max_horizontal(high - value, value - low) / value).to_series())


def _next(run: Run, results: polars.DataFrame, verdict: Answer | None, program: str) -> Iterator[Finding]:
    """Yield the next steps, as many as fit a line."""
    facts = {"program": program, "path": quote(str(run.path))}
    steps = [note("show.next-full", **facts)]
    if verdict is not None and verdict.outcome is Outcome.FAILS:
        steps.insert(0, note("show.next-explain", **facts))
    elif results.filter(polars.col("status") == "ok")["way"].n_unique() > 1:
        steps.insert(0, note("show.next-choose", **facts))
    typed = [command for step in steps for command in commands(step)]
    yield from steps if len("Next: " + "   ".join(typed)) <= WIDTH else steps[:1]


def _count(results: polars.DataFrame) -> Finding:
    known = results.filter(polars.col("value").is_not_null())
    return note("show.results", results=known.height, tests=results.select("suite", "row").n_unique())


def _narrowed(run: Run, table: str | None, where: str | None) -> polars.DataFrame:
    """Return the results that are asked for. Raises LinkscopeError where there are none."""
    results = run.results
    if where is not None:
        devices = [device.id for device in run.node.devices]
        if where not in devices:
            raise problem(
                "show.no-device", device=where, node=run.node.name, devices=near_names(where, devices) or devices
            )
        ids = [row.id for row in run.rows.values() if f'"{where}"' in json.dumps(row.case["flows"])]
        results = results.filter(polars.col("id").is_in(ids))
        if results.is_empty():
            raise problem("show.not-involved", device=where)
    if table is not None:
        names = polars.concat_str("title", "row", "method", separator=" ").str.to_lowercase()
        word = table.strip().lower()
        found = results.filter(names.str.contains(word, literal=True)) if word else results.clear()
        if found.is_empty():
            words = {part.strip(",():") for text in results.select(names).to_series().unique() for part in text.split()}
            near = near_names(word, sorted(words)) if word else []
            raise problem("show.no-table-near" if near else "show.no-table", word=table, near=near)
        results = found
    return results


def _sorted(results: polars.DataFrame, order: str) -> Table:
    """Return every result of known peak in one list; of a series over sizes only the best."""
    if order not in ORDERS:
        raise problem("show.no-order", order=order, orders=list(ORDERS))
    known = results.filter(polars.col("of_peak").is_not_null())
    if known.is_empty():
        raise problem("show.no-peak")
    best = polars.col("of_peak") == polars.col("of_peak").max().over("suite", "row", "title", "series")
    frame = known.filter((polars.col("layout") != "curve") | best).sort("of_peak", maintain_order=True)
    bounds = ("value", "value_low", "value_high", "value_modes", "value_modes_in")
    kept = ("id", "path", "title", "way", "bytes", *bounds, "unit", "of_peak", "peak_gbps")
    value = Column("value", Kind.VALUE, "GB/s", interval=True)
    columns = (Column("of_peak", Kind.PERCENT), value, Column("path", Kind.PATH), Column("title"))
    return Table("show.sorted", frame.select(kept), columns)
