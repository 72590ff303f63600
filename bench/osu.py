"""linkscope's MPI methods beside the OSU micro-benchmarks: same MPI, same host, two processes, in turns.

Build OSU with the same MPI (./configure CC=mpicc CXX=mpicxx && make) and give the folder that holds pt2pt/ and
collective/. One benchmark of OSU's after another: both tools start anew in each turn, since where two processes find
themselves differs from start to start more than either tool's loops do (two CPUs of a virtual machine share a core in
one second and not in the next). Beside the medians over the turns stands each tool's best turn. A program that takes
longer than --limit is ended. Where a tool lacks a figure it was asked for, the exit code is 1.

usage: python bench/osu.py --osu FOLDER --mpiexec PATH [--turns 5] [--benchmarks ping-pong ...] [--keep FOLDER]
           [--limit SECONDS]
       (LINKSCOPE_MPI names the MPI that linkscope loads, where it would not find the one of that mpiexec by itself)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from narrowed import Json, flows_of, narrowed
from program import add_limit, run
from ratios import Ratio, print_by_case
from rich.console import Console
from turns import best_of, missing, note_of, print_missing, ratio_of, table_of, take_turns

from linkscope.errors import LinkscopeError
from linkscope.importers.osu import rows_of
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

# Some libraries allocate at each call what a collective needs. Whether the C library then takes pages from the system
# each time depends on what else is in a process's heap: here it never does.
HEAP = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 30)}
SUITE = Path(__file__).with_name("osu.yaml")
PROCESSES = 2
Key = tuple[str, int]  # call or collective, linkscope's bytes


@dataclass(frozen=True)
class Peer:
    """A benchmark of OSU's. ``shares``: its sizes are of one process's block. ``rate``: it prints MB/s, else us.
    ``options``: what makes its calls linkscope's.
    """

    binary: str
    options: tuple[str, ...] = ()
    shares: bool = False
    rate: bool = False

    def size_of(self, size: int) -> int:
        """Its name for a size of linkscope's, which is that of the larger buffer."""
        return size // PROCESSES if self.shares else size


CALLS = ((32 << 10, 30_000, 6_000), (4 << 20, 3_000, 1_000))
"""For sizes up to the first number: calls, and those before them that do not count. OSU's own numbers for large ones
(100 and 10) are over before memory that the MPI takes at its first calls has been touched."""
WINDOW = 32
"""So many times fewer where a call is of 64 messages."""
SUMS = ("-T", "mpi_float")
FLUSHED = ("-w", "create", "-s", "flush")
PEERS = {
    "ping-pong": Peer("pt2pt/osu_latency"),
    "window": Peer("pt2pt/osu_bw", rate=True),
    "both-ways": Peer("pt2pt/osu_bibw", rate=True),
    "put": Peer("one-sided/osu_put_latency", FLUSHED),
    "get": Peer("one-sided/osu_get_latency", FLUSHED),
    "all-reduce": Peer("collective/osu_allreduce", SUMS),
    "reduce": Peer("collective/osu_reduce", SUMS),
    "broadcast": Peer("collective/osu_bcast"),
    "reduce-scatter": Peer("collective/osu_reduce_scatter_block", SUMS),
    "all-gather": Peer("collective/osu_allgather", shares=True),
    "all-to-all": Peer("collective/osu_alltoall", shares=True),
    "barrier": Peer("collective/osu_barrier"),
}


def suite_of(word: str, folder: Path) -> Path:
    """The suite's part that one benchmark of OSU's answers to, as a suite in ``folder``."""

    def keep(row: Json) -> Json | None:
        if "collective" in row:
            return row | {"collective": word} if word in row["collective"] else None
        calls = row["parameters"]["call"]
        return row | {"parameters": {"call": word}} if word in calls else None

    return narrowed(SUITE, folder / f"bench-osu-{word}.yaml", keep)


def launching(mpiexec: str) -> list[str]:
    """What has linkscope start its processes by ``mpiexec``: engines of the host, since OSU's processes use no GPU
    either, and an MPI built for GPUs asks their driver about every buffer in those that do.
    """
    return ["--engine", "host", "--launcher", "mpiexec", "--launcher-command", mpiexec]


def ours(suite: Path, mpiexec: str, limit_s: float) -> tuple[dict[Key, float], list[int]]:
    """Means of one run of linkscope (us, GB/s) where it has any, and the CPU of each of its processes; what it lacks is
    told.
    """
    output = suite.with_suffix(".jsonl")
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(suite), "-o", str(output)]
    ended = run([*command, *launching(mpiexec)], limit_s)
    if ended.problem and ended.code != 1:  # 1: a row failed, told below
        print(ended.problem)
    try:
        found = RunFile.read(output)
    except LinkscopeError as error:  # it did not come to a first row
        print(error)
        return {}, []
    for row in found.rows:
        if row.status != "ok":
            print(f"{row.id}: {row.status}: {row.reason}")
    return {key_of(row.case["flows"][0]): figure_of(row) for row in found.with_status("ok")}, cpus_of(found)


