"""NCCL by linkscope beside nccl-tests, on all GPUs: time and bus bandwidth by size, for each way of making calls.

Both tools use the same library, without NVLink multicast, on float32, out of place, on memory of ncclMemAlloc, and time
many calls in a row by the wall clock. nccl-tests moves on through a buffer of its largest size from call to call, where
linkscope repeats on warm memory: so it is run several times, for sizes between which that makes no difference (RANGES).
Graphs of both hold 20 calls.

Kinds go one after another, and each is printed when both tools have done it: a run that is cut off keeps what it has.

usage: python bench/nccl_tests.py --nccl-tests FOLDER_OF_THE_BUILT_BINARIES [--kinds all-reduce ...] [--turns 1]
           [--keep FOLDER] [--library PATH]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from narrowed import Json, narrowed
from ratios import Ratio, print_by_case
from rich.console import Console
from rich.table import Table

from linkscope.analysis.collective import Collective
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SUITE = Path(__file__).with_name("nccl-tests.yaml")
PROGRAMS = {
    "all-reduce": "all_reduce_perf",
    "reduce": "reduce_perf",
    "broadcast": "broadcast_perf",
    "reduce-scatter": "reduce_scatter_perf",
    "all-gather": "all_gather_perf",
    "all-to-all": "alltoall_perf",
    "send-receive": "sendrecv_perf",
}
RANGES = (("4K", "4M", 500), ("16M", "16M", 50), ("64M", "1G", 20))
"""Smallest and largest size of one run of nccl-tests, and its calls in a row. Moving on through the largest, all sizes
of a run stay within a GPU's caches, or none does; 16 MiB, which stays only if it does not move on, is alone."""
GRAPH_CALLS, GRAPH_LAUNCHES = 20, 20
LATENCY_BYTES = 64 << 10
"""Up to here the time is compared, from 1 MiB on the bandwidth."""
BANDWIDTH_BYTES = 1 << 20


@dataclass(frozen=True, order=True)
class Point:
    """``mode``: one-thread, thread-per-gpu or graph; ``size`` in bytes, as nccl-tests counts it."""

    kind: str
    mode: str
    size: int


Times = dict[Point, float]
"""Seconds of one call."""


def mode_of(parameters: dict[str, object]) -> str:
    return "graph" if parameters.get("form") == "graph" else str(parameters.get("launch", "one-thread"))


def point_of(row: Row) -> Point:
    flow = row.case["flows"][0]
    parameters = flow.get("parameters", {})
    kind = str(parameters["collective"]) if "members" in flow else "send-receive"
    return Point(kind, mode_of(parameters), int(flow["bytes"]))


def suite_of(kind: str, folder: Path) -> Path:
    """The suite's rows of that kind alone, as a suite in ``folder``."""

    def keep(row: Json) -> Json | None:
        if kind == "send-receive":
            return row if row["method"] == "xccl" else None
        return row | {"collective": kind} if row["method"] != "xccl" else None

    return narrowed(SUITE, folder / f"bench-nccl-tests-{kind}.yaml", keep)


def ours(suite: Path, output: Path, environment: dict[str, str]) -> tuple[Times, dict[Point, float], RunFile]:
    """One run of the suite: seconds, half widths of their intervals (relative), and the run itself."""
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(suite), "-o", str(output)]
    subprocess.run(command, check=False, env=environment, stdout=subprocess.DEVNULL)  # 1: a row failed, told below
    run = RunFile.read(output)
    times: Times = {}
    margins: dict[Point, float] = {}
    for row in run.rows:
        if row.status != "ok":
            print(f"{row.id}: {row.status}: {row.reason}")
            continue
        times[point_of(row)] = statistics.mean(flow.seconds.median for flow in row.flows)
        seconds = row.flows[0].seconds
        margins[point_of(row)] = (seconds.high - seconds.low) / 2 / seconds.median
    return times, margins, run


def options(mode: str, gpus: int, calls: int) -> list[str]:
    """What asks nccl-tests for that way of calling, so often in a row."""
    if mode == "one-thread":
        return ["-g", str(gpus), "-n", str(calls)]
    if mode == "thread-per-gpu":
        return ["-t", str(gpus), "-g", "1", "-n", str(calls)]
    return ["-t", str(gpus), "-g", "1", "-n", str(GRAPH_CALLS), "-G", str(GRAPH_LAUNCHES)]


def theirs(folder: Path, kind: str, mode: str, gpus: int, environment: dict[str, str]) -> tuple[Times, str]:
    """All sizes of one program in one mode: seconds out of place; and what it printed."""
    times: Times = {}
    printed = ""
    for smallest, largest, calls in RANGES:
        command = [str(folder / PROGRAMS[kind]), "-b", smallest, "-e", largest, "-f", "4", "-w", "20", "-c", "0"]
        command += ["-d", "float", *options(mode, gpus, calls)]
        done = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
        printed += done.stdout
        for size, microseconds in parse(done.stdout).items():
            times[Point(kind, mode, size)] = microseconds * 1e-6
    return times, printed


