"""compare --again: an alarm that does not show again is none, one that does stands, and elsewhere nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import planted_faults as planted
import pytest
from launching import PAIR_SUITE, Bench, add_engine, bench

from linkscope.results.run_file import RunFile

__all__ = ["bench"]

SLOW = 0.5


@pytest.fixture
def runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A run of two GPUs, and one with one of its ways made slower."""
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_GPUS", "2")
    Path("pair.yaml").write_text(PAIR_SUITE)
    assert bench.cli("run", "pair.yaml", "-o", "whole.jsonl").code == 0
    written("slow.jsonl", planted.slowed(RunFile.read("whole.jsonl"), from_first, SLOW))
    return Path("whole.jsonl"), Path("slow.jsonl")


def from_first(flow: Any) -> bool:
    return planted.ends(flow)[0] == "gpu:0"


def written(name: str, run: RunFile) -> None:
    lines = [run.header, *(line for row in run.rows for line in row.lines), *run.states]
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines))


def again_runs() -> list[RunFile]:
    return [RunFile.read(path) for path in Path("runs").glob("*.jsonl")]


def test_what_does_not_show_again_is_no_alarm(
    bench: Bench, runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, slow = runs
    before = slow.read_bytes()
    assert bench.cli("compare", whole, slow).code == 1
    assert again_runs() == []
    monkeypatch.setenv("FAKE_LOG", "log")
    assert bench.cli("compare", whole, slow, "--again").code != 1
    assert [json.loads(line)["cases"] for line in Path("log").read_text().splitlines()] == [1]
    (again,) = again_runs()
    was = {row.id: row.raw for row in RunFile.read(slow).rows}
    anew = [flow for row in again.rows for flow in row.case["flows"] if row.raw != was[row.id]]
    assert [from_first(flow) for flow in anew] == [True]
    assert [row.status for row in again.rows] == ["ok"] * 2
    assert slow.read_bytes() == before


def test_what_is_still_so_is_an_alarm(bench: Bench, runs: tuple[Path, Path]) -> None:
    whole, _ = runs
    written("fast.jsonl", planted.slowed(RunFile.read(whole), from_first, 1 / SLOW))
    ended = bench.cli("compare", "fast.jsonl", whole, "--again", "--json")
    assert ended.code == 1
    (again,) = again_runs()
    assert json.loads(ended.out)["new"] == [str(again.path)]


def test_elsewhere_the_alarm_stands_and_nothing_is_left(bench: Bench, runs: tuple[Path, Path]) -> None:
    whole, slow = runs
    header, *rest = slow.read_text().splitlines()
    slow.write_text("\n".join([json.dumps({**json.loads(header), "host": "elsewhere"}), *rest]) + "\n")
    ended = bench.cli("compare", whole, slow, "--again")
    assert (ended.code, "was made on elsewhere" in ended.complaint) == (1, True)
    assert again_runs() == []


def test_nothing_worse_is_not_measured(bench: Bench, runs: tuple[Path, Path]) -> None:
    whole, slow = runs
    assert bench.cli("compare", slow, whole, "--again").code == 0
    assert bench.cli("compare", whole, slow, whole, "--again").code == 2
    assert again_runs() == []
