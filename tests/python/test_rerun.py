"""Rerun: cases of a run again, each in many processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from launching import PAIR_SUITE, Bench, add_engine, bench

from linkscope.results.run_file import RunFile

__all__ = ["bench"]


@pytest.fixture
def measured(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_engine(bench.engines, "cuda")
    monkeypatch.setenv("FAKE_GPUS", "2")
    Path("pair.yaml").write_text(PAIR_SUITE)
    assert bench.cli("run", "pair.yaml", "--rounds", "3", "-o", "pair.jsonl").code == 0
    return Path("pair.jsonl")


def test_rerun_measures_chosen_cases_in_so_many_processes(bench: Bench, measured: Path) -> None:
    before = measured.read_bytes()
    ended = bench.cli("rerun", measured, "-k", "gpu:0>gpu:1", "--processes", "6", "-o", "six.jsonl", "--json")
    assert ended.code == 0
    (row,) = RunFile.read("six.jsonl").rows
    assert len(row.replicates) == 6
    assert json.loads(ended.out)["headline"]["facts"]["processes"] == 6
    assert measured.read_bytes() == before


def test_rerun_takes_the_results_with_two_speeds(bench: Bench, measured: Path) -> None:
    assert bench.cli("rerun", measured).code == 2, "there are none"
    run = RunFile.read(measured)
    lines = [run.header, *(line for row in run.rows for line in row.lines), *run.states]
    first = next(line for line in lines if line["record"] == "row")
    for name, factor in (("seconds", 1.2), ("gbps", 1 / 1.2)):
        found = first["flows"][0][name]
        found.update({key: value * factor for key, value in found.items() if key != "n"})
    measured.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert bench.cli("rerun", measured, "--processes", "6", "-o", "six.jsonl").code == 0
    assert [row.id for row in RunFile.read("six.jsonl").rows] == [first["case"]["id"]]


@pytest.mark.parametrize("words", [("--processes", "2"), ("-k", "absent")])
def test_what_rerun_cannot_do_is_one_line(bench: Bench, measured: Path, words: tuple[str, str]) -> None:
    ended = bench.cli("rerun", measured, *words)
    assert (ended.code, len(ended.complaint.splitlines())) == (2, 1)
