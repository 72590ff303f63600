"""A run on a terminal: header, summary, matrices, curves and lists, and what was skipped or failed and why."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from linkscope.analysis.cell import Heading
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.explain import Diagnosis, explain
from linkscope.analysis.layers import Layer
from linkscope.analysis.lists import Listing
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.narrowed import Placed
from linkscope.analysis.overview import Overview, overview
from linkscope.analysis.summary import Table, table_summary
from linkscope.machine.node import ASSUMED, Node
from linkscope.report import explain_text, wording, workload_text
from linkscope.report.cell_grid import Notes, parts_of, print_cells
from linkscope.report.grid import GAP, empty_grid, words
from linkscope.report.odd_text import odd_and_where
from linkscope.report.provenance import precision, provenance, remarks
from linkscope.report.summary_text import print_summary
from linkscope.results.run_file import RunFile

LEGEND = "cell: median, its 95 % interval, percent of the path's peak"
LEGEND_OF_POINTS = "cell: the figure, percent of the path's peak"
SPREAD = ("min", "max", "n")
UNBOUNDED = 10_000
"""A width that no table reaches."""


def show(run: RunFile, console: Console) -> None:
    """Prints the whole run on ``console``; tables split where they would exceed its width."""
    found = overview(run.rows, run.node, precision(run.header))
    _print_header(run, found, console)
    _print_conclusion(found, explain(run), console)
    for one in found.workloads:
        console.print()
        workload_text.print_workload(one, console)
    for table in found.other_tables:
        print_table(table, console)
    for layer in found.layers:
        _print_layer(layer, console)
    print_summary(found.summary, console)
    _print_departures(run.node, console)


def show_tables(run: RunFile, tables: Sequence[Table], console: Console) -> None:
    """Prints only ``tables`` of the run, below a line that says where they are from."""
    console.print(Text(wording.titled(run), style="bold"))
    for table in tables:
        print_table(table, console)


def show_by_share(run: RunFile, placed: Sequence[Placed], console: Console) -> None:
    """A line for each figure, in the order of ``placed``; a title too long loses its middle."""
    modelled = any(one.cell.modelled for one in placed)
    console.print(Text(wording.titled(run), style="bold").append(f"  {wording.MODELLED}" if modelled else ""))
    cells = [
        (
            wording.share(one.cell),
            wording.value(one.cell.headline.value.median) if one.cell.headline else "",
            wording.place(one.cell, one.heading),
            one.heading.title,
        )
        for one in placed
    ]
    heads = ("of peak", "GB/s", "where", "table")
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    rest = console.width - sum(widths[:2]) - len(heads) * GAP
    grid = empty_grid(heads[0])
    grid.columns[0].justify = "right"
    grid.add_column(heads[1], justify="right", no_wrap=True)
    grid.add_column(heads[2], no_wrap=True)
    grid.add_column(heads[3], no_wrap=True)
    where_room = min(widths[2], max(rest // 2, rest - widths[3]))
    for share, figure, where, title in cells:
        texts = (wording.shortened(where, where_room), wording.shortened(title, rest - where_room))
        grid.add_row(share, Text(figure, style="bold"), *map(Text, texts))
    console.print(grid)


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


def _print_conclusion(found: Overview, diagnosis: Diagnosis, console: Console) -> None:
    """Whether the run is as it should be, and what is odd."""
    console.print()
    if diagnosis.judged or diagnosis.wrong or not found.workloads:
        for said, style in explain_text.conclusion(diagnosis):
            console.print(Text(said, style=style))
    told = odd_and_where(found, diagnosis)
    if told:
        console.print(Text("Odd", style="bold"))
    for text in told:
        console.print(words(text.plain, str(text.style)))


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
        print_cells(Notes(), table.row_ids, table.column_ids, table.cells, "", console)
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


def _print_curves(table: CurveSet, console: Console) -> None:
    """Those with a figure as columns; a line each for the others, and for which is best at which size."""
    lost = [name for names in wording.unshown(table).values() for name in names]
    left_out = set(lost) if len(lost) < len(table.curves) else set()
    _print_columns(table, left_out, console)
    for text in wording.unshown_lines(table) if left_out else ():
        console.print(Text(text, style="red" if text.startswith("failed") else "dim"))
    for text in wording.leads(table):
        console.print(Text(text, style="cyan"))
    for text in wording.no_rivals(table):
        console.print(Text(text, style="dim"))


def _print_columns(table: CurveSet, left_out: set[str], console: Console) -> None:
    at = {(point.x, curve.series): point for curve in table.curves for point in curve.points}
    if table.place:
        console.print(Text(table.place, style="dim"))
    xs = sorted({point.x for point in table.flat}, key=lambda x: float("-inf") if x is None else x)
    labels = [wording.x_value(x, table.heading.x_name) for x in xs]
    shown = [(name, curve) for name, curve in zip(table.names, table.curves, strict=True) if name not in left_out]
    columns = [name.replace(", ", "\n") or table.heading.unit for name, _ in shown]
    cells = [[at.get((x, curve.series)) for _, curve in shown] for x in xs]
    print_cells(Notes(), labels, columns, cells, wording.x_title(table.heading.x_name), console)


def _print_layer(layer: Layer, console: Console) -> None:
    console.print()
    title = Text(wording.layer_title(layer), style="bold")
    if layer.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    grid = empty_grid("bytes")
    for name in (layer.method, layer.raw, "added (lowest to highest)", "ratio"):
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for point in layer.points:
        times = (wording.time(point.layer_s), wording.time(point.raw_s))
        style = "bold" if point.clear else "dim"
        added = Text(wording.added(point), style=style)
        grid.add_row(Text(wording.size(point.bytes)), *times, added, f"{point.ratio:.2f}")
    console.print(grid)
    console.print(Text("lowest to highest: by the two 95 % intervals; ?: not told from nothing", style="dim"))


def _print_listing(table: Listing, console: Console) -> None:
    """A line per row; without its spread and count of samples where the console is too narrow for them."""
    notes = Notes()
    if table.common:
        console.print(Text(", ".join(table.common), style="dim"))
    grid = _listing_grid(table, SPREAD, notes)
    if Measurement.get(console, console.options.update_width(UNBOUNDED), grid).minimum > console.width:
        grid = _listing_grid(table, (), notes)
    console.print(grid)
    notes.print(console)


def _listing_grid(table: Listing, spread: Sequence[str], notes: Notes) -> Grid:
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
    intervals = ["interval"] if not exact else [""] if any(entry.assumed for entry in table.cells) else []
    spread = () if exact else spread
    for name in (table.heading.unit, *intervals, *peaks, *spread):
        grid.add_column(Text(name), justify="right", no_wrap=True)
    parted = any(entry.slowest is not None for entry in table.cells)
    if parted:
        grid.add_column("slowest member")
    for entry in table.cells:
        values = dict(entry.variant)
        labels = [Text(text) for text in (Listing.place(entry), *(values.get(axis, "") for axis in table.axes))]
        figure, interval, share = parts_of(entry, notes)
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
