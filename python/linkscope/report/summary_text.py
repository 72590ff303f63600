"""The summary of a run on a terminal: counts, reasons, precision, and every table in one line."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from linkscope.analysis.cell import MODELS_CLOCK, Cell
from linkscope.analysis.headline import BUS, RATE_UNIT
from linkscope.analysis.rivals import IN_KERNEL, set_apart
from linkscope.analysis.summary import Grouped, Summary, TableSummary
from linkscope.report import wording
from linkscope.report.grid import GAP, empty_grid

EACH = "a process each"
"""Of a way to move bytes what a short line leaves out."""
BUSBW = "busbw"
LEAST_ROOM = 16
"""Of a table's title, however narrow the terminal is."""
MOST_LINES_BELOW = 2
"""Of a table's title on one screen."""
HEADS = ("slowest", "fastest", "unit", "of peak")


def print_summary(summary: Summary, console: Console) -> None:
    """Everything but the tables themselves."""
    console.print()
    title = Text("Summary", style="bold")
    if mark := wording.mark(summary):
        title.append(f"  {mark}", style="bold yellow")
    console.print(title)
    skipped = sum(group.count for group in summary.skipped)
    failed = sum(group.count for group in summary.failed)
    console.print(f"{wording.count(summary.rows, 'case')}: {summary.ok} ok, {skipped} skipped, {failed} failed")
    for groups, word, style in ((summary.failed, "failed", "red"), (summary.skipped, "skipped", "dim")):
        for group in groups:
            console.print(Text(f"  {group_line(group, word)}", style=style))
    if summary.figures and not summary.modelled:
        _print_precision(summary, console)
    for group in summary.noted:
        console.print(Text(group_line(group, "noted"), style="dim"))
    if summary.tables:
        console.print(table_lines(summary.tables, console.width))


def best_at(line: TableSummary) -> str:
    """Of curves where the best figure is, what it reaches at its largest size where that is less, and what other kinds
    of calls reach beyond it: "at 1 MiB by mpi, send; the same at 1 GiB: 9.1; window 23.7"; empty for other tables."""
    if not line.heading.x_name:
        return ""
    at = wording.x_value(line.best.x, line.heading.x_name)
    at = at if line.heading.x_name == "bytes" else f"{wording.x_title(line.heading.x_name)} {at}"
    clock = line.best.regime.partition(",")[0]
    place, *way = _words(line.best, clock)
    said = wording.with_kind(", ".join(way) or place, line.best)
    where = [place if way else said, "" if line.heading.unit == RATE_UNIT or clock == MODELS_CLOCK else clock]
    told = ", ".join(filter(None, where))
    by = f" by {said}" if way else ""
    by += f" ({told})" if told else ""
    apart = [
        f"{_kind(one)} {wording.value(one.headline.value.median)} {line.heading.unit}{_by_another(one, way)}"
        for one in line.apart
        if one.headline
    ]
    if line.last is not None and line.last.headline is not None:
        by += f"; the same at {wording.size(line.last.bytes)}: {wording.value(line.last.headline.value.median)}"
    return f"at {at}{'; '.join([by, *apart])}"


def _kind(entry: Cell) -> str:
    """The word of its regime that sets it apart."""
    word = set_apart(entry.regime)
    return f"{word} (without a launch)" if word == IN_KERNEL else word


def _words(entry: Cell, clock: str) -> list[str]:
    """Of a curve's name the place, and after it the words of its way."""
    return [part for part in entry.series.split(", ") if part not in (clock, EACH)] or [""]


def _by_another(entry: Cell, way: Sequence[str]) -> str:
    """ " by mpi": the method of a figure, if it is not that of ``way``."""
    _, *own = _words(entry, entry.regime.partition(",")[0])
    return f" by {own[0]}" if own and own[:1] != list(way[:1]) else ""


def table_lines(lines: Sequence[TableSummary], width: int, below: Sequence[str] = ()) -> Grid:
    """A line for each table. Of curves only the best figure is told: their lowest is at the smallest size or with the
    fewest threads, and says nothing of the path. What sets that figure apart is told with it. A title too long for
    ``width`` characters loses its middle. ``below``: for each line what stands below its title, may be empty."""
    cells = [(*_ends(line), _unit(line), _shares(line)) for line in lines]
    columns = {head: column for head, column in zip(HEADS, zip(*cells, strict=True), strict=True) if any(column)}
    first, *others = columns
    grid = empty_grid(first)
    grid.columns[0].justify = "right"
    for name in others:
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("table", no_wrap=True)
    used = sum(max(len(head), *map(len, column)) for head, column in columns.items())
    room = width - used - GAP * len(columns)
    more = below or [""] * len(lines)
    whole = [
        wording.with_kind(line.heading.title, line.best) if line.heading.x_name and not under else line.heading.title
        for line, under in zip(lines, more, strict=True)
    ]
    titles = wording.shortened_apart(whole, room)
    for figures, title, under in zip(zip(*columns.values(), strict=True), titles, more, strict=True):
        grid.add_row(*figures, Text("\n".join([title, *_below(under, room)])))
    return grid


def _below(text: str, room: int) -> list[str]:
    """What stands below a title, in lines; of a text longer than they hold the last loses its middle."""
    lines = wrap(text, max(room, LEAST_ROOM), initial_indent="  ", subsequent_indent="    ")
    if len(lines) <= MOST_LINES_BELOW:
        return lines
    kept = lines[: MOST_LINES_BELOW - 1]
    rest = text.strip()[sum(len(line.strip()) + 1 for line in kept) :]
    return [*kept, wording.shortened(f"    {rest}", room)]


def _ends(line: TableSummary) -> tuple[str, str]:
    """Slowest and fastest figure; one of them where the other says nothing."""
    worst, best = line.worst.headline, line.best.headline
    fastest = "" if best is None else wording.value(best.value.median)
    alone = line.ok == 1 or bool(line.heading.x_name) or worst is None
    return "" if alone or worst is None else wording.value(worst.value.median), fastest


def _unit(line: TableSummary) -> str:
    """Of bus bandwidth with nccl-tests' name for it; with the mark of figures that are mostly an assumed latency."""
    name = [BUSBW] if line.heading.figure == BUS else []
    return " ".join([line.heading.unit, *name, *([wording.ASSUMED] if line.best.assumed else [])])


def _shares(line: TableSummary) -> str:
    if line.heading.x_name:
        return wording.share(line.best)
    shares = [wording.share_of_peak(one) for one in (line.lowest_share, line.highest_share) if one is not None]
    return "–".join(dict.fromkeys(shares))


def group_line(group: Grouped, word: str) -> str:
    """How many cases, why, and whose tables they are of: "12 skipped: no MPI library  (Messages by size)"."""
    return f"{group.count} {word}: {wording.explained(group.reason)}  ({wording.few(group.tables)})"


def _print_precision(summary: Summary, console: Console) -> None:
    asked = wording.asked(summary.precision)
    if summary.imported:
        console.print("figures are as the tool prints them: one without repeats has no interval")
        return
    if not summary.imprecise:
        console.print(f"every interval within {asked}")
        return
    widest = max(summary.imprecise, key=lambda c: c.headline.margin if c.headline else 0.0)
    text = f"{len(summary.imprecise)} of {summary.figures} figures with intervals wider than {asked}, "
    text += f"the one in the middle {wording.half_width(summary.margin)}; widest: "
    if widest.headline is not None:
        figure = f"{wording.value(widest.headline.value.median)} {widest.headline.unit}"
        text += f"{figure} ({wording.interval(widest)}), {widest.id}"
    console.print(Text(text, style="yellow"))
