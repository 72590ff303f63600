"""linkscope's CPU methods beside multichase, its pingpong and a plain loop around memcpy, figure by figure, in turn.

Page placement differs from process to process, and what other guests of the machine leave of a shared cache from
second to second, more than either tool's samples do: so the tools take turns at each figure, a process each time.
Beside the medians over the turns stands each tool's best. A program that takes longer than --limit is ended. Where a
tool lacks a figure it was asked for, the exit code is 1.

usage: python bench/host.py [--multichase PATH] [--memcpy-loop PATH] [--pingpong PATH] [--turns 7] [--keep FOLDER]
           [--limit SECONDS]
       (memcpy-loop: g++ -O2 -std=c++20 -pthread bench/memcpy_loop.cpp -o PATH; multichase and pingpong are one
       project's; what is named is measured)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from narrowed import Json, flows_of, narrowed
from program import add_limit, run
from ratios import print_by_case
from rich.console import Console
from turns import best_of, missing, note_of, print_missing, ratio_of, table_of, take_turns

from linkscope.errors import LinkscopeError
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SUITE = Path(__file__).with_name("host.yaml")
UNITS = {"pointer-chase": "ns", "memcpy": "GB/s", "shm-copy": "ns"}
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
    found = [key_of(flow) for flow in flows_of(SUITE, "--engine", "host")]
    return [key for key in found if key[0] in methods]


def ours(key: Key, suite: Path, limit_s: float) -> dict[Key, float]:
    """One linkscope process: ns per hop, GB/s. Empty, and told, where it has none."""
    output = suite.with_suffix(".jsonl")
    output.unlink(missing_ok=True)
    command = [sys.executable, "-m", "linkscope", "run", str(suite), "--engine", "host", "-o", str(output)]
    ended = run(command, limit_s)
    if ended.problem:
        print(ended.problem)
    try:
        row = next(iter(RunFile.read(output).with_status("ok")), None)
    except LinkscopeError as error:  # it did not come to a first row
        print(error)
        return {}
    return {} if row is None else {key: figure_of(row)}


def key_of(flow: Json) -> Key:
    return (flow["method"], flow["bytes"], int(flow.get("parameters", {}).get("threads", 1)))


def figure_of(row: Row) -> float:
    flow = row.flows[0]
    return flow.seconds.median * 1e9 if flow.gbps is None else flow.gbps.median


def theirs(key: Key, program: str, limit_s: float) -> dict[Key, float]:
    """One process of the peer: multichase's average over its samples, the loop's median, pingpong's best sample on the
    first two CPUs. Empty, and told, where it has none.
    """
    method, size, threads = key
    options = {
        "pointer-chase": ["-a", "-n", "2", "-m", str(size), "-s", "256"],
        "memcpy": [str(size), str(threads)],
        "shm-copy": ["-u", "-r", "0", "-c", "2"],
    }
    ended = run([program, *options[method]], limit_s)
    if ended.problem:
        print(ended.problem)
        return {}
    return {key: float(ended.printed.split()[-1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = {
        "pointer-chase": parser.add_argument("--multichase", help="the built binary"),
        "memcpy": parser.add_argument("--memcpy-loop", help="bench/memcpy_loop.cpp, built"),
        "shm-copy": parser.add_argument("--pingpong", help="the binary built beside multichase"),
    }
    parser.add_argument("--turns", type=int, default=7, help="processes of each tool for each figure")
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="folder for the run files")
    add_limit(parser)
    arguments = parser.parse_args()
    arguments.keep.mkdir(parents=True, exist_ok=True)
    console = Console(width=160)
    lacking: Counter[str] = Counter()
    given = {method: getattr(arguments, action.dest) for method, action in programs.items()}
    named = {method: program for method, program in given.items() if program is not None}
    if not named:
        parser.error("name a program to measure beside")
    usable = os.sched_getaffinity(0)
    for method, program in named.items():
        # pingpong takes the first two CPUs that it may use: linkscope has no others then.
        os.sched_setaffinity(0, sorted(usable)[:2] if method == "shm-copy" else usable)
        medians, bests = [], []
        for key in keys([method]):
            suite = suite_of(key, arguments.keep)
            mine, peers = take_turns(
                arguments.turns,
                lambda _, key=key, suite=suite: ours(key, suite, arguments.limit),
                lambda _, key=key, program=program: theirs(key, program, arguments.limit),
            )
            for tool, side in (("linkscope", mine), ("the peer", peers)):
                lacking[tool] += missing([key], side, arguments.turns)
            if key not in mine or key not in peers:
                continue
            cell = f"{key[1] >> 10} KiB, {key[2]} thread(s)" if key[1] else "no payload"
            medians.append(ratio_of(method, cell, UNITS[method], mine[key], peers[key]))
            bests.append(best_of(method, cell, UNITS[method], mine[key], peers[key]))
        console.print(table_of(f"{method}, {UNITS[method]}", "peer", medians, bests))
        print_by_case(medians, Path(program).name, console)
    console.print(note_of(arguments.turns))
    sys.exit(print_missing(lacking, console))


if __name__ == "__main__":
    main()
