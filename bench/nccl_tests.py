"""NCCL by linkscope beside nccl-tests, on all GPUs: time and bus bandwidth by size, for each way of making calls.

Both tools use the same library, in the same environment, on float32, out of place, on memory of ncclMemAlloc, and time
many calls in a row by the wall clock. nccl-tests moves on through a buffer of its largest size from call to call, where
linkscope repeats on warm memory: so it is run several times, for sizes between which that makes no difference (RANGES).
It checks its results (-c 1), as linkscope does: without that it fills no buffer and sends the zeros of untouched
memory, faster by up to a tenth in a large all-to-all. Graphs of both hold 20 calls.

Kinds go one after another, and each is printed when both tools have taken their turns at it: a run that is cut off
keeps what it has. A program that takes longer than --limit is ended; what it printed by then counts. Where a tool lacks
a figure it was asked for, the exit code is 1.

usage: python bench/nccl_tests.py --nccl-tests FOLDER_OF_THE_BUILT_BINARIES [--kinds all-reduce ...] [--modes graph ...]
           [--turns 1] [--keep FOLDER] [--library PATH] [--limit SECONDS]
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from narrowed import Json, narrowed
from program import add_limit, run
from ratios import Ratio, print_by_case
from rich.console import Console
from turns import Turns, best_of, missing, note_of, print_missing, ratio_of, table_of, take_turns

from linkscope import topology
from linkscope.errors import LinkscopeError
from linkscope.figures.collective import Collective
from linkscope.importers import nccl_tests as reader
from linkscope.importers.peer_output import Source
from linkscope.results.nccl_programs import NCCL_PROGRAMS
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SUITE = Path(__file__).with_name("nccl-tests.yaml")
MODES = ("one-thread", "thread-per-gpu", "graph")
SIZES = tuple(4**power << 10 for power in range(1, 11))
"""4 KiB to 1 GiB: the suite's sizes, and those of RANGES together."""
RANGES = (("4K", "4M", 500), ("16M", "16M", 50), ("64M", "64M", 20), ("256M", "256M", 20), ("1G", "1G", 20))
"""Of each run of nccl-tests: from and to which size, and calls. It goes through a buffer of the largest size from call
to call, of which it has filled as much as one call takes: the rest are zeros. From 16 MiB each size has a buffer of its
own and repeats on it, as linkscope does; below, all calls of a run stay within a GPU's caches.
"""
GRAPH_CALLS, GRAPH_LAUNCHES = 20, 20
BANDWIDTH_BYTES = 1 << 20
"""Below the time is compared, from here on the bus bandwidth."""
SCHEDULING = {"NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE": "1"}
"""nccl-tests asks for NVLink-centric scheduling of every communicator, NCCL by itself does not."""
ALLOWED = {"us": 0.03, "GB/s": 0.02}


@dataclass(frozen=True, order=True)
class Point:
    """``mode``: of MODES; ``size`` in bytes, as nccl-tests counts it."""

    kind: str
    mode: str
    size: int

    @property
    def case(self) -> str:
        return f"{self.kind}, {self.mode}, {'small' if self.unit == 'us' else 'large'}"

    @property
    def unit(self) -> str:
        return "us" if self.size < BANDWIDTH_BYTES else "GB/s"

    def figure(self, seconds: float, gpus: int) -> float:
        """Of a call that takes so long, in the point's unit."""
        return seconds * 1e6 if self.unit == "us" else factor(self.kind, gpus) * self.size / seconds * 1e-9


Times = dict[Point, float]
"""Seconds of one call."""


def mode_of(parameters: dict[str, object]) -> str:
    return "graph" if parameters.get("form") == "graph" else str(parameters.get("launch", "one-thread"))


def point_of(row: Row) -> Point:
    flow = row.case["flows"][0]
    parameters = flow.get("parameters", {})
    kind = str(parameters["collective"]) if "members" in flow else "send-receive"
    return Point(kind, mode_of(parameters), int(flow["bytes"]))


def suite_of(kind: str, modes: Sequence[str], folder: Path) -> Path:
    """The suite's rows of that kind and those modes alone, as a suite in ``folder``."""

    def keep(row: Json) -> Json | None:
        if (kind == "send-receive") != (row["method"] == "xccl"):
            return None
        if row["parameters"]["form"] == "graph":
            launches = ["thread-per-gpu"] if "graph" in modes else []
        else:
            launches = [launch for launch in row["parameters"]["launch"] if launch in modes]
        if not launches:
            return None
        of_kind = {} if kind == "send-receive" else {"collective": kind}
        return row | of_kind | {"parameters": row["parameters"] | {"launch": launches}}

    return narrowed(SUITE, folder / f"bench-nccl-tests-{kind}.yaml", keep)


def ours(suite: Path, output: Path, environment: dict[str, str], limit_s: float) -> Times:
    """One run of the suite: seconds of all rows that have any; the others are told."""
    output.unlink(missing_ok=True)
    ended = run([sys.executable, "-m", "linkscope", "run", str(suite), "-o", str(output)], limit_s, environment)
    if ended.problem and ended.code != 1:  # 1: a row failed, told below
        print(ended.problem)
    try:
        rows = RunFile.read(output).rows
    except LinkscopeError as error:  # it did not come to a first row
        print(error)
        return {}
    times: Times = {}
    for row in rows:
        if row.status == "ok":
            times[point_of(row)] = statistics.mean(flow.seconds.median for flow in row.flows)
        else:
            print(f"{row.id}: {row.status}: {row.reason}")
    return times


