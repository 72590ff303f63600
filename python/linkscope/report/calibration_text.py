"""A calibration on a terminal: a line per class of figures, and what its columns mean."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from linkscope.report import wording
from linkscope.report.grid import empty_grid
from linkscope.results.calibration import Calibration, Noise
from linkscope.results.figure_class import FigureClass

CLASSES = {
    FigureClass.GPU_LARGE.key: "GPU to GPU, 64 MiB and more, driven by the source; chase of a GPU's memory",
    FigureClass.GPU.key: "GPU to GPU by size, driven by the destination, local, ping-pong, calls",
    FigureClass.PINNED.key: "pinned host memory and GPU",
    FigureClass.PAGEABLE.key: "pageable host memory and GPU",
    FigureClass.CPU.key: "CPUs on host memory",
    FigureClass.PROCESSES.key: "collectives, several processes",
}
COLUMNS = ("cases", "covered", "disjoint", "> 1 %", "interval", "samples", "replicates", "runs")
LEGEND = (
    "covered: runs of a case whose 95 % interval holds the median of what the other runs found",
    "disjoint: pairs of runs of a case whose intervals are; > 1 %: and whose medians differ by more",
    "interval: its larger side, median; samples, replicates, runs: standard deviation that each adds, median",
)
ONE_REPLICATE = "–: one replicate of each case in a run, whose variation the column runs holds"


def show(found: Calibration, console: Console) -> None:
    """Prints the table and its legend."""
    title = Text(f"{', '.join(found.suites)}: {found.turns} runs on {found.node} ({found.host})", style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    grid = empty_grid("class")
    for name in COLUMNS:
        grid.add_column(Text(name), justify="right", no_wrap=True)
    for noise in found.classes:
        grid.add_row(Text(noise.name), *(Text(text) for text in _cells(noise)))
    console.print(grid)
    classes = [f"{noise.name}: {CLASSES[noise.name]}" for noise in found.classes if noise.name in CLASSES]
    dashed = [ONE_REPLICATE] if any(noise.replicates is None for noise in found.classes) else []
    for line in (*classes, *LEGEND, *dashed):
        console.print(Text(line, style="dim"))


def _cells(noise: Noise) -> tuple[str, ...]:
    shares = (wording.percent(share) for share in (noise.covered, noise.disjoint, noise.apart))
    deviations = (_deviation(one) for one in (noise.samples, noise.replicates, noise.runs))
    return (str(noise.cases), *shares, f"±{_deviation(noise.margin)}", *deviations)


def _deviation(relative: float | None) -> str:
    """Such as "0.12 %"; two decimals below 1 %."""
    if relative is None:
        return "–"
    return f"{relative * 100:.2f} %" if relative < 0.00995 else f"{relative * 100:.1f} %"
