"""Terminal: an answer as one screen: who, verdict, warnings, tables, what was not checked, what to type next."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from rich.console import Console, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from linkscope.answers.answer import Answer, Column, Table
from linkscope.answers.run_head import RunHead
from linkscope.messages import numbers
from linkscope.messages.catalog import commands, message, sentence, verdict
from linkscope.messages.finding import Finding, Level
from linkscope.messages.template import fill
from linkscope.render import cells

_STYLES = {
    **dict.fromkeys(("OK", "SAME", "FASTER", "{side} FASTER", "PASSED"), "bold green"),
    **dict.fromkeys(("SLOW", "SLOWER", "{beside} FASTER", "MIXED", "FAILED", "DIFFERS"), "bold red"),
    **dict.fromkeys(("NO VERDICT", "WARNING"), "bold yellow"),
    "MODEL": "bold blue",
}
MOST_LINES = 24
"""Lines of a first screen."""
_LEAST_ROWS = 3
_FULL = ".next-full"
"""Ending of codes that name a command's --full alone."""
_MODEL = "MODEL, nothing measured"
_INDENT = "  "
_GAP = 2
"""Characters between two columns."""


def show(answer: Answer, console: Console, full: bool = False) -> None:
    """Print an answer; ``full``: every table, interval and source."""
    for line in _screen(answer if full else _fitted(answer, console.width), console.width, full):
        console.print(line, highlight=False, markup=False, soft_wrap=isinstance(line, (str, Text)))


def text(answer: Answer, width: int = 80, full: bool = False) -> str:
    """Return the screen as plain text, without colour."""
    return _plain(answer if full else _fitted(answer, width), width, full)


def _plain(answer: Answer, width: int, full: bool) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False)
    for line in _screen(answer, width, full):
        console.print(line, highlight=False, markup=False, soft_wrap=isinstance(line, (str, Text)))
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


def _fitted(answer: Answer, width: int) -> Answer:
    """Return the answer with so few rows of its longest table with a ``first`` that it is one screen."""
    lists = [table for table in answer.tables if table.first is not None and not table.detail]
    if not lists:
        return answer
    longest = max(lists, key=lambda table: min(table.first or 0, table.frame.height))
    fitted, rows = answer, min(longest.first or 0, longest.frame.height)
    while rows > _LEAST_ROWS and _plain(fitted, width, full=False).count("\n") > MOST_LINES:
        rows -= 1
        shorter = replace(longest, first=rows)
        fitted = replace(answer, tables=tuple(shorter if one is longest else one for one in answer.tables))
    return fitted


def _screen(answer: Answer, width: int, full: bool) -> Iterable[Text | str | Grid]:
    errors = block(answer) if answer.at(Level.ERROR) else []
    yield from heads(answer.runs, width, answer.base)
    yield from _headline(answer, width)
    yield from _block(errors, width)
    for found in answer.at(Level.WARNING):
        run = f"{found.facts['run']}: " if len(answer.runs) > 1 and "run" in found.facts else ""
        yield from _wrapped(f"warning: {run}{sentence(found)}", width, "yellow")
        yield from (Text(f"{_INDENT}{line}") for line in commands(found))
    yield from _block([] if errors else block(answer), width)
    for table in answer.tables:
        if table.frame.height and (full or not table.detail):
            yield ""
            yield from _table(table, width, full)
    below = [*notes(answer), *(answer.details if full else ())]
    if below:
        yield ""
    for found in below:
        yield from _wrapped(sentence(found), width, "dim")
        yield from (Text(f"{_INDENT}{line}") for line in commands(found))
    yield from next_line([found for found in answer.next if not full or not found.code.endswith(_FULL)], width)


def block(answer: Answer) -> list[Finding]:
    """Return what stands in a block with labels, such as "cause": errors, and notes with a label."""
    notes_too = [found for found in answer.at(Level.NOTE) if message(found.code).label]
    return [found for found in answer.findings if found.level is Level.ERROR or found in notes_too]


def notes(answer: Answer) -> list[Finding]:
    """Return the notes that stand below the tables."""
    return [found for found in answer.at(Level.NOTE) if not message(found.code).label]


def heads(runs: Sequence[RunHead], width: int, base: int = 0) -> Iterable[Text]:
    """Yield the first line: which node, when, how many cases. Of several runs of one node, how many runs.

    Of ``base`` runs and others that are compared with them: "old.jsonl -> new.jsonl", "2 runs -> 3 runs".
    """
    if not runs:
        return
    left = node_name(runs[0])
    right = _MODEL if runs[0].modelled and len(runs) == 1 else "   ".join(about(runs, base))
    gap = "   " if base or not runs[0].modelled else " " * max(width - len(left) - len(right), 3)
    line = f"{left}{gap}{right}"
    if len(line) <= width:
        yield Text(line, "bold")
    else:
        yield Text(left, "bold")
        yield from [Text(right)] if base else []


