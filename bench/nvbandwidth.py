"""Runs nvbandwidth and linkscope's suite of the same name one after the other and prints the ratios.

usage: python bench/nvbandwidth.py --nvbandwidth PATH_OF_THE_BUILT_BINARY [--keep FOLDER] [--reuse JSON]
       [--unverified] [--cases host_to_device_memcpy_sm ...] [--limit SECONDS]

A tool that takes longer than --limit is ended. What it had come to by then is compared; the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.resources import files
from pathlib import Path

from narrowed import Json, narrowed, rows_of
from program import add_limit, run
from ratios import RATIOS, Ratio, figures_of, print_by_case
from rich.console import Console

from linkscope.analysis.by_flow import by_flow
from linkscope.analysis.headline import headline
from linkscope.errors import LinkscopeError
from linkscope.results.run_file import RunFile

SUITE = Path(str(files("linkscope") / "suites" / "nvbandwidth.yaml"))


def peer_cells(output: dict[str, object], gpus: int) -> dict[tuple[str, int, int], float]:
    """(case, row, column) -> figure. Cases that print several matrices end with their total: the last one counts."""
    cells: dict[tuple[str, int, int], float] = {}
    for test in output["nvbandwidth"]["testcases"]:  # type: ignore[index]
        matrix = test.get("bandwidth_matrix", [])
        rows = matrix[-gpus:] if len(matrix) >= gpus else matrix
        for i, row in enumerate(rows):
            for j, text in enumerate(row):
                if text != "N/A" and float(text) > 0:
                    cells[test["name"], i, j] = float(text)
    return cells


def coordinate(label: str) -> int:
    """The number of ``gpu:N``; 0 for a host or an empty label, which are one row of nvbandwidth's matrices."""
    return int(label.removeprefix("gpu:")) if label.startswith("gpu:") else 0


def compare(run: RunFile, peer: dict[tuple[str, int, int], float]) -> list[Ratio]:
    ratios = []
    for part in (part for row in run.rows for part in by_flow(row)):
        figure = headline(part)
        case = part.labels.get("peer", {}).get("case")
        if figure is None or case is None:
            continue
        key = (case, coordinate(part.labels["row"]), coordinate(part.labels["column"]))
        if key in peer:
            cell = f"{part.labels['row']},{part.labels['column']}"
            # nvbandwidth's latency is a mean over the multiprocessors, so the mean stands beside it.
            ours = figure.value.mean if figure.unit == "ns" else figure.value.median
            ratios.append(Ratio(case, cell, ours, peer[key], figure.unit, figure.margin))
    return ratios


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


def read_peer(output: Path, gpus: int) -> dict[tuple[str, int, int], float]:
    """``peer_cells`` of the file; none, and told, where it holds no whole JSON: nvbandwidth was ended."""
    try:
        return peer_cells(json.loads(output.read_text()), gpus)
    except ValueError:
        print(f"{output} holds no whole JSON: no figures of nvbandwidth's")
        return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvbandwidth", required=True, help="the built binary")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for both tools' output")
    parser.add_argument("--reuse", type=Path, help="nvbandwidth's JSON of this node, instead of running it again")
    parser.add_argument("--unverified", action="store_true", help="spare nvbandwidth its checks of the data it copied")
    cases = [row["peer"]["case"] for row in rows_of(SUITE)]
    parser.add_argument(
        "--cases", nargs="+", choices=cases, default=[], metavar="CASE", help="only these, by nvbandwidth's names"
    )
    add_limit(parser)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    console = Console(width=160)

    suite = suite_of(arguments.cases, arguments.keep)
    ours = arguments.keep / "nvbandwidth-suite.jsonl"
    ours.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", suite, "-o", str(ours)]
    our_seconds, well = timed(command, ours.with_suffix(".txt"), arguments.limit)
    theirs = arguments.reuse or arguments.keep / "nvbandwidth.json"
    peer = [arguments.nvbandwidth, "-j", *(["--skipVerification"] if arguments.unverified else [])]
    if arguments.cases:
        peer += ["-t", *arguments.cases]
    their_seconds = None
    if not arguments.reuse:
        their_seconds, theirs_well = timed(peer, theirs, arguments.limit)
        well = well and theirs_well

    try:
        measured = RunFile.read(ours)
    except LinkscopeError as error:  # it did not come to a first row
        sys.exit(str(error))
    ratios = compare(measured, read_peer(theirs, len(measured.node.of_kind("gpu"))))
    print_by_case(ratios, "nvbandwidth", console, figures_of("nvbandwidth") | RATIOS)
    bandwidths = [ratio for ratio in ratios if ratio.unit == "GB/s"]
    low = min(bandwidths, key=lambda ratio: ratio.value, default=None)
    if low is not None:
        console.print(f"lowest bandwidth ratio: {low.value:.4f} ({low.case}, {low.cell})")
    for ratio in ratios:
        if outside(ratio):
            figures = f"{ratio.ours:.2f} / {ratio.theirs:.2f} = {ratio.value:.4f}"
            console.print(f"outside the target: {ratio.case} {ratio.cell}: {figures}")
    wide = [ratio for ratio in ratios if ratio.margin > 0.01]
    console.print(f"{len(ratios)} figures compared, {len(wide)} with an interval wider than +-1 %")
    console.print(f"wall time: linkscope {our_seconds:.1f} s")
    if their_seconds is not None:
        console.print(f"wall time: nvbandwidth {their_seconds:.1f} s")
    sys.exit(0 if well and ratios else 1)


if __name__ == "__main__":
    main()
