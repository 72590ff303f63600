"""A run on one screen: the verdict, a sweep by size, what GPUs send each other, every kind of path in a line, what is
odd, what next."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.text import Text

from linkscope.analysis.by_size import BySize, by_size
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.explain import Diagnosis
from linkscope.analysis.figures import figures
from linkscope.analysis.headlines import best_by_method, between_gpus
from linkscope.analysis.left_out import TOGETHER
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.model_gaps import gaps_of
from linkscope.analysis.overview import Overview
from linkscope.analysis.summary import Summary, TableSummary
from linkscope.messages.listed import listed
from linkscope.report import by_size_text, explain_text, model_gaps_text, wording, workload_text
from linkscope.report.cell_grid import Notes, Parts, parts_of, print_parts, width_of
from linkscope.report.odd_text import imprecision, odd
from linkscope.report.peer_formats.formats import formats_for
from linkscope.report.provenance import date, limits, measured_once, mpi, remarks
from linkscope.report.summary_text import MOST_LINES_BELOW, best_at, group_line, table_lines
from linkscope.report.sweep import is_sweep
from linkscope.results.row import origin_name
from linkscope.results.run_file import RunFile

MOST_LINES = 40
MOST_GPUS = 8
"""A larger matrix is told in one line."""
FEWEST_TABLES, LEAST_TABLES = 4, 3
"""Lines of tables that others make room for; and those that stand there even so."""
LEAST_SWEPT = 0.5
"""Of a run's figures, if it is to be told by size."""
HEAD_LINES = 2
LEAST_OF_TABLES = FEWEST_TABLES + HEAD_LINES + 2
"""Lines, the one before them and the one on what is left out included."""
FEWEST_SIZES = 3
MOST_REMARKS = 2
MOST_REMARK_LINES = 2
MOST_WORKLOAD_LINES = 4
MOST_COUNT_LINES = 2
MOST_VERDICT_LINES = 7
MOST_GAP_LINES = 3
MOST_ODD = 3
LEAST_ODD_LINES = 2
"""The heading and one of them, where others find no room."""
NAMED_ELSEWHERE = "`linkscope choose RUN` says what the names mean"
MOST_REASONS = 6


def show(
    run: RunFile,
    found: Overview,
    diagnosis: Diagnosis,
    console: Console,
    further: Sequence[tuple[str, str]] = (),
) -> None:
    """Prints ``run`` in at most 40 lines, at 80 columns or more; last what to do next, (how, what) each: if
    not ``further``, the commands that the run has something for."""
    sizes = _by_size(run, found)
    ways = further or terminal_ways(run, found, diagnosis, sizes)
    lacks, reasons = _lacks(run, console), _reasons(run, found.summary, console)
    _show(run, found, diagnosis, sizes, lacks, reasons, _further(ways), console)


def show_ended(run: RunFile, found: Overview, diagnosis: Diagnosis, console: Console) -> None:
    """The same of a run that has just ended, with every reason for which cases were skipped or failed at its end: what
    a model lacks is among them."""
    _show(run, found, diagnosis, _by_size(run, found), [], [], _without_figures(found.summary, console), console)


def _by_size(run: RunFile, found: Overview) -> list[BySize]:
    """None of a run that is no sweep: most of its figures are in tables of one size."""
    swept = sum(len(table.flat) for table in found.tables if is_sweep(table))
    return by_size(figures(run)) if swept >= LEAST_SWEPT * sum(len(table.flat) for table in found.tables) else []


