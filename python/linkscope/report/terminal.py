"""A run on a terminal: header, summary, matrices, curves and lists, and what was skipped or failed and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from linkscope.analysis.cell import Cell, Heading
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.layers import Layer
from linkscope.analysis.lists import Listing
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.overview import Overview, overview
from linkscope.analysis.summary import Grouped, Summary, table_summary
from linkscope.machine.node import ASSUMED, Node
from linkscope.report import wording, workload_text
from linkscope.report.grid import chunks_of, empty_grid
from linkscope.report.provenance import precision, provenance, remarks
from linkscope.results.run_file import RunFile

LEGEND = "cell: median, its 95 % interval, percent of the path's peak"
LEGEND_OF_POINTS = "cell: the figure, percent of the path's peak"
HEAD_LINES = 2
SPREAD = ("min", "max", "n")
UNBOUNDED = 10_000
"""A width that no table reaches."""
Parts = tuple[str, str | None, str]
"""Figure, interval, percent of peak, as they stand in a cell; instead of an interval None: the first says why there is
no figure."""


def show(run: RunFile, console: Console) -> None:
    """Prints the whole run on ``console``; tables split where they would exceed its width."""
    found = overview(run.rows, run.node, precision(run.header))
    _print_header(run, found, console)
    for one in found.workloads:
        console.print()
        workload_text.print_workload(one, console)
    for table in found.other_tables:
        print_table(table, console)
    for layer in found.layers:
        _print_layer(layer, console)
    _print_summary(found.summary, console)
    _print_departures(run.node, console)


def show_summary(run: RunFile, console: Console) -> None:
    """Prints the few lines after a run: where the figures come from, counts, reasons, each table in one line."""
    found = overview(run.rows, run.node, precision(run.header))
    _print_header(run, found, console)
    for one in found.workloads:
        console.print()
        console.print(workload_text.title(one))
        console.print(Text(workload_text.verdict(one)))
    _print_summary(found.summary, console)


def _print_header(run: RunFile, found: Overview, console: Console) -> None:
    if mark := wording.mark(found.summary):
        console.print(Text(f" {mark} ", style="bold black on yellow"))
    facts = Grid.grid(padding=(0, 2))
    for name, text in provenance(run.header, run.node, run.states, run.rows):
        facts.add_row(Text(name, style="dim"), Text(text))
    console.print(facts)
    for text in remarks(run):
        console.print(Text(text, style="yellow"))
    console.print(Text(LEGEND_OF_POINTS if wording.mark(found.summary) else LEGEND, style="dim"))


def print_table(table: Matrix | CurveSet | Listing, console: Console) -> None:
    console.print()
    if wording.all_skipped(table.flat):
        console.print(Text(table.heading.title, style="bold"))
        console.print(Text(wording.all_skipped(table.flat), style="dim"))
        return
    _print_heading(table.heading, console)
    if isinstance(table, Matrix):
        if table.orientation:
            arrow = f"row {table.arrow} column; " if table.arrow else ""
            console.print(Text(f"{arrow}{table.orientation}", style="dim"))
        _print_grid(_Notes(), table.row_ids, table.column_ids, table.cells, "", console)
    elif isinstance(table, CurveSet):
        _print_curves(table, console)
    else:
        _print_listing(table, console)
    line = table_summary(table)
    if line is not None and not isinstance(table, CurveSet) and line.ok > 1:
        text = f"min {wording.value(line.min)}  mean {wording.value(line.mean)}  max {wording.value(line.max)}"
        console.print(Text(f"{text}  spread {wording.percent(line.spread)}  ({line.ok} figures)", style="dim"))
    if line is not None and not isinstance(table, CurveSet) and wording.doubled(line):
        console.print(Text(wording.doubled(line), style="dim"))
    if line is not None and wording.together(line):
        console.print(Text(wording.together(line), style="yellow"))
    for text in wording.marks(table.flat):
        console.print(Text(text, style="yellow"))


def _print_heading(heading: Heading, console: Console) -> None:
    text = Text(heading.title, style="bold")
    if mark := wording.mark(heading):
        text.append(f"  {mark}", style="bold yellow")
    console.print(text)
    console.print(Text(" · ".join(wording.facts(heading)), style="dim"))


class _Notes:
    """Letters for reasons, so that a cell stays narrow: the first reason is a, the next b."""

    def __init__(self) -> None:
        self._letters: dict[tuple[str, str], str] = {}

    def letter(self, entry: Cell) -> str:
        key = (entry.status, entry.reason or "no reason recorded")
        if key not in self._letters:
            number = len(self._letters)
            self._letters[key] = chr(ord("a") + number % 26) + (str(number // 26) if number >= 26 else "")
        return self._letters[key]

    def print(self, console: Console) -> None:
        for (status, reason), letter in self._letters.items():
            style = "red" if status == "failed" else "dim"
            word = "n/a" if status == "ok" else status
            console.print(Text(f"{letter}: {word}: {reason}", style=style))


def _parts(entry: Cell | None, notes: _Notes) -> Parts:
    if entry is None:
        return "", None, ""
    if entry.headline is None:
        word = "FAILED" if entry.status == "failed" else "skipped" if entry.status == "skipped" else "n/a"
        return f"{word} {notes.letter(entry)}", None, ""
    return wording.value(entry.headline.value.median), wording.interval(entry), wording.share(entry)


def _column_texts(parts: Sequence[Parts], joint: str) -> list[Text]:
    """The cells of one column, their parts aligned; ``joint`` stands between the figure and the rest."""
    figures = [part for part in parts if part[1] is not None]
    widths = [max((len(part[k] or "") for part in figures), default=0) for k in range(3)]
    return [_cell_text(part, widths, joint) for part in parts]


def _cell_text(parts: Parts, widths: Sequence[int], joint: str) -> Text:
    figure, interval, share = parts
    if interval is None:
        return Text(figure, style="red" if figure.startswith("FAILED") else "dim")
    text = Text().append(figure.rjust(widths[0]), style="bold")
    if widths[1]:
        text.append(joint).append(interval.rjust(widths[1]), style="dim")
    if widths[2]:
        text.append(" " if widths[1] else joint).append(share.rjust(widths[2]), style="cyan")
    return text


def _print_grid(
    notes: _Notes,
    row_ids: Sequence[str],
    column_ids: Sequence[str],
    cells: Sequence[Sequence[Cell | None]],
    corner: str,
    console: Console,
) -> None:
    """A table of cells, in parts where it is too wide; a cell takes one line or two, whichever makes it shorter."""
    label_width = max(len(label) for label in (*row_ids, corner))
    columns = [[_parts(line[j], notes) for line in cells] for j in range(len(column_ids))]
    ways = []
    for lines, joint in enumerate((" ", "\n"), start=1):
        texts = [_column_texts(column, joint) for column in columns]
        widths = [_width(label, column) for label, column in zip(column_ids, texts, strict=True)]
        chunks = chunks_of(widths, console.width - label_width)
        ways.append((len(chunks) * (lines * len(row_ids) + HEAD_LINES), lines, texts, widths, chunks))
    *_, texts, widths, chunks = min(ways, key=lambda way: way[:2])
    for chunk in chunks:
        grid = empty_grid(corner, label_width)
        for j in chunk:
            grid.add_column(Text(column_ids[j]), justify="right", no_wrap=True, min_width=widths[j])
        for i, label in enumerate(row_ids):
            grid.add_row(Text(label), *(texts[j][i] for j in chunk))
        console.print(grid)
    notes.print(console)


def _width(label: str, texts: Sequence[Text]) -> int:
    return max(len(line) for text in (label, *(text.plain for text in texts)) for line in text.split("\n"))


def _print_curves(table: CurveSet, console: Console) -> None:
    """Those with a figure as columns; a line each for the others, and for which is best at which size."""
    lost = [name for names in wording.unshown(table).values() for name in names]
    left_out = set(lost) if len(lost) < len(table.curves) else set()
    _print_columns(table, left_out, console)
    for text in wording.unshown_lines(table) if left_out else ():
        console.print(Text(text, style="red" if text.startswith("failed") else "dim"))
    for text in wording.leads(table):
        console.print(Text(text, style="cyan"))


def _print_columns(table: CurveSet, left_out: set[str], console: Console) -> None:
    at = {(point.x, curve.series): point for curve in table.curves for point in curve.points}
    if table.place:
        console.print(Text(table.place, style="dim"))
    xs = sorted({point.x for point in table.flat}, key=lambda x: float("-inf") if x is None else x)
    labels = [wording.x_value(x, table.heading.x_name) for x in xs]
    shown = [(name, curve) for name, curve in zip(table.names, table.curves, strict=True) if name not in left_out]
    columns = [name.replace(", ", "\n") or table.heading.unit for name, _ in shown]
    cells = [[at.get((x, curve.series)) for _, curve in shown] for x in xs]
    _print_grid(_Notes(), labels, columns, cells, wording.x_title(table.heading.x_name), console)


def _print_layer(layer: Layer, console: Console) -> None:
    console.print()
    title = Text(wording.layer_title(layer), style="bold")
    if layer.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    grid = empty_grid("bytes")
    for name in (layer.method, layer.raw, "added (95 % intervals against each other)", "ratio"):
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for point in layer.points:
        times = (wording.time(point.layer_s), wording.time(point.raw_s))
        style = "bold" if point.clear else "dim"
        added = Text(wording.added(point), style=style)
        grid.add_row(Text(wording.size(point.bytes)), *times, added, f"{point.ratio:.2f}")
    console.print(grid)


def _print_listing(table: Listing, console: Console) -> None:
    """A line per row; without its spread and count of samples where the console is too narrow for them."""
    notes = _Notes()
    if table.common:
        console.print(Text(", ".join(table.common), style="dim"))
    grid = _listing_grid(table, SPREAD, notes)
    if Measurement.get(console, console.options.update_width(UNBOUNDED), grid).minimum > console.width:
        grid = _listing_grid(table, (), notes)
    console.print(grid)
    notes.print(console)


def _listing_grid(table: Listing, spread: Sequence[str], notes: _Notes) -> Grid:
    grid = empty_grid("")
    for axis in table.axes:
        words = [
            word
            for entry in table.cells
            for word in (dict(entry.variant).get(axis, ""), *axis.replace("_", " ").split())
        ]
        grid.add_column(Text(axis.replace("_", " ")), overflow="fold", min_width=max(map(len, words)))
    peaks = ["of peak"] if any(entry.share is not None for entry in table.cells) else []
    exact = all(entry.headline is None or entry.headline.exact for entry in table.cells)
    intervals = [] if exact else ["interval"]
    spread = () if exact else spread
    for name in (table.heading.unit, *intervals, *peaks, *spread):
        grid.add_column(Text(name), justify="right", no_wrap=True)
    parted = any(entry.slowest is not None for entry in table.cells)
    if parted:
        grid.add_column("slowest member")
    for entry in table.cells:
        values = dict(entry.variant)
        labels = [Text(text) for text in (Listing.place(entry), *(values.get(axis, "") for axis in table.axes))]
        figure, interval, share = _parts(entry, notes)
        style = "bold" if entry.headline else "red" if entry.status == "failed" else "dim"
        rest = [""] * len(spread)
        if entry.headline and spread:
            stats = entry.headline.value
            rest = [wording.value(stats.min), wording.value(stats.max), str(stats.n)]
        shares = [Text(share, style="cyan") for _ in peaks]
        last = [Text(wording.slowest(entry), style="dim")] if parted else []
        bounds = [Text(interval or "", style="dim") for _ in intervals]
        grid.add_row(*labels, Text(figure, style=style), *bounds, *shares, *rest, *last)
    return grid


def _print_summary(summary: Summary, console: Console) -> None:
    console.print()
    title = Text("Summary", style="bold")
    if mark := wording.mark(summary):
        title.append(f"  {mark}", style="bold yellow")
    console.print(title)
    skipped = sum(group.count for group in summary.skipped)
    failed = sum(group.count for group in summary.failed)
    console.print(f"{summary.rows} rows: {summary.ok} ok, {skipped} skipped, {failed} failed")
    for groups, word, style in ((summary.failed, "failed", "red"), (summary.skipped, "skipped", "dim")):
        for group in groups:
            console.print(Text(f"  {_group_line(group, word)}", style=style))
    if summary.figures and not summary.modelled:
        _print_precision(summary, console)
    for group in summary.noted:
        console.print(Text(_group_line(group, "noted"), style="dim"))
    grid = empty_grid("table")
    for name in ("worst", "best", "unit", "of peak"):
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column("where worst", overflow="fold")
    for line in summary.tables:
        shares = [wording.share_of_peak(s) for s in (line.lowest_share, line.highest_share) if s is not None]
        worst, best = line.worst.headline, line.best.headline
        grid.add_row(
            escape(line.heading.title),
            "" if worst is None else wording.value(worst.value.median),
            "" if best is None else wording.value(best.value.median),
            line.heading.unit,
            "–".join(dict.fromkeys(shares)),
            escape(wording.place(line.worst, line.heading)) if line.ok > 1 else "",
        )
    if grid.row_count:
        console.print(grid)


def _print_departures(node: Node, console: Console) -> None:
    """Where a described node's model differs from the real one, and how much of it is assumed."""
    if not node.modelled:
        return
    _, *rest = node.notes or ("",)
    assumed = sum(note.startswith(ASSUMED) for note in rest)
    departures = [note for note in rest if not note.startswith(ASSUMED)]
    console.print()
    console.print(Text("Where the model differs from the node", style="bold"))
    for note in departures:
        console.print(Text(f"- {note}"))
    if assumed:
        told = f"`linkscope topology --machine {node.name}` lists them"
        console.print(Text(f"Assumptions: {assumed}; {told}", style="dim"))


def _group_line(group: Grouped, word: str) -> str:
    return f"{group.count} {word}: {group.reason}  ({wording.few(group.tables)})"


def _print_precision(summary: Summary, console: Console) -> None:
    asked = wording.asked(summary.precision)
    if summary.imported:
        console.print("figures are as the tool prints them: one without repeats has no interval")
        return
    if not summary.imprecise:
        console.print(f"every interval within {asked}")
        return
    widest = max(summary.imprecise, key=lambda c: c.headline.margin if c.headline else 0.0)
    text = f"{len(summary.imprecise)} of {summary.figures} intervals wider than {asked}, the one in the middle "
    text += f"{wording.half_width(summary.margin)}; widest: "
    if widest.headline is not None:
        figure = f"{wording.value(widest.headline.value.median)} {widest.headline.unit}"
        text += f"{figure} ({wording.interval(widest)}), {widest.id}"
    console.print(Text(text, style="yellow"))