def parse(text: str) -> dict[int, float]:
    """Size -> microseconds out of place, from the table that nccl-tests prints."""
    line = re.compile(r"^\s*(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+([\d.e+-]+)\s", re.MULTILINE)
    return {int(match[1]): float(match[2]) for match in line.finditer(text)}


def factor(kind: str, gpus: int) -> float:
    """Bus bandwidth over size by time."""
    return Collective(kind, tuple(f"gpu:{index}" for index in range(gpus))).bus_factor


def by_size(mine: Times, peer: Times, gpus: int) -> Table:
    table = Table(title="linkscope beside nccl-tests, same node, same library")
    for column in ("collective", "mode", "bytes", "us", "us", "time ratio", "bus GB/s", "bus GB/s", "bus ratio"):
        table.add_column(column, justify="left" if column in ("collective", "mode") else "right")
    for point in sorted(mine.keys() & peer.keys()):
        times = (mine[point], peer[point])
        bus = [factor(point.kind, gpus) * point.size / seconds * 1e-9 for seconds in times]
        cells = [f"{times[0] * 1e6:.2f}", f"{times[1] * 1e6:.2f}", f"{times[0] / times[1]:.4f}"]
        cells += [f"{bus[0]:.2f}", f"{bus[1]:.2f}", f"{bus[0] / bus[1]:.4f}"]
        table.add_row(point.kind, point.mode, str(point.size), *cells)
    return table


def ratios(mine: Times, peer: Times, margins: dict[Point, float], gpus: int) -> list[Ratio]:
    """Times up to 64 KiB and bus bandwidths from 1 MiB on, a case for each collective and mode."""
    found = []
    for point in sorted(mine.keys() & peer.keys()):
        name, cell, margin = f"{point.kind}, {point.mode}", str(point.size), margins.get(point, 0.0)
        if point.size <= LATENCY_BYTES:
            found.append(Ratio(f"{name}, small", cell, mine[point] * 1e6, peer[point] * 1e6, "us", margin))
        elif point.size >= BANDWIDTH_BYTES:
            rates = [factor(point.kind, gpus) * point.size / side[point] * 1e-9 for side in (mine, peer)]
            found.append(Ratio(f"{name}, large", cell, rates[0], rates[1], "GB/s", margin))
    return found


def median_of(runs: dict[Point, list[float]]) -> Times:
    return {point: statistics.median(seconds) for point, seconds in runs.items()}


def bench(kind: str, arguments: argparse.Namespace, environment: dict[str, str], console: Console) -> list[Ratio]:
    """Both tools' turns at one kind; prints its table."""
    suite = suite_of(kind, arguments.keep)
    mine: dict[Point, list[float]] = defaultdict(list)
    peer: dict[Point, list[float]] = defaultdict(list)
    margins: dict[Point, float] = {}
    gpus = 0
    for turn in range(arguments.turns):
        times, margins, run = ours(suite, arguments.keep / f"bench-nccl-tests-{kind}-{turn}.jsonl", environment)
        gpus = len(run.node.of_kind("gpu"))
        for point, seconds in times.items():
            mine[point].append(seconds)
        for mode in ("one-thread", "thread-per-gpu", "graph"):
            times, printed = theirs(arguments.nccl_tests, kind, mode, gpus, environment)
            (arguments.keep / f"nccl-tests-{kind}-{mode}-{turn}.txt").write_text(printed)
            for point, seconds in times.items():
                peer[point].append(seconds)
    console.print(by_size(median_of(mine), median_of(peer), gpus))
    return ratios(median_of(mine), median_of(peer), margins, gpus)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nccl-tests", required=True, type=Path, help="folder of the built binaries")
    parser.add_argument("--turns", type=int, default=1, help="runs of each tool, which take turns")
    parser.add_argument(
        "--kinds", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="what both tools shall run"
    )
    parser.add_argument("--library", type=Path, help="libnccl.so.2 for both tools")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for both tools' output")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"NCCL_NVLS_ENABLE": "0"}
    if arguments.library is not None:
        environment["LINKSCOPE_XCCL"] = str(arguments.library)
        paths = [str(arguments.library.parent), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))

    console = Console(width=160)
    found: list[Ratio] = []
    for kind in arguments.kinds:
        found += bench(kind, arguments, environment, console)
    print_by_case(found, "nccl-tests", console)
    for ratio in found:
        allowed = 0.03 if ratio.unit == "us" else 0.02
        if abs(ratio.value - 1) > allowed:
            figures = f"{ratio.ours:.2f} / {ratio.theirs:.2f} = {ratio.value:.4f} {ratio.unit}"
            console.print(f"outside +-{allowed:.0%}: {ratio.case}, {ratio.cell} B: {figures}")


if __name__ == "__main__":
    main()