def _show(
    run: RunFile,
    found: Overview,
    diagnosis: Diagnosis,
    sizes: Sequence[BySize],
    lacks: Sequence[RenderableType],
    head: Sequence[RenderableType],
    foot: Sequence[RenderableType],
    console: Console,
) -> None:
    lines = best_by_method(found.summary.tables)
    named = dict.fromkeys(text for one in found.workloads[:MOST_ODD] for text in workload_text.meanings(one))
    meanings = [Text(text) for text in named]
    verdict = _verdict(run, found, diagnosis, meanings, console)
    top: list[RenderableType] = [*_origin(run, found, console), *lacks, *verdict, *head]
    odd_lines = _odd(found, lines, diagnosis, console)
    below: list[RenderableType] = [*odd_lines, *foot]
    sized: list[RenderableType] = []

    def is_long() -> bool:
        return _height(console, *top, *sized, *below) + LEAST_OF_TABLES > MOST_LINES

    for most in range(by_size_text.MOST_SIZES, FEWEST_SIZES - 1, -1) if sizes else ():
        sized = [Text(""), *by_size_text.lines(sizes, console, most), *_stand_ins(sizes[0], run)]
        if not is_long():
            break
    while is_long() and any(map(_optional, below)):
        below.remove(next(filter(_optional, reversed(below))))
    while meanings and is_long():
        gone = meanings.pop()
        top = [part for part in top if part is not gone]
    if sizes and is_long():
        table = by_size_text.lines(sizes, console, FEWEST_SIZES, most_named=0)
        sized = [Text(""), *table, *_stand_ins(sizes[0], run), Text(NAMED_ELSEWHERE, style="dim")]
    while len(odd_lines) > LEAST_ODD_LINES and is_long():
        below.remove(odd_lines.pop())
    above = [*top, *sized]
    matrix = between_gpus(found.tables, found.summary.tables)
    drawn = _matrix(matrix, console) if matrix is not None else ""
    used = _height(console, *above, *below)
    height = drawn.count("\n")
    if MOST_LINES - used - height < LEAST_OF_TABLES:
        drawn, height = "", 0
    for part in above:
        console.print(part)
    if drawn and matrix is not None:
        _print_matrix(matrix, console)
    origins = [] if sizes else [line.best.stand_in for line in lines]
    _print_tables(lines, wording.of_no_source(origins), MOST_LINES - used - height, sizes, console)
    for part in below:
        console.print(part)


def _origin(run: RunFile, found: Overview, console: Console) -> list[RenderableType]:
    where = run.node.name if run.node.modelled else f"{run.node.name} on {run.header.get('host', '?')}"
    title = Text(wording.shortened(where, 40), style="bold")
    when = date(str(run.header.get("started", "")))
    title.append(f"  {'file of ' if origin_name(run.header) else ''}{when}", style="dim")
    parts: list[RenderableType] = []
    if mark := wording.mark(found.summary):
        parts.append(Text(f" {mark} ", style="bold black on yellow"))
    named = {"limited to": limits(run.header), "MPI": mpi(run.rows)}
    told = [f"{name}: {text}" for name, text in named.items() if text]
    return [*parts, title, *(_cropped(text, 1, "dim", console) for text in told)]


def _lacks(run: RunFile, console: Console) -> list[RenderableType]:
    gaps = model_gaps_text.sentence(gaps_of(run.rows), run.node.name) if run.node.modelled else ""
    return [_cropped(gaps, MOST_GAP_LINES, "yellow", console)] if gaps else []


def _verdict(
    run: RunFile, found: Overview, diagnosis: Diagnosis, meanings: Sequence[Text], console: Console
) -> list[RenderableType]:
    """``meanings``: of words in the verdicts of workloads; they follow these."""
    summary = found.summary
    skipped = sum(group.count for group in summary.skipped)
    failed = sum(group.count for group in summary.failed)
    parts = [(summary.ok, wording.done(summary)), (skipped, "skipped"), (failed, "failed")]
    counted = f"{wording.count(summary.rows, 'case')}: {', '.join(f'{n} {what}' for n, what in parts if n)}"
    if measured_once(run.rows):
        counted += "; once each: intervals hold within the run"
    told = [_cropped(one, MOST_REMARK_LINES, "yellow", console) for one in remarks(run)[:MOST_REMARKS]]
    if len(remarks(run)) > MOST_REMARKS:
        told.append(Text(f"{wording.count(len(remarks(run)) - MOST_REMARKS, 'more remark')} with --full", "yellow"))
    workloads = [_cropped(workload_text.verdict(one), MOST_WORKLOAD_LINES, "bold", console) for one in found.workloads]
    told_by_workloads = workloads and diagnosis.judged == 0 and not diagnosis.wrong
    judged = () if told_by_workloads else explain_text.conclusion(diagnosis)
    wide = imprecision(summary)
    return [
        *told,
        *workloads[:MOST_ODD],
        *meanings,
        *(_whole(text, MOST_VERDICT_LINES, style, console) for text, style in judged),
        _cropped(counted, MOST_COUNT_LINES, "", console),
        *([_cropped(wide, 1, "dim", console)] if wide else []),
    ]


def _reasons(run: RunFile, summary: Summary, console: Console) -> list[RenderableType]:
    """The first reason for which cases were skipped, and how many more there are; nothing where a model's gaps are told
    already."""
    if not summary.skipped or (run.node.modelled and gaps_of(run.rows).lacking):
        return []
    more = len(summary.skipped) - 1
    text = f"skipped: {summary.skipped[0].reason}"
    text += f", and {wording.count(more, 'more reason')} with --full" if more else ""
    return [_cropped(text, MOST_REMARK_LINES, "dim", console)]