def cpus_of(found: RunFile) -> list[int]:
    """The CPU on which each process called MPI, by rank: the first of its share. Empty where none came to that."""
    joined: Json = next((state for state in found.states if state.get("when") == "joined"), {})
    return [process["cpus"][0] for process in joined.get("processes", ())]


def key_of(flow: Json) -> Key:
    parameters = flow["parameters"]
    return (parameters.get("call") or parameters["collective"], flow["bytes"])


def figure_of(row: Row) -> float:
    """GB/s of messages under way, else us: by the mean over all calls, since that is what OSU prints."""
    flow = row.flows[0]
    if PEERS[key_of(row.case["flows"][0])[0]].rate and flow.gbps is not None:
        return flow.gbps.median * flow.seconds.median / flow.seconds.mean
    return flow.seconds.mean * 1e6


def theirs(
    mpiexec: str, cpus: list[int], folder: Path, word: str, sizes: list[int], limit_s: float
) -> dict[Key, float]:
    """One run of the benchmark for each of CALLS, a process on each of ``cpus``: us, GB/s, of what it printed."""
    found: dict[Key, float] = {}
    below = -1
    for most, calls, warmup in CALLS:
        asked = [size for size in sizes if below < size <= most]
        below = most
        if asked:
            found |= _theirs(mpiexec, cpus, folder, word, asked, (calls, warmup), limit_s)
    return found


def _theirs(
    mpiexec: str, cpus: list[int], folder: Path, word: str, sizes: list[int], calls: tuple[int, int], limit_s: float
) -> dict[Key, float]:
    peer = PEERS[word]
    program = [str(folder / peer.binary), *peer.options]
    for option, count in zip(("-i", "-x"), calls, strict=True):
        program += [option, str(count // WINDOW if peer.rate else count)]
    if sizes != [0]:
        program += ["-m", f"{peer.size_of(sizes[0])}:{peer.size_of(sizes[-1])}"]
    ranks = [["-n", "1", "taskset", "-c", str(cpu), *program] for cpu in cpus]
    command = [mpiexec, "--bind-to", "none", *ranks[0], *(word for rank in ranks[1:] for word in (":", *rank))]
    ended = run(command, limit_s)
    if ended.problem:
        print(ended.problem)
    printed = rows_of(ended.printed)
    scale = 1e-3 if peer.rate else 1
    named = {size: peer.size_of(size) for size in sizes}
    return {(word, size): printed[name] * scale for size, name in named.items() if name in printed}


def bench(word: str, arguments: argparse.Namespace, console: Console) -> tuple[list[Ratio], Counter[str]]:
    """Both tools' turns at one benchmark, whose sizes it prints; and how many figures each tool lacks."""
    suite = suite_of(word, arguments.keep)
    asked = sorted(key_of(flow) for flow in flows_of(suite, *launching(arguments.mpiexec)))
    _, cpus = ours(suite, arguments.mpiexec, arguments.limit)  # not counted: the first finds the machine idle
    mine, peers = take_turns(
        arguments.turns if cpus else 0,
        lambda _: ours(suite, arguments.mpiexec, arguments.limit)[0],
        lambda _: theirs(arguments.mpiexec, cpus, arguments.osu, word, [size for _, size in asked], arguments.limit),
    )
    unit = "GB/s" if PEERS[word].rate else "us"
    medians, bests = (
        [of(word, f"{key[1]} B", unit, mine[key], peers[key]) for key in asked if key in mine and key in peers]
        for of in (ratio_of, best_of)
    )
    console.print(table_of(f"{word}, {unit}", "OSU", medians, bests))
    sides = {"linkscope": mine, "OSU": peers}
    return medians, Counter({tool: missing(asked, side, arguments.turns) for tool, side in sides.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osu", required=True, type=Path, help="the folder that holds pt2pt/ and its like")
    parser.add_argument("--mpiexec", required=True, help="of the MPI that both use")
    parser.add_argument("--turns", type=int, default=5, help="runs of each tool")
    parser.add_argument("--benchmarks", nargs="+", choices=PEERS, default=list(PEERS), help="what both shall run")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    add_limit(parser)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    os.environ |= HEAP
    console = Console(width=160)
    found: list[Ratio] = []
    lacking: Counter[str] = Counter()
    for word in arguments.benchmarks:
        medians, absent = bench(word, arguments, console)
        found += medians
        lacking += absent
    print_by_case(found, "OSU", console)
    console.print(note_of(arguments.turns))
    sys.exit(print_missing(lacking, console))


if __name__ == "__main__":
    main()
