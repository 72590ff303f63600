"""Recorded runs that answers are tested on: a healthy node, faults planted into it, CPUs alone, a machine model."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from planted_faults import lanes_down

from linkscope.launch.job import Request
from linkscope.launch.run import Listener, run
from linkscope.results.run_file import RunFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = FIXTURES / "runs"
HEALTHY = RUNS / "h200x4-default.jsonl"
DIRECT = RUNS / "h200x4-direct.jsonl"
CPU, CPU_AGAIN = RUNS / "cpu-1.jsonl", RUNS / "cpu-2.jsonl"
PAIR, PAIR_AGAIN = (FIXTURES / "turns" / f"h200x2-{turn}.jsonl" for turn in (1, 2))


@cache
def healthy() -> RunFile:
    """Return a run of 4 H200 without a fault."""
    return RunFile.read(HEALTHY)


def write(run: RunFile, path: Path) -> Path:
    """Write a run as the file that it would have been, and return its path."""
    lines = [run.header, *(line for row in run.rows for line in row.lines), *run.states]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def bad_link(folder: Path) -> Path:
    """Return the healthy run with 1 of 18 NVLinks of gpu:1 down."""
    return write(lanes_down("gpu:1")(healthy()), folder / "bad-link.jsonl")


def cut_short(folder: Path, lines: int = 11) -> Path:
    """Return the healthy run as a killed run leaves it."""
    path = folder / "cut-short.jsonl"
    path.write_text("".join(HEALTHY.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]), encoding="utf-8")
    return path


def frontier(folder: Path) -> Path:
    """Return a run of the machine model of Frontier."""
    path = folder / "frontier.jsonl"
    run(Request(suites=("default",), machine="frontier"), path, Listener(), [])
    return path