def _without_figures(summary: Summary, console: Console) -> list[RenderableType]:
    """Each reason for which cases have no figures once, with their number and the rows of suites that they are of."""
    told = []
    for groups, word, style in ((summary.failed, "failed", "red"), (summary.skipped, "skipped", "dim")):
        for group in groups:
            told.append((group_line(replace(group, tables=group.suite_rows), word), style))
    if not told:
        return []
    lines = [_cropped(text, MOST_REMARK_LINES, style, console) for text, style in told[:MOST_REASONS]]
    if len(told) > MOST_REASONS:
        lines.append(Text(f"{wording.count(len(told) - MOST_REASONS, 'more reason')} with --full", style="dim"))
    return [Text("\nWithout figures", style="bold"), *lines]


def _print_matrix(matrix: Matrix, console: Console) -> None:
    console.print()
    heading = matrix.heading
    console.print(Text(wording.shortened(heading.title, console.width), style="bold"))
    size = [] if heading.bytes is None else [wording.size(heading.bytes)]
    shares = [entry.share for entry in matrix.flat if entry.share is not None]
    of_peak = [f"percent of the path's peak, the lowest {wording.percent(min(shares))}"] if shares else []
    facts = [*size, heading.unit, f"row {matrix.arrow} column" if matrix.arrow else "", *of_peak]
    console.print(_cropped(", ".join(filter(None, facts)), 1, "dim", console))
    print_parts(matrix.row_ids, matrix.column_ids, _narrow(matrix, console.width), "", console)


def _matrix(matrix: Matrix, console: Console) -> str:
    """What is printed of it; empty where it has too many GPUs, or is wider than the terminal."""
    parts = _narrow(matrix, console.width)
    if len(matrix.row_ids) > MOST_GPUS or width_of(matrix.row_ids, matrix.column_ids, parts) > console.width:
        return ""
    twin = _twin(console)
    _print_matrix(matrix, twin)
    return _text(twin)


def _narrow(matrix: Matrix, width: int) -> list[list[Parts]]:
    """Figures with their percentage or, where that is too wide, without."""
    notes = Notes()
    cells = [[parts_of(entry, notes) for entry in line] for line in matrix.cells]
    for keep in (True, False):
        found: list[list[Parts]] = [
            [(figure, None if interval is None else "", share if keep else "") for figure, interval, share in line]
            for line in cells
        ]
        if width_of(matrix.row_ids, matrix.column_ids, found) <= width:
            break
    return found


def _stand_ins(shown: BySize, run: RunFile) -> list[RenderableType]:
    """Where the assumed latencies of a table by size come from; nothing where it has none."""
    rows = [row for row in run.rows if row.stand_in] if shown.assumed else []
    own = [row for row in rows if row.labels.get("tier") == shown.question.tier]
    origins: dict[str, dict[str, None]] = {}
    for row in own or rows:
        settings = "".join(f" {name}={value}" for name, value in row.environment.items())
        origins.setdefault(row.stand_in, {})[f"{row.case['flows'][0]['method']}{settings}"] = None
    told = [f"{origin} for {listed(list(methods))}" for origin, methods in origins.items()]
    return [Text(f"{wording.ASSUMED} in its place {'; '.join(told)}", style="dim")] if told else []


