"""nvbandwidth and linkscope's suite of the same name, the whole of each in turns; prints the ratios of their medians.

usage: python bench/nvbandwidth.py --nvbandwidth PATH_OF_THE_BUILT_BINARY [--turns 5] [--keep FOLDER] [--unverified]
       [--cases host_to_device_memcpy_sm ...] [--limit SECONDS] [--total SECONDS]

A tool that takes longer than --limit is ended; what it had come to by then counts, and the exit code is 1. No turn
begins that would, by the longest so far, end after --total seconds.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import polars
from narrowed import Json, narrowed, rows_of
from program import add_limit, run
from ratios import RATIOS, Ratio, figures_of, print_by_case
from rich.console import Console
from turns import Figures, note_of, ratio_of, take_turns

from linkscope.errors import LinkscopeError
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.importers import nvbandwidth
from linkscope.importers.peer_output import SECONDS, PeerOutput, Source
from linkscope.results.run_file import RunFile

SUITE = Path(str(files("linkscope") / "suites" / "nvbandwidth.yaml"))


def peer_cells(output: PeerOutput) -> dict[tuple[str, int, int], float]:
    """(case, row, column) -> figure, GB/s or ns."""
    return {
        (one.test.removeprefix("nvbandwidth "), coordinate(one.row), coordinate(one.column)): one.value.median
        * (1e9 if one.unit == SECONDS else 1)
        for one in output.figures
    }


def coordinate(label: str) -> int:
    """The number of ``gpu:N``; 0 for a host or an empty label, which are one row of nvbandwidth's matrices."""
    return int(label.removeprefix("gpu:")) if label.startswith("gpu:") else 0


Cell = tuple[str, int, int]
"""nvbandwidth's name of a case, and the place in its matrix."""


@dataclass
class Sides:
    """Both tools on this machine: one turn of each gives its figures, by cell."""

    suite: str
    peer: list[str]
    keep: Path
    limit_s: float
    units: dict[Cell, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"linkscope": [], "nvbandwidth": []})
    well: bool = True
    gpus: int = 0

    def ours(self, turn: int) -> Figures[Cell]:
        """A run of the suite in ``turn``; its file stays in ``keep``."""
        path = self.keep / f"nvbandwidth-suite-{turn}.jsonl"
        path.unlink(missing_ok=True)
        command = [sys.executable, "-m", "linkscope", "run", self.suite, "-o", str(path)]
        self._take("linkscope", command, path.with_suffix(".txt"))
        try:
            measured = RunFile.read(path)
        except LinkscopeError as error:  # it did not come to a first row
            sys.exit(str(error))
        self.gpus = len(measured.node.of_kind("gpu"))
        return dict(self._figures(measured))

    def theirs(self, turn: int) -> Figures[Cell]:
        """A run of nvbandwidth in ``turn``; what it printed stays in ``keep``."""
        output = self.keep / f"nvbandwidth-{turn}.json"
        self._take("nvbandwidth", self.peer, output)
        return dict(read_peer(output))

    def _take(self, tool: str, command: list[str], output: Path) -> None:
        seconds, well = timed(command, output, self.limit_s)
        self.seconds[tool].append(seconds)
        self.well = self.well and well

    def _figures(self, run: RunFile) -> Iterator[tuple[Cell, float]]:
        read = Run(run)
        for line in read.results.filter(polars.col("value").is_not_null()).iter_rows(named=True):
            row = read.rows[line["id"]]
            case = row.labels.get("peer", {}).get("case")
            if case is None:
                continue
            cell = (case, *map(coordinate, line["place"].split("|", 1)))
            self.units[cell] = line["unit"] if line["unit"] == RATE else "ns"
            # nvbandwidth's latency is a mean over the multiprocessors, so the mean stands beside it.
            yield cell, line["value"] if line["unit"] == RATE else row.flows[0].seconds.mean * 1e9


def outside(ratio: Ratio) -> bool:
    """Bandwidth below 99.5 % of the peer's, or a latency more than 1 % off."""
    return ratio.value < 0.995 if ratio.unit == "GB/s" else abs(ratio.value - 1) > 0.01


def suite_of(cases: list[str], folder: Path) -> str:
    """The suite, or its rows of those cases as a suite in ``folder``."""
    if not cases:
        return "nvbandwidth"

    def keep(row: Json) -> Json | None:
        return row if row["peer"]["case"] in cases else None

    return str(narrowed(SUITE, folder / "bench-nvbandwidth.yaml", keep))


def timed(command: list[str], output: Path, limit_s: float) -> tuple[float, bool]:
    """Wall seconds of ``command``, and whether it ended well; else why is told. ``output`` takes what it prints."""
    output.unlink(missing_ok=True)
    begin = time.monotonic()
    ended = run(command, limit_s, output=output)
    seconds = time.monotonic() - begin
    if ended.problem:
        print(ended.problem)
    return seconds, ended.problem is None


def read_peer(output: Path) -> dict[tuple[str, int, int], float]:
    """``peer_cells`` of the file; none, and told, where it holds no whole JSON: nvbandwidth was ended."""
    try:
        return peer_cells(nvbandwidth.read(Source.read(output)))
    except LinkscopeError as error:
        print(f"no figures of nvbandwidth's: {error}")
        return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvbandwidth", required=True, help="the built binary")
    parser.add_argument("--turns", type=int, default=5, help="runs of each tool")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for both tools' output")
    parser.add_argument("--unverified", action="store_true", help="spare nvbandwidth its checks of the data it copied")
    parser.add_argument("--total", type=float, default=math.inf, help="seconds for all turns")
    cases = [row["peer"]["case"] for row in rows_of(SUITE)]
    parser.add_argument(
        "--cases", nargs="+", choices=cases, default=[], metavar="CASE", help="only these, by nvbandwidth's names"
    )
    add_limit(parser)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    console = Console(width=160)

    peer = [arguments.nvbandwidth, "-j", *(["--skipVerification"] if arguments.unverified else [])]
    if arguments.cases:
        peer += ["-t", *arguments.cases]
    sides = Sides(suite_of(arguments.cases, arguments.keep), peer, arguments.keep, arguments.limit)
    mine, peers = take_turns(arguments.turns, sides.ours, sides.theirs, time.monotonic() + arguments.total)
    both = [cell for cell in mine if cell in peers]
    ratios = [
        ratio_of(case, f"{row},{column}", sides.units[case, row, column], mine[cell], peers[cell])
        for cell in both
        for case, row, column in [cell]
    ]
    print_by_case(ratios, "nvbandwidth", console, figures_of("nvbandwidth") | RATIOS)
    bandwidths = [ratio for ratio in ratios if ratio.unit == "GB/s"]
    low = min(bandwidths, key=lambda ratio: ratio.value, default=None)
    if low is not None:
        console.print(f"lowest bandwidth ratio: {low.value:.4f} ({low.case}, {low.cell})")
    for ratio in ratios:
        if outside(ratio):
            figures = f"{ratio.ours:.2f} / {ratio.theirs:.2f} = {ratio.value:.4f}"
            console.print(f"outside the target: {ratio.case} {ratio.cell}: {figures}")
    turns = len(sides.seconds["linkscope"])
    console.print(f"{len(ratios)} figures compared; {note_of(turns)}")
    for tool, seconds in sides.seconds.items():
        console.print(f"wall time of a turn, median: {tool} {statistics.median(seconds):.1f} s")
    sys.exit(0 if sides.well and ratios and turns == arguments.turns else 1)


if __name__ == "__main__":
    main()