def about(runs: Sequence[RunHead], base: int = 0) -> tuple[str, ...]:
    """Return which runs these are: date and cases of one, their number, or those compared with each other."""
    if base:
        return (f"{_side(runs[:base])} -> {_side(runs[base:])}",)
    if len(runs) > 1:
        return (numbers.count(len(runs), "run"),)
    return (cases(runs[0]),) if runs[0].modelled else (date(runs[0].started), cases(runs[0]))


def _side(runs: Sequence[RunHead]) -> str:
    return runs[0].path.name if len(runs) == 1 else numbers.count(len(runs), "run")


def node_name(run: RunHead) -> str:
    """Return the devices and where they are: "4 x NVIDIA H200 (h200x4)", "AMD EPYC, 2 CPUs, no GPU (vm)"."""
    gpus = ", ".join(f"{count} x {name}" if count else f"{name}s" for count, name in run.gpus)
    if run.modelled:
        return run.node if not gpus or gpus in run.node else f"{run.node}, {gpus}"
    where = f" ({run.host})" if run.host else ""
    if gpus:
        return f"{gpus}{where}"
    cpus = numbers.count(run.cpus, "CPU") if run.cpus else ""
    return ", ".join(filter(None, (run.cpu_name, cpus, "no GPU"))) + where


def cases(run: RunHead) -> str:
    """Return "266 cases, data verified", or whose results these are. No data of a failed case is verified."""
    if run.origin:
        return f"{numbers.count(run.ok, 'result')} of {run.origin}" if run.ok else run.origin
    if not run.ok:
        return "no results"
    counted = numbers.count(run.ok + run.failed, "case")
    if run.failed:
        return f"{run.ok} of {counted} {'modelled' if run.modelled else 'verified'}"
    return f"{counted}, {'modelled' if run.modelled else 'data verified'}"


def date(started: str) -> str:
    """Return "20 Nov 2026 10:04 UTC" of an RFC 3339 time; the text itself where it is none."""
    try:
        return f"{datetime.fromisoformat(started.replace('Z', '+00:00')):%-d %b %Y %H:%M} UTC"
    except ValueError:
        return started


def _headline(answer: Answer, width: int) -> Iterable[Text]:
    word = verdict(answer.headline)
    lines = _fold(f"{word}  {sentence(answer.headline)}" if word else sentence(answer.headline), width)
    for number, line in enumerate(lines):
        shown = Text(line)
        if number == 0 and word:
            shown.stylize(_STYLES.get(message(answer.headline.code).verdict, "bold"), 0, len(word))
        yield shown
    yield from (Text(f"{_INDENT}{line}") for line in commands(answer.headline))


def _block(findings: Sequence[Finding], width: int) -> Iterable[Text | str]:
    """Yield errors, or notes that have labels, with these in one column: cause, evidence, check."""
    labels = [message(found.code).label for found in findings]
    room = max(map(len, labels), default=0)
    if room:
        yield ""
    last = ""
    for found, label in zip(findings, labels, strict=True):
        shown = label if label != last else ""
        head = f"{_INDENT}{shown:<{room}}{_INDENT}" if room else ""
        body = [line for line in [sentence(found), *commands(found)] if line]
        for index, line in enumerate(body):
            lead = head if index == 0 else " " * len(head) if room else _INDENT
            yield from (Text(part) for part in _fold(f"{lead}{line}", width, " " * len(head)))
        last = label


def _table(table: Table, width: int, full: bool) -> Iterable[Text | str | Grid]:
    words = message(table.key)
    title, note = (fill(words_of, table.facts) if words_of else "" for words_of in (words.title, words.note))
    if title:
        yield from _wrapped(title, width, "bold")
    if table.layout == "list":
        yield from _list(table, width, full)
    elif table.layout == "line":
        yield from _lines(table, width)
    else:
        yield from _matrix(table, width, full)
    hidden = cells.hidden_rows(table, full)
    if hidden:
        yield Text(f"{_INDENT}{hidden} more with --full", "dim")
    if note:
        yield from _wrapped(note, width, "dim")


def _grid() -> Grid:
    return Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="dim", show_edge=False)