def _print_tables(
    lines: Sequence[TableSummary], no_source: str, room: int, sizes: Sequence[BySize], console: Console
) -> None:
    """As many as fit into ``room`` lines, in the order of the run: those of known peak before others, and of each
    movement one before a second. ``no_source``: what an assumed latency is. ``sizes``: the table by size that stands
    above, if any: beside it a best figure of curves must say how it was measured, or is left out."""
    if not lines:
        return
    assumed = any(line.best.assumed for line in lines)
    foot = Text(f"{wording.ASSUMED} {no_source}", style="dim") if assumed else None
    if sizes and room < LEAST_TABLES + HEAD_LINES + 2:
        console.print(Text(f"{wording.count(len(lines), 'table')} with --full", style="dim"))
        return
    most = max(LEAST_TABLES, room - HEAD_LINES - 1 - (_height(console, foot) if foot else 0))
    lines, left = _once_each(lines, most)
    each = 1 + MOST_LINES_BELOW if all(map(best_at, lines)) else 1
    if each * len(lines) + bool(left) > most:
        movements = [line.heading.title.partition(",")[0] for line in lines]
        again = [name in movements[:index] for index, name in enumerate(movements)]
        known = sorted(range(len(lines)), key=lambda index: (lines[index].highest_share is None, again[index]))
        kept = max((most - 1) // each, 1)
        left += len(lines) - kept
        lines = [lines[index] for index in sorted(known[:kept])]
    below = [best_at(line) for line in lines]
    fits = len(lines) + MOST_LINES_BELOW * sum(map(bool, below)) <= most - bool(left)
    console.print()
    if sizes and all(below) and not fits:
        console.print(Text(f"{wording.count(len(lines) + left, 'table')} with --full", style="dim"))
        return
    console.print(table_lines(lines, console.width, below if fits else ()))
    if foot:
        console.print(foot)
    if left:
        console.print(Text(f"and {wording.count(left, 'more table')} with --full", style="dim"))


def _once_each(lines: Sequence[TableSummary], most: int) -> tuple[Sequence[TableSummary], int]:
    """Of curves alone that have no room to say where their best is: the first figure of each sweep, of time and
    bandwidth; and how many are left out."""
    if not all(map(best_at, lines)) or (1 + MOST_LINES_BELOW) * len(lines) <= most:
        return lines, 0
    firsts: dict[str, TableSummary] = {}
    for line in lines:
        firsts.setdefault(line.heading.title.rpartition(": ")[0] or line.heading.title, line)
    return tuple(firsts.values()), len(lines) - len(firsts)


def _odd(
    found: Overview, lines: Sequence[TableSummary], diagnosis: Diagnosis, console: Console
) -> list[RenderableType]:
    told = odd(found, lines, diagnosis, MOST_ODD)
    if not told:
        return []
    further = " (of flows at once: `linkscope analyze RUN scaling`)" if diagnosis.left_out.get(TOGETHER) else ""
    return [
        Text(f"\nOdd, and not judged here{further}", style="bold"),
        *(_cropped(one.plain, 1, str(one.style), console) for one in told),
    ]


def _optional(part: RenderableType) -> bool:
    """Whether it is a command that goes where there is no room."""
    return isinstance(part, Text) and part.plain.startswith("linkscope show RUN --sort ")


def _further(ways: Sequence[tuple[str, str]]) -> list[RenderableType]:
    wide = max((len(how) for how, _ in ways), default=0)
    return [Text(""), *(Text(f"{how:<{wide}}  {what}", style="dim") for how, what in ways)]


def terminal_ways(
    run: RunFile, found: Overview, diagnosis: Diagnosis, sizes: Sequence[BySize] = ()
) -> list[tuple[str, str]]:
    """What a reader may ask next, of what the run has: the command and what it prints."""
    if not found.summary.figures:
        return [("linkscope show RUN --full", "every reason")]
    used = [device.id for device in run.node.devices if device.kind == "gpu"] or [run.node.devices[0].id]
    led = any(isinstance(table, CurveSet) and table.leads for table in found.tables)
    rivals = found.workloads or led or any(len(one.ways) > 1 for one in sizes)
    rated = any(line.highest_share is not None for line in found.summary.tables)
    return [
        ("linkscope show RUN --full", "every figure with its interval" if not run.modelled else "every figure"),
        ("linkscope show RUN --table WORD", f"only its tables; --where {used[0]}"),
        *([("linkscope show RUN --sort of-peak", "those furthest below their peak first")] if rated else []),
        *([("linkscope explain RUN", "what is slow, and why")] if diagnosis.judged or diagnosis.wrong else []),
        *([("linkscope choose RUN", "which way is fastest, by size")] if rivals else []),
        *((f"linkscope show RUN --format {name}", f"as {tool} prints it") for name, tool in formats_for(run)),
        ("linkscope report RUN -o PAGE.html", "all of it as one page"),
    ]


def _whole(text: str, most: int, style: str, console: Console) -> Text:
    """As many of its sentences as fit into so many lines, at least one."""
    parts = re.split(r"(?<=\.) ", text)
    while len(parts) > 1 and len(Text(" ".join(parts)).wrap(console, console.width)) > most:
        parts.pop()
    return _cropped(" ".join(parts), most, style, console)


def _cropped(text: str, most: int, style: str, console: Console) -> Text:
    """As many of its lines as are allowed; of a longer text the last one ends with dots."""
    lines = Text(text, style=style).wrap(console, console.width)
    kept = [line.plain.rstrip() for line in lines[:most]]
    if len(lines) > most:
        kept[-1] = f"{kept[-1][: console.width - 1].rstrip()}…"
    return Text("\n".join(kept), style=style)


def _twin(console: Console) -> Console:
    return Console(file=io.StringIO(), width=console.width, force_terminal=False, force_jupyter=False)


def _text(twin: Console) -> str:
    stream = twin.file
    return stream.getvalue() if isinstance(stream, io.StringIO) else ""


def _height(console: Console, *parts: RenderableType) -> int:
    twin = _twin(console)
    twin.print(Group(*parts))
    return _text(twin).count("\n")
