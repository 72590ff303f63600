"""linkscope's CPU methods beside multichase and beside a plain loop around memcpy, figure by figure, in turn.

Page placement differs from process to process, and what other guests of the machine leave of a shared cache from
second to second, more than either tool's samples do: so the tools take turns at each figure, a process each time.
Beside the medians over the turns stands each tool's best.

usage: python bench/host.py --multichase PATH --memcpy-loop PATH [--turns 7] [--methods pointer-chase memcpy]
           [--keep FOLDER]
       (memcpy-loop: g++ -O2 -std=c++20 -pthread bench/memcpy_loop.cpp -o PATH)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from narrowed import Json, narrowed
from ratios import print_by_case
from rich.console import Console
from turns import best_of, note_of, ratio_of, table_of, take_turns

from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SUITE = Path(__file__).with_name("host.yaml")
UNITS = {"pointer-chase": "ns", "memcpy": "GB/s"}
Key = tuple[str, int, int]  # method, bytes, threads


def suite_of(key: Key, folder: Path) -> Path:
    """The suite's part that gives one figure, as a suite in ``folder``."""
    method, size, threads = key

    def keep(row: Json) -> Json | None:
        if row["method"] != method:
            return None
        parameters = row["parameters"] | ({"threads": threads} if method == "memcpy" else {})
        return row | {"sizes": size, "parameters": parameters}

    return narrowed(SUITE, folder / f"bench-host-{method}-{size}-{threads}.yaml", keep)


def keys(methods: list[str]) -> list[Key]:
    """What the suite has of these methods here."""
    command = [sys.executable, "-m", "linkscope", "run", str(SUITE), "--engine", "host", "--dry-run", "--json"]
    planned = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found = [key_of(case["flows"][0]) for case in planned["cases"]]
    return [key for key in found if key[0] in methods]


def ours(suite: Path) -> float:
    """One linkscope process: ns per hop, GB/s."""
    output = suite.with_suffix(".jsonl")
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(suite), "--engine", "host", "-o", str(output)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return figure_of(RunFile.read(output).rows[0])


def key_of(flow: Json) -> Key:
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
    parser.add_argument("--turns", type=int, default=7, help="processes of each tool for each figure")
    parser.add_argument("--methods", nargs="+", choices=UNITS, default=list(UNITS), help="what both shall measure")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    console = Console(width=160)
    for method in arguments.methods:
        medians, bests = [], []
        for key in keys([method]):
            suite = suite_of(key, arguments.keep)
            mine, peers = take_turns(
                arguments.turns,
                lambda _, key=key, suite=suite: {key: ours(suite)},
                lambda _, key=key: {key: theirs(key, arguments.multichase, arguments.memcpy_loop)},
            )
            cell = f"{key[1] >> 10} KiB, {key[2]} thread(s)"
            medians.append(ratio_of(method, cell, UNITS[method], mine[key], peers[key]))
            bests.append(best_of(method, cell, UNITS[method], mine[key], peers[key]))
        console.print(table_of(f"{method}, {UNITS[method]}", "peer", medians, bests))
        print_by_case(medians, "multichase / plain loop", console)
    console.print(note_of(arguments.turns))


if __name__ == "__main__":
    main()
