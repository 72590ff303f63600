"""linkscope's MPI methods beside the OSU micro-benchmarks: same MPI, same host, two processes, in turns.

Build OSU with the same MPI (./configure CC=mpicc CXX=mpicxx && make) and give the folder that holds pt2pt/ and
collective/. One benchmark of OSU's after another: both tools start anew in each turn, since where two processes find
themselves differs from start to start more than either tool's loops do (two CPUs of a virtual machine share a core in
one second and not in the next). Beside the medians over the turns stands each tool's best turn.

usage: python bench/osu.py --osu FOLDER --mpiexec PATH [--turns 5] [--benchmarks ping-pong ...] [--keep FOLDER]
       (LINKSCOPE_MPI names the MPI that linkscope loads, where it would not find the one of that mpiexec by itself)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from narrowed import Json, narrowed
from ratios import Ratio, print_by_case
from rich.console import Console
from turns import best_of, note_of, ratio_of, table_of, take_turns

from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

# Some libraries allocate at each call what a collective needs. Whether the C library then takes pages from the system
# each time depends on what else lies in a process's heap: here it never does.
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


def ours(suite: Path, mpiexec: str) -> tuple[dict[Key, float], list[int]]:
    """Means of one run of linkscope (us, GB/s), and the CPU of each of its processes."""
    output = suite.with_suffix(".jsonl")
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(suite), "-o", str(output)]
    command += ["--launcher", "mpiexec", "--launcher-command", mpiexec]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = RunFile.read(output).rows
    for row in rows:
        if row.status != "ok":
            sys.exit(f"{row.id}: {row.reason}")
    return {key_of(row): figure_of(row) for row in rows}, cpus_of(output)


def cpus_of(output: Path) -> list[int]:
    """The CPU on which each process called MPI, by rank: the first of its share."""
    records = (json.loads(line) for line in output.read_text().splitlines())
    joined = next(record for record in records if record.get("record") == "state" and record.get("when") == "joined")
    return [process["cpus"][0] for process in joined["processes"]]


def key_of(row: Row) -> Key:
    flow: Json = row.case["flows"][0]
    parameters = flow["parameters"]
    return (parameters.get("call") or parameters["collective"], flow["bytes"])


def figure_of(row: Row) -> float:
    """GB/s of messages under way, else us: by the mean over all calls, since that is what OSU prints."""
    flow = row.flows[0]
    if PEERS[key_of(row)[0]].rate and flow.gbps is not None:
        return flow.gbps.median * flow.seconds.median / flow.seconds.mean
    return flow.seconds.mean * 1e6


def theirs(mpiexec: str, cpus: list[int], folder: Path, word: str, sizes: list[int]) -> dict[Key, float]:
    """One run of the benchmark for each of CALLS, a process on each of ``cpus``: us, GB/s."""
    found: dict[Key, float] = {}
    for most, calls, warmup in CALLS:
        asked = [size for size in sizes if size <= most and (word, size) not in found]
        if asked:
            found |= _theirs(mpiexec, cpus, folder, word, asked, (calls, warmup))
    return found


def _theirs(
    mpiexec: str, cpus: list[int], folder: Path, word: str, sizes: list[int], calls: tuple[int, int]
) -> dict[Key, float]:
    peer = PEERS[word]
    program = [str(folder / peer.binary), *peer.options]
    for option, count in zip(("-i", "-x"), calls, strict=True):
        program += [option, str(count // WINDOW if peer.rate else count)]
    if sizes != [0]:
        program += ["-m", f"{peer.size_of(sizes[0])}:{peer.size_of(sizes[-1])}"]
    ranks = [["-n", "1", "taskset", "-c", str(cpu), *program] for cpu in cpus]
    command = [mpiexec, "--bind-to", "none", *ranks[0], *(word for rank in ranks[1:] for word in (":", *rank))]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in output.splitlines() if line.strip() and not line.startswith("#")]
    if sizes == [0]:
        return {(word, 0): float(lines[-1][0])}
    printed = {int(line[0]): float(line[1]) * (1e-3 if peer.rate else 1) for line in lines}
    return {(word, size): printed[peer.size_of(size)] for size in sizes}


def bench(word: str, arguments: argparse.Namespace, console: Console) -> list[Ratio]:
    """Both tools' turns at one benchmark; prints its sizes."""
    suite = suite_of(word, arguments.keep)
    figures, cpus = ours(suite, arguments.mpiexec)  # not counted: whoever begins finds the machine idle
    sizes = sorted(size for _, size in figures)
    mine, peers = take_turns(
        arguments.turns,
        lambda _: ours(suite, arguments.mpiexec)[0],
        lambda _: theirs(arguments.mpiexec, cpus, arguments.osu, word, sizes),
    )
    unit = "GB/s" if PEERS[word].rate else "us"
    medians, bests = (
        [of(word, f"{size} B", unit, mine[word, size], peers[word, size]) for size in sizes]
        for of in (ratio_of, best_of)
    )
    console.print(table_of(f"{word}, {unit}", "OSU", medians, bests))
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osu", required=True, type=Path, help="the folder that holds pt2pt/ and its like")
    parser.add_argument("--mpiexec", required=True, help="of the MPI that both use")
    parser.add_argument("--turns", type=int, default=5, help="runs of each tool")
    parser.add_argument("--benchmarks", nargs="+", choices=PEERS, default=list(PEERS), help="what both shall run")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    os.environ |= HEAP
    console = Console(width=160)
    found = [ratio for word in arguments.benchmarks for ratio in bench(word, arguments, console)]
    print_by_case(found, "OSU", console)
    console.print(note_of(arguments.turns))


if __name__ == "__main__":
    main()
