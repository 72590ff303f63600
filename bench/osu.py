"""linkscope's MPI methods beside the OSU micro-benchmarks: same MPI, same host, same CPUs, two processes, in turns.

Build OSU with the same MPI (./configure CC=mpicc CXX=mpicxx && make install) and give the folder that holds pt2pt/,
collective/ and one-sided/. The launcher binds neither tool: OSU's processes are put on the CPUs that linkscope's have
used. Each figure is the median over the turns of a tool: where a process's memory lands differs from start to start
more than either tool's loops do. One-sided, OSU reads the clock twice more than linkscope in each of its loops.

usage: python bench/osu.py --osu FOLDER --mpiexec PATH [--turns 5] [--budget 60s] [--keep FOLDER]
       (LINKSCOPE_MPI names the MPI that linkscope loads, where it would not find the one of that mpiexec by itself)
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ratios import Ratio, print_by_case
from rich.console import Console

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


def ours(arguments: argparse.Namespace, turn: int) -> tuple[dict[Key, float], list[int]]:
    """Medians of one run of linkscope (us, GB/s), and the CPU of each of its processes."""
    output = arguments.keep / f"bench-osu-{turn}.jsonl"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(SUITE), "-o", str(output)]
    command += ["--launcher", "mpiexec", "--launcher-command", arguments.mpiexec]
    if arguments.budget is not None:
        command += ["--budget", arguments.budget]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
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
    flow: dict[str, Any] = row.case["flows"][0]
    parameters = flow["parameters"]
    return (parameters.get("call") or parameters["collective"], flow["bytes"])


def figure_of(row: Row) -> float:
    """GB/s of messages under way, else us."""
    flow = row.flows[0]
    if PEERS[key_of(row)[0]].rate and flow.gbps is not None:
        return flow.gbps.median
    return flow.seconds.median * 1e6


def theirs(mpiexec: str, cpus: list[int], folder: Path, word: str, sizes: list[int]) -> dict[Key, float]:
    """One run of the benchmark over the range of ``sizes``, a process on each of ``cpus``: us, GB/s."""
    peer = PEERS[word]
    program = [str(folder / peer.binary), *peer.options]
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


def bench(arguments: argparse.Namespace, console: Console) -> None:
    """Turn by turn; prints the medians of all turns so far after each."""
    mine: dict[Key, list[float]] = defaultdict(list)
    peers: dict[Key, list[float]] = defaultdict(list)
    for turn in range(arguments.turns):
        figures, cpus = ours(arguments, turn)
        for key, value in figures.items():
            mine[key].append(value)
        for word in dict.fromkeys(word for word, _ in mine):
            sizes = sorted(size for other, size in mine if other == word)
            for key, value in theirs(arguments.mpiexec, cpus, arguments.osu, word, sizes).items():
                peers[key].append(value)
        show(ratios_of(mine, peers), turn + 1, console)


def ratios_of(mine: dict[Key, list[float]], peers: dict[Key, list[float]]) -> list[Ratio]:
    ratios = []
    for (word, size), values in mine.items():
        middle, unit = statistics.median(values), "GB/s" if PEERS[word].rate else "us"
        spread = (max(values) - min(values)) / 2 / middle
        ratios.append(Ratio(word, f"{size} B", middle, statistics.median(peers[word, size]), unit, spread))
    return ratios


def show(ratios: list[Ratio], turns: int, console: Console) -> None:
    for ratio in ratios:
        console.print(
            f"{ratio.case:16s}{ratio.cell:>12s}{ratio.ours:12.3f}{ratio.theirs:12.3f} {ratio.unit:5s}{ratio.value:8.3f}"
        )
    print_by_case(ratios, "OSU", console)
    console.print(f"medians over {turns} runs of each tool in turn; +- is half of linkscope's range over them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--osu", required=True, type=Path, help="the folder that holds pt2pt/ and its like")
    parser.add_argument("--mpiexec", required=True, help="of the MPI that both use")
    parser.add_argument("--turns", type=int, default=5, help="runs of each tool")
    parser.add_argument("--budget", help="time for each of linkscope's runs: 60s")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    os.environ |= HEAP
    bench(arguments, Console(width=160))


if __name__ == "__main__":
    main()
