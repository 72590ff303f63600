"""A calibration on a terminal: a line per class of figures, and what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.report import wording
from linkscope.report.grid import empty_grid
from linkscope.results.calibration import Calibration, Intervals, Noise
from linkscope.results.figure_class import FigureClass

CLASSES = {
    FigureClass.GPU_LARGE.key: "GPU to GPU, 64 MiB and more, driven by the source; chase of a GPU's memory",
    FigureClass.GPU.key: "GPU to GPU by size, driven by the destination, local, ping-pong, calls",
    FigureClass.PINNED.key: "pinned host memory and GPU",
    FigureClass.PAGEABLE.key: "pageable host memory and GPU",
    FigureClass.CPU.key: "CPUs on host memory",
    FigureClass.PROCESSES.key: "collectives, several processes",
}
LEVELS = ("cases", "samples", "replicates", "runs")
COLUMNS = ("covered", "disjoint", "> 1 %", "interval")
LEGEND = (
    "samples, replicates, runs: standard deviation that each adds, of the case in the middle",
    "covered: runs of a case whose 95 % interval holds the median of what the other runs found",
    "disjoint: pairs of runs of a case whose intervals are; > 1 %: and whose medians differ by more",
    "interval: its larger side, median",
)
ONE_REPLICATE = "–: one replicate of each case in a run, whose variation the column runs holds"
AS_RUN = "Intervals of these runs"
CALIBRATED = "The same, each run's widened by what the others show of the noise between runs"


def show(found: Calibration, console: Console) -> None:
    """Prints its tables and their legend."""
    title = Text(f"{', '.join(found.suites)}: {found.turns} runs on {found.node} ({found.host})", style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(_grid(LEVELS, {one.name: _levels(one) for one in found.classes}))
    console.print(Text(AS_RUN, style="bold"))
    console.print(_grid(COLUMNS, {one.name: _held(one.intervals) for one in found.classes}))
    if any(one.calibrated for one in found.classes):
        console.print(Text(CALIBRATED, style="bold"))
        console.print(_grid(COLUMNS, {one.name: _held(one.calibrated) for one in found.classes}))
    classes = [f"{noise.name}: {CLASSES[noise.name]}" for noise in found.classes if noise.name in CLASSES]
    dashed = [ONE_REPLICATE] if any(noise.replicates is None for noise in found.classes) else []
    for line in (*classes, *LEGEND, *dashed):
        console.print(Text(line, style="dim"))


def _grid(columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> Table:
    """A line for each class."""
    grid = empty_grid("class")
    for name in columns:
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for name, cells in rows.items():
        grid.add_row(Text(name), *map(Text, cells))
    return grid


def _levels(noise: Noise) -> tuple[str, ...]:
    return (str(noise.cases), *(_deviation(one) for one in (noise.samples, noise.replicates, noise.runs)))


def _held(found: Intervals | None) -> tuple[str, ...]:
    if found is None:
        return ("–",) * len(COLUMNS)
    shares = (wording.percent(share) for share in (found.covered, found.disjoint, found.apart))
    return (*shares, margin(found))


def margin(found: Intervals) -> str:
    """Such as "±0.12 %"."""
    return f"±{_deviation(found.margin)}"


def _deviation(relative: float | None) -> str:
    """Such as "0.12 %"; two decimals below 1 %."""
    if relative is None:
        return "–"
    return f"{relative * 100:.2f} %" if relative < 0.00995 else f"{relative * 100:.1f} %"
