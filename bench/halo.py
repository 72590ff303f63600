"""halo: linkscope's halo exchange of two ranks on host memory beside a hand-written one (halo_loop.c), in turns.

    .venv/bin/python bench/halo.py build/halo_loop MPIEXEC [--cells 960x960] [--turns 7]

Prints a line for each turn and the ratio of the medians: linkscope's time of a schedule over the hand-written loop's.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from statistics import median

import linkscope

STEPS = 87
SAMPLES = 60
"""Schedules that the loop carries out in a turn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loop", type=Path)
    parser.add_argument("mpiexec", type=Path)
    parser.add_argument("--cells", default="960x960")
    parser.add_argument("--turns", type=int, default=7)
    asked = parser.parse_args()
    ours, theirs = [], []
    for turn in range(asked.turns):
        theirs.append(by_hand(asked.mpiexec, asked.loop, asked.cells))
        ours.append(by_linkscope(asked.mpiexec, asked.cells))
        print(f"turn {turn}: linkscope {ours[-1] * 1e3:.3f} ms, by hand {theirs[-1] * 1e3:.3f} ms", flush=True)
    ratios = [own / other for own, other in zip(ours, theirs, strict=True)]
    print(f"linkscope / by hand: median {median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")


def by_hand(mpiexec: Path, loop: Path, cells: str) -> float:
    """Seconds of a schedule."""
    command = [mpiexec, "-n", "2", loop, *cells.split("x"), str(STEPS), str(SAMPLES)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def by_linkscope(mpiexec: Path, cells: str) -> float:
    """The same, of one round."""
    workload = linkscope.WorkloadRequest("halo", cells=cells, steps=STEPS, ranks="2", interface="mpi")
    with tempfile.TemporaryDirectory() as folder:
        run = linkscope.run(
            workload=workload,
            rounds="1",
            launcher="mpiexec",
            launcher_command=str(mpiexec),
            output=Path(folder) / "halo.jsonl",
        )
    (row,) = run.rows
    return float(row.measured_flows[0][1].seconds.median)


if __name__ == "__main__":
    main()
