"""A run of the default suite measured on a node with four H200, as recorded: it must read, add up and show."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest
from result_schema import validate

from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

RECORDED = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
PEAK_GBPS = 450.0  # 18 NVLinks of 25 GB/s


@pytest.fixture(scope="module")
def run() -> RunFile:
    return RunFile.read(RECORDED)


def test_every_line_is_of_the_schema() -> None:
    for line in RECORDED.read_text().splitlines():
        validate(json.loads(line))


def test_all_planned_cases_were_measured_and_verified(run: RunFile) -> None:
    assert run.missing == ()
    assert {row.status for row in run.rows} == {"ok"}
    assert not run.modelled
    assert all(row.raw["verified"]["rounds"] == 2 for row in run.rows)


def test_intervals_enclose_their_medians(run: RunFile) -> None:
    for row in (one for folded in run.rows for one in folded.measured):
        for flow in row.flows:
            stats = flow.seconds
            assert stats.min <= stats.low <= stats.median <= stats.high <= stats.max, row.id
            assert stats.n == len(flow.samples_s) >= 3, row.id


def results(run: RunFile, test: str, method: str = "copy-engine") -> polars.DataFrame:
    return Run(run).results.filter(polars.col("row") == test, polars.col("method") == method)


def test_no_copy_between_gpus_beats_the_link(run: RunFile) -> None:
    found = results(run, "d2d")
    assert found.height == 12
    assert set(found["peak_gbps"]) == {PEAK_GBPS}
    assert found["of_peak"].is_between(0.8, 1).all()


def test_the_sum_of_both_ways_is_twice_one_way_at_most(run: RunFile) -> None:
    both = results(run, "d2d-both-ways")
    assert both.height == 6
    assert (both["value"] <= 2 * PEAK_GBPS).all()


def test_a_flag_that_guards_data_costs_more_than_a_bare_one(run: RunFile) -> None:
    found = results(run, "ping-pong", "ping-pong").sort("path")
    release = found["parameters"].str.contains("release")
    bare, guarding = found.filter(~release), found.filter(release)
    assert bare["path"].to_list() == guarding["path"].to_list()
    assert (bare["value_high"] < guarding["value_low"]).all()
