"""What a model has nothing for is said before it runs and above its figures, by suite row and reason."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from launching import real_engine
from rich.console import Console

import linkscope
from linkscope.analysis.explain import explain
from linkscope.analysis.model_gaps import ModelGaps, model_gaps
from linkscope.analysis.overview import overview
from linkscope.cli.progress import ahead, not_modelled
from linkscope.launch.job import Request, prepare
from linkscope.report import brief_text, explain_text, model_gaps_text
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]
HOST_MPI = "no source gives MPI's rate in host memory"


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory, real_engine: None) -> RunFile:
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    return linkscope.run(
        "p2p-processes", output=where, machine="frontier", devices="gpu:0-1,numa:0", keyword="ping-pong"
    )


def test_a_suite_row_is_lacking_where_none_of_its_cases_has_a_figure() -> None:
    cases = [("s", "a", "no rate"), ("s", "b", "no rate"), ("s", "b", None), ("s", "c", "other"), ("s", "d", "no rate")]
    assert model_gaps(cases) == ModelGaps(("b",), {"no rate": ("a", "d"), "other": ("c",)})


def test_of_several_suites_each_is_named() -> None:
    assert model_gaps([("s", "a", "no rate"), ("t", "a", None)]) == ModelGaps(("t/a",), {"no rate": ("s/a",)})


def test_where_all_is_modelled_nothing_is_said() -> None:
    gaps = model_gaps([("s", "a", None)])
    assert model_gaps_text.lines(gaps, "node") == []
    assert model_gaps_text.sentence(gaps, "node") == ""


def test_before_a_run_it_is_said_first_that_no_message_of_host_memory_is_modelled(real_engine: None) -> None:
    job = prepare(Request(suites=("p2p-processes",), machine="frontier", keyword="ping-pong"))
    told = ahead(job, job.cases).splitlines()
    assert "host-latency: " in told[1]
    assert HOST_MPI in told[1]
    assert "modelled cases on frontier" in told[-1]
    assert all(len(line) <= 80 for line in told)


def test_a_screen_says_it_above_the_verdict_which_is_a_models(messages: RunFile) -> None:
    diagnosis = explain(messages)
    console = Console(width=80, file=(file := io.StringIO()))
    brief_text.show(messages, overview(messages.rows, messages.node), diagnosis, console)
    text = " ".join(file.getvalue().split())
    assert text.index(HOST_MPI) < text.index(explain_text.headline(diagnosis))
    assert "linkscope list machines frontier" in explain_text.grounds(diagnosis)


@pytest.mark.parametrize("width", [80, 120])
def test_a_screen_with_gaps_and_assumed_latencies_has_forty_lines(
    tmp_path: Path, real_engine: None, width: int
) -> None:
    run = linkscope.run("p2p-processes", output=tmp_path / "a.jsonl", machine="frontier", devices="gpu:0-1,numa:0")
    console = Console(width=width, file=(file := io.StringIO()))
    brief_text.show(run, overview(run.rows, run.node), explain(run), console)
    assert file.getvalue().count("\n") <= brief_text.MOST_LINES


def test_what_else_keeps_a_case_from_running_is_no_gap_of_the_model(tmp_path: Path, real_engine: None) -> None:
    """One GPU of the node, or a case that failed: the model has figures for both."""
    assert not_modelled(prepare(Request(suites=("default",), machine="h200x4", devices="gpu:0"))) == []
    run = linkscope.run("default", output=tmp_path / "a.jsonl", machine="h200x4", devices="gpu:0", keyword="h2d")
    assert "ok" in {row.status for row in run.rows}
    failed = [replace(row, status="failed", reason="ended by a signal") for row in run.rows]
    assert brief_text.gaps_of(replace(run, rows=failed)).lacking == {}