def options(mode: str, gpus: int, calls: int) -> list[str]:
    """What asks nccl-tests for that way of calling, so often in a row."""
    if mode == "one-thread":
        return ["-g", str(gpus), "-n", str(calls)]
    if mode == "thread-per-gpu":
        return ["-t", str(gpus), "-g", "1", "-n", str(calls)]
    return ["-t", str(gpus), "-g", "1", "-n", str(GRAPH_CALLS), "-G", str(GRAPH_LAUNCHES)]


def theirs(
    folder: Path,
    kind: str,
    modes: Sequence[str],
    gpus: int,
    environment: dict[str, str],
    output: Path,
    limit_s: float,
) -> Times:
    """All sizes of one program in each of ``modes``: seconds out of place. ``output`` takes what it prints."""
    times: Times = {}
    output.unlink(missing_ok=True)
    for mode, (smallest, largest, calls) in itertools.product(modes, RANGES):
        program = str(folder / NCCL_PROGRAMS[kind].name)
        command = [program, "-b", smallest, "-e", largest, "-f", "4", "-w", "20", "-c", "1"]
        ended = run([*command, "-d", "float", *options(mode, gpus, calls)], limit_s, environment, output)
        if ended.problem:
            print(ended.problem)
        for size, microseconds in parse(ended.printed).items():
            times[Point(kind, mode, size)] = microseconds * 1e-6
    return times


def parse(text: str) -> dict[int, float]:
    """Size -> microseconds out of place, from the table that nccl-tests prints, where it found no result wrong."""
    source = Source(Path("nccl-tests"), text)
    figures = reader.read(source).figures if reader.recognises(source.text) else ()
    out_of_place = (one for one in figures if one.moves is not None and "in place" not in one.moves.varies)
    return {one.size: one.value.median * 1e6 for one in out_of_place if one.size}


def factor(kind: str, gpus: int) -> float:
    """Bus bandwidth over size by time."""
    return Collective(kind, tuple(f"gpu:{index}" for index in range(gpus))).bus_factor


def ratios(mine: Turns[Point], peers: Turns[Point], gpus: int, of: Callable[..., Ratio]) -> list[Ratio]:
    """``of`` every point that both have."""
    found = []
    for point in sorted(mine.keys() & peers.keys()):
        sides = [[point.figure(seconds, gpus) for seconds in side[point]] for side in (mine, peers)]
        found.append(of(point.case, f"{point.size} B", point.unit, *sides))
    return found


def bench(
    kind: str, gpus: int, arguments: argparse.Namespace, environment: dict[str, str], console: Console
) -> tuple[list[Ratio], Counter[str]]:
    """Both tools' turns at one kind, whose tables it prints; and how many figures each tool lacks."""
    suite = suite_of(kind, arguments.modes, arguments.keep)
    mine, peers = take_turns(
        arguments.turns,
        lambda turn: ours(
            suite, arguments.keep / f"bench-nccl-tests-{kind}-{turn}.jsonl", environment, arguments.limit
        ),
        lambda turn: theirs(
            arguments.nccl_tests,
            kind,
            arguments.modes,
            gpus,
            environment,
            arguments.keep / f"nccl-tests-{kind}-{turn}.txt",
            arguments.limit,
        ),
    )
    medians, bests = (ratios(mine, peers, gpus, of) for of in (ratio_of, best_of))
    for case in dict.fromkeys(ratio.case for ratio in medians):
        cells = [[ratio for ratio in side if ratio.case == case] for side in (medians, bests)]
        console.print(table_of(f"{case}, {cells[0][0].unit}", "nccl-tests", *cells))
    asked = [Point(kind, mode, size) for mode in arguments.modes for size in SIZES]
    sides = {"linkscope": mine, "nccl-tests": peers}
    return medians, Counter({tool: missing(asked, side, arguments.turns) for tool, side in sides.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nccl-tests", required=True, type=Path, help="folder of the built binaries")
    parser.add_argument("--turns", type=int, default=1, help="runs of each tool, which take turns")
    parser.add_argument(
        "--kinds", nargs="+", choices=NCCL_PROGRAMS, default=list(NCCL_PROGRAMS), help="what both tools shall run"
    )
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="how calls are made")
    parser.add_argument("--library", type=Path, help="libnccl.so.2 for both tools")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for both tools' output")
    add_limit(parser)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    environment = os.environ | SCHEDULING
    if arguments.library is not None:
        environment["LINKSCOPE_XCCL"] = str(arguments.library)
        paths = [str(arguments.library.parent), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(filter(None, paths))

    console = Console(width=160)
    found: list[Ratio] = []
    lacking: Counter[str] = Counter()
    gpus = len(topology().of_kind("gpu"))
    for kind in arguments.kinds:
        medians, absent = bench(kind, gpus, arguments, environment, console)
        found += medians
        lacking += absent
    print_by_case(found, "nccl-tests", console)
    console.print(note_of(arguments.turns))
    for ratio in found:
        allowed = ALLOWED[ratio.unit]
        if abs(ratio.value - 1) > allowed:
            figures = f"{ratio.ours:.2f} / {ratio.theirs:.2f} = {ratio.value:.4f}"
            console.print(f"outside +-{allowed:.0%}: {ratio.case}, {ratio.cell}: {figures}")
    sys.exit(print_missing(lacking, console))


if __name__ == "__main__":
    main()
