"""What studies published comes out of the described nodes, and what a node's recorded run has, out of its model.

Each test names the study's table, figure or section. Figures that a description was fitted to (``fits``) are kept here
too: a later change must not lose them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import median

import pytest
from launching import real_engine

import linkscope
from linkscope.analysis.headline import headline
from linkscope.results.reading import read_run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]

RECORDED = Path(__file__).resolve().parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10
TIERS = {"quad": ("gpu:0", "gpu:1"), "dual": ("gpu:0", "gpu:6"), "single": ("gpu:0", "gpu:2")}
PEAKS = {"quad": 200, "dual": 100, "single": 50}
Ask = Callable[[str, str], RunFile]


@pytest.fixture(scope="module")
def modelled(tmp_path_factory: pytest.TempPathFactory, real_engine: None) -> Ask:
    """Runs a suite on a described node, once."""
    runs: dict[tuple[str, str], RunFile] = {}

    def ask(suite: str, machine: str) -> RunFile:
        if (suite, machine) not in runs:
            where = tmp_path_factory.mktemp("runs") / "run.jsonl"
            runs[suite, machine] = linkscope.run(suite, output=where, machine=machine)
        return runs[suite, machine]

    return ask


def rows(run: RunFile, name: str, *words: str) -> list[Row]:
    """The rows of a suite's row that ran, whose id has all ``words`` between slashes."""
    found = [row for row in run.rows if row.case["name"] == name and row.status == "ok"]
    return [row for row in found if set(words) <= set(row.id.split("/"))]


def value(run: RunFile, name: str, *words: str) -> float:
    """The headline of the one row: GB/s, or seconds."""
    (row,) = rows(run, name, *words)
    figure = headline(row)
    assert figure is not None
    return figure.stats.median


def between(run: RunFile, name: str, a: str, b: str, *words: str) -> float:
    (row,) = (row for row in rows(run, name, *words) if row.id.split("/")[2].split(":", 1)[-1].endswith(f"{a}>{b}"))
    figure = headline(row)
    assert figure is not None
    return figure.stats.median