def _matrix(table: Table, width: int, full: bool) -> Iterable[Grid]:
    """Yield the cells of a matrix, or of curves with a column for each, in as many grids as their width asks for."""
    names, rows = cells.matrix(table, full)
    corner = cells.heading(table.columns[1]) if table.layout == "curve" else ""
    heads = [name.replace(", ", "\n") for name in names]
    label = max(map(len, (corner, *(name for name, _ in rows))), default=0)
    widths = [
        max(map(len, (*head.split("\n"), *(found[index] for _, found in rows)))) for index, head in enumerate(heads)
    ]
    for chosen in _chunks(widths, width - label):
        grid = _grid()
        grid.add_column(corner)
        for index in chosen:
            grid.add_column(heads[index], justify="right", no_wrap=True)
        for name, found in rows:
            grid.add_row(name, *(found[index] for index in chosen))
        yield grid


def _chunks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Return the indices of columns in groups whose widths and gaps fit into ``room``, at least one a group."""
    groups: list[list[int]] = [[]]
    used = 0
    for index, width in enumerate(widths):
        if groups[-1] and used + width + _GAP > room:
            groups.append([])
            used = 0
        groups[-1].append(index)
        used += width + _GAP
    return groups


def _lines(table: Table, width: int) -> Iterable[Text]:
    """Yield a line for each group: its name, then "name value" of its rows, wrapped below one another."""
    groups = cells.line_groups(table)
    room = max(map(len, groups), default=0) + _GAP
    for name, found in groups.items():
        yield from map(Text, _fold(f"{name:<{room}}{found}", width, " " * room))


def _list(table: Table, width: int, full: bool) -> Iterable[Text | Grid]:
    """Yield a row for each line of the frame; a group's name has a line of its own, however wide its columns are."""
    columns = [one for one in table.columns if one.name != table.group and (full or not one.detail)]
    heads = [part for one in columns for part in (cells.heading(one), *_interval_head(one, full))]
    sides: list[JustifyMethod] = []
    for one in columns:
        sides.append("left" if cells.is_text(one) else "right")
        sides += ["right" for _ in _interval_head(one, full)]
    groups: dict[str, list[list[str]]] = {}
    above: dict[str, str] = {}
    for line in cells.shown_rows(table, full):
        group = str(line[table.group]) if table.group else ""
        texts = [part for column in columns for part in _parts(line, column, full, above)]
        groups.setdefault(group, []).append([f"{_INDENT if group else ''}{texts[0]}", *texts[1:]])
    widths = _widths([heads, *(row for rows in groups.values() for row in rows)], width)
    yield _rows([heads], widths, sides, "dim")
    for group, rows in groups.items():
        yield from _wrapped(group, width) if group else ()
        yield _rows(rows, widths, sides)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return how wide columns are: as their texts, the widest made narrower until all fit."""
    found = [max(len(part) for text in texts for part in text.split("\n")) for texts in zip(*rows, strict=True)]
    while sum(found) + _GAP * (len(found) - 1) > width and max(found) > 1:
        found[found.index(max(found))] -= 1
    return found


def _rows(
    rows: Sequence[Sequence[str]], widths: Sequence[int], sides: Sequence[JustifyMethod], style: str = ""
) -> Grid:
    grid = _grid()
    grid.show_header = False
    for wide, side in zip(widths, sides, strict=True):
        grid.add_column(justify=side, width=wide, overflow="fold", vertical="bottom" if style else "top")
    for row in rows:
        grid.add_row(*row, style=style)
    return grid


def _interval_head(column: Column, full: bool) -> tuple[str, ...]:
    return ("95% interval",) if full and column.interval else ()


def _parts(line: dict[str, object], column: Column, full: bool, above: dict[str, str]) -> list[str]:
    """Return the cell of a column, and its interval where that is shown; ``above``: what columns said last."""
    text = cells.cell(line, column)
    shown = "" if column.once and above.get(column.name) == text else text
    above[column.name] = text
    return [shown, *([cells.interval(line, column)] if full and column.interval else [])]


def next_line(findings: Sequence[Finding], width: int) -> Iterable[Text]:
    """Yield what to type next: "Next: explain RUN (reference speeds)   choose RUN"."""
    steps = [f"{command}{f' ({why})' if why else ''}" for found in findings for command, why in _steps(found)]
    line = f"Next: {'   '.join(steps)}"
    if steps and len(line) <= width:
        yield Text(line, "dim")
    elif steps:
        yield from (Text(f"{'Next: ' if not number else '      '}{step}", "dim") for number, step in enumerate(steps))


def _steps(found: Finding) -> list[tuple[str, str]]:
    return [(command, sentence(found)) for command in commands(found)]


def _wrapped(line: str, width: int, style: str = "") -> Iterable[Text]:
    yield from (Text(part, style) for part in _fold(line, width))


def _fold(line: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
