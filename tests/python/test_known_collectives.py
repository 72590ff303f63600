"""Known collectives: a library's large all-reduces are held against what healthy nodes are known to reach."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.console import Console

from linkscope.analysis.explain import Diagnosis, explain
from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.described import load_machine
from linkscope.machine.expected import expected_collective
from linkscope.report import explain_text
from linkscope.report.html import render
from linkscope.results.interval import scaled
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
NCCL_TESTS = FIXTURES / "importers" / "nccl-tests-2.19.txt"


@cache
def recorded() -> RunFile:
    return RunFile.read(FIXTURES / "runs" / "h200x4-direct.jsonl")


def slower(row: Row, factor: float, low: float = 1.0) -> Row:
    """With a rate so many times as high, of which the interval reaches down to ``low`` of it."""
    (flow,) = row.flows
    assert flow.gbps is not None
    rate = scaled(flow.gbps, factor)
    return replace(row, flows=(replace(flow, gbps=replace(rate, low=rate.median * low, high=rate.median)),))


def judged(factor: float, low: float = 1.0) -> Diagnosis:
    """Of the recorded run with its large all-reduces by NCCL so many times as fast."""
    ids = {one.id for one in explain(recorded()).collectives}
    rows = tuple(slower(row, factor, low) if row.id in ids else row for row in recorded().rows)
    return explain(replace(recorded(), rows=rows))


def only(found: Diagnosis) -> JudgedCollective:
    (one,) = found.collectives
    return one


def test_a_large_all_reduce_as_fast_as_known_is_normal() -> None:
    found = explain(recorded())
    one = only(found)
    known = expected_collective("NVIDIA H200", "nvlink", one.method, "all-reduce", 4)
    assert known is not None
    assert (one.bytes, len(one.gpus)) == (known.from_bytes, 4)
    assert one.expected_gbps == pytest.approx(known.share * one.line_gbps)
    assert (found.judged, found.published, found.wrong) == (1, 1, False)
    assert not explain_text.cannot_tell(found)
    assert "All-reduce of 1 GiB or more" in explain_text.headline(found)
    assert found.unseen == ()
    assert one.id not in {row.id for row in recorded().rows if row.case["flows"][0]["bytes"] < known.from_bytes}


def test_one_that_is_surely_slower_is_a_finding() -> None:
    found = judged(0.8)
    assert only(found).short
    (short,) = found.shortfalls
    assert short.where == only(found).gpus
    assert short.cost == pytest.approx(only(found).missing)
    assert "all-reduce" in explain_text.headline(found)
    assert found.wrong


def test_one_that_an_interval_leaves_open_is_not_judged() -> None:
    found = judged(0.95, low=0.9)
    assert found.collectives == ()
    assert explain_text.cannot_tell(found)


def test_of_other_numbers_of_gpus_and_links_nothing_is_known() -> None:
    assert expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 3) is None
    assert expected_collective("NVIDIA H200", "pcie", "xccl-collective", "all-reduce", 4) is None
    assert expected_collective("NVIDIA A100", "nvlink", "xccl-collective", "all-reduce", 4) is None
    assert expected_collective("NVIDIA H200", "nvlink", "direct-collective", "all-reduce", 4) is None


def test_a_model_is_no_witness() -> None:
    rows = tuple(Row.from_json({**row.raw, "modelled": True}) for row in recorded().rows)
    assert explain(replace(recorded(), rows=rows)).collectives == ()


def test_an_import_is_judged_once_its_links_are_known(tmp_path: Path) -> None:
    bare = import_file(NCCL_TESTS, tmp_path / "bare.jsonl", Wanted(None, None, None, None), ["linkscope"])
    assert explain_text.NO_LINKS in explain_text.headline(explain(bare))
    machine = load_machine("h200x4")
    told = import_file(NCCL_TESTS, tmp_path / "told.jsonl", Wanted(None, None, machine, None), ["linkscope"])
    found = explain(told)
    assert {one.name for one in found.collectives} == {"all-reduce on 4 GPUs"}
    assert not explain_text.cannot_tell(found)


@pytest.mark.parametrize("full", [False, True])
def test_they_stand_with_their_source(full: bool) -> None:
    found, stream = explain(recorded()), io.StringIO()
    (explain_text.show_all if full else explain_text.show)(found, Console(file=stream, width=80))
    text = stream.getvalue()
    assert f"[a] {only(found).held_against.split(',')[0]}" in text
    assert f"{only(found).measured.median:.1f}" in text
    assert (only(found).settings.split(", ")[0] in text) == full
    page = render(recorded())
    assert "all-reduce on 4 GPUs, bus bandwidth" in page
