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
    "covered: runs whose 95 % interval holds the median of what the other runs found",
    "disjoint: pairs of runs whose intervals do not overlap",
    "> 1 %: pairs whose intervals do not overlap and whose medians are more than 1 % apart",
    "interval: how far it reaches from the median, of the run and case in the middle",
)
LEAST_COVERED, MOST_DISJOINT = 0.9, 0.02
"""By which intervals hold from run to run; 95 % would be covered, and 0.6 % disjoint, of ever so many runs."""
ONE_REPLICATE = "–: one replicate of each case in a run, whose variation the column runs holds"
AS_RUN = "Intervals of these runs"
CALIBRATED = "On the node once calibrated: each run's widened by what the others show of the noise between runs"


def show(found: Calibration, console: Console) -> None:
    """Prints its tables and their legend."""
    title = Text(f"{', '.join(found.suites)}: {found.turns} runs on {found.node} ({found.host})", style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(Text(verdict(found), style="bold"))
    shown = found.classes[: max(len(found.classes) - 1, 1)] if len(found.classes) < 3 else found.classes
    console.print(_grid(LEVELS, {one.name: _levels(one) for one in shown}))
    _print_held(AS_RUN, {one.name: one.intervals for one in shown}, console)
    if any(one.calibrated for one in shown):
        _print_held(CALIBRATED, {one.name: one.calibrated for one in shown}, console)
    classes = [f"{noise.name}: {CLASSES[noise.name]}" for noise in shown if noise.name in CLASSES]
    dashed = [ONE_REPLICATE] if any(noise.replicates is None for noise in shown) else []
    for line in (*classes, *LEGEND, *dashed):
        console.print(Text(line, style="dim"))


def verdict(found: Calibration) -> str:
    """Whether what a run says holds for the next one, in one sentence."""
    held = {one.name: one.calibrated or one.intervals for one in found.classes}
    lost = [name for name, one in held.items() if one is not None and not _good(one)]
    covered = [one.covered for one in held.values() if one is not None]
    if not covered:
        return "Cannot tell whether intervals hold from run to run: no class has enough figures."
    once = " once the node is calibrated" if any(one.calibrated for one in found.classes) else ""
    but = f"; of {', '.join(lost)} too few do" if lost else ""
    return f"Of a run's 95 % intervals {covered[-1] * 100:.0f} % hold what the other runs found{once}{but}."


def _print_held(title: str, classes: Mapping[str, Intervals | None], console: Console) -> None:
    """A line for each class, and which of them hold."""
    console.print(Text(title, style="bold"))
    console.print(_grid(COLUMNS, {name: _held(one) for name, one in classes.items()}))
    known = {name: one for name, one in classes.items() if one is not None}
    lost = [name for name, one in known.items() if not _good(one)]
    good = f"{LEAST_COVERED * 100:g} % covered or more, {MOST_DISJOINT * 100:g} % disjoint or less"
    said = f"not so: {', '.join(lost)}" if lost else "so they are" if len(known) > 1 else "so it is"
    console.print(Text(f"good: {good}; {said}", style="yellow" if lost else "green"))


def _good(one: Intervals) -> bool:
    """As the table has them, rounded."""
    return round(one.covered, 2) >= LEAST_COVERED and round(one.disjoint, 3) <= MOST_DISJOINT


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
    return (*shares, wording.half_width(found.margin))


def _deviation(relative: float | None) -> str:
    """Such as "0.12 %"; two decimals below 1 %."""
    if relative is None:
        return "–"
    return f"{relative * 100:.2f} %" if relative < 0.00995 else f"{relative * 100:.1f} %"
