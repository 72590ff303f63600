"""linkscope's CPU methods beside multichase and beside a plain loop around memcpy, process by process in turn.

Page placement differs from process to process, more than either tool's samples do: so each figure is the median
over the processes of a tool, which take turns.

usage: python bench/host.py --multichase PATH --memcpy-loop PATH [--turns 5] [--keep FOLDER]
       (memcpy-loop: g++ -O2 -std=c++20 -pthread bench/memcpy_loop.cpp -o PATH)
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from ratios import Ratio, print_by_case
from rich.console import Console

from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SUITE = Path(__file__).with_name("host.yaml")
Key = tuple[str, int, int]  # method, bytes, threads


def ours(keep: Path, turn: int) -> dict[Key, float]:
    """Medians of one linkscope process: ns per hop, GB/s."""
    output = keep / f"bench-host-{turn}.jsonl"
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(SUITE), "-o", str(output)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {key_of(row): figure_of(row) for row in RunFile.read(output).rows if row.status == "ok"}


def key_of(row: Row) -> Key:
    flow = row.case["flows"][0]
    return (flow["method"], flow["bytes"], int(flow.get("parameters", {}).get("threads", 1)))


def figure_of(row: Row) -> float:
    flow = row.flows[0]
    return flow.seconds.median * 1e9 if flow.gbps is None else flow.gbps.median


def theirs(key: Key, multichase: str, memcpy_loop: str) -> float:
    """One process of the peer: multichase's average over its samples, the loop's median."""
    method, size, threads = key
    if method == "pointer-chase":
        command = [multichase, "-a", "-n", "2", "-m", str(size), "-s", "256"]
    else:
        command = [memcpy_loop, str(size), str(threads)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--multichase", required=True, help="the built binary")
    parser.add_argument("--memcpy-loop", required=True, help="bench/memcpy_loop.cpp, built")
    parser.add_argument("--turns", type=int, default=5, help="processes of each tool")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    found: dict[Key, list[tuple[float, float]]] = defaultdict(list)
    for turn in range(arguments.turns):
        for key, value in ours(arguments.keep, turn).items():
            found[key].append((value, theirs(key, arguments.multichase, arguments.memcpy_loop)))
    ratios = []
    for (method, size, threads), pairs in found.items():
        mine, peer = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        spread = (max(pair[0] for pair in pairs) - min(pair[0] for pair in pairs)) / 2 / mine
        unit = "ns" if method == "pointer-chase" else "GB/s"
        ratios.append(Ratio(f"{method} {size >> 10} KiB, {threads} thread(s)", "local", mine, peer, unit, spread))
    print_by_case(ratios, "multichase / plain loop", Console(width=160))
    print(f"medians over {arguments.turns} processes of each tool in turn; +- is linkscope's range over them")


if __name__ == "__main__":
    main()
