"""What a model has nothing for is said before it runs and above its figures, by suite row and reason."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import linkscope
from linkscope.cli.main import app
from linkscope.cli.progress import ahead, extent, not_modelled
from linkscope.launch.job import Request, prepare
from linkscope.messages.catalog import commands, sentence
from linkscope.messages.finding import note
from linkscope.plan.model_gaps import model_gaps
from linkscope.results.run_file import RunFile

HOST_MPI = "no source gives MPI's rate in host memory"


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    return linkscope.run(
        "p2p-processes", output=where, machine="frontier", devices="gpu:0-1,numa:0", keyword="ping-pong"
    )


def gaps(cases: list[tuple[str, str, str | None]]) -> list[tuple[str, Any]]:
    return [(one.code, {**one.facts}) for one in model_gaps(cases, "node", "a b.yaml")]


def test_a_test_is_lacking_where_none_of_its_cases_is_modelled() -> None:
    cases = [("s", "a", "no rate"), ("s", "b", "no rate"), ("s", "b", None), ("s", "c", "other"), ("s", "d", "no rate")]
    assert gaps(cases) == [
        ("model.tests", {"node": "node", "modelled": 1, "tests": 4}),
        ("model.lacking-several", {"test": "a", "more": 1, "tests": ["a", "d"], "reason": "no rate"}),
        ("model.lacking", {"test": "c", "reason": "other"}),
        ("model.card", {"machine": "'a b.yaml'"}),
    ]


def test_of_several_suites_each_is_named() -> None:
    found = gaps([("s", "a", "no rate"), ("t", "a", None)])
    assert [facts["test"] for code, facts in found if code == "model.lacking"] == ["s/a"]


def test_where_all_is_modelled_nothing_is_said() -> None:
    assert gaps([("s", "a", None)]) == []


def test_before_a_run_it_is_said_first_that_no_message_of_host_memory_is_modelled() -> None:
    job = prepare(Request(suites=("p2p-processes",), machine="frontier", keyword="ping-pong"))
    found = not_modelled(job)
    lacking = [one for one in found if one.code.startswith("model.lacking")]
    assert any("host-latency" in one.facts["test"] and one.facts["reason"] == HOST_MPI for one in lacking)
    assert (extent(job, job.cases).code, extent(job, job.cases).facts["node"]) == ("plan.extent-model", "frontier")
    assert len(ahead(job, job.cases).splitlines()) == len(found) + 1


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A machine file of one's own, in a folder whose name the shell would split."""
    (folder := tmp_path / "a b").mkdir()
    described = (Path(__file__).parents[2] / "machines" / "frontier.yaml").read_text()
    (path := folder / "mine.yaml").write_text(described.replace("name: frontier", "name: mine"))
    return path


def test_what_is_advised_of_a_machine_file_of_ones_own_can_be_typed(own: Path) -> None:
    job = prepare(Request(suites=("p2p-processes",), machine=str(own), keyword="ping-pong"))
    (advice,) = commands(not_modelled(job)[-1])
    words = shlex.split(advice)
    assert words == ["linkscope", "list", "machines", str(own)]
    card = json.loads(CliRunner().invoke(app, [*words[1:], "--json"]).output)
    assert shlex.split(card["next"]) == ["linkscope", "run", "--machine", str(own)]
    assert HOST_MPI in card["no data for"].values()
    assert "COPY" not in card["add data"]


def test_no_machine_is_named_that_list_does_not_know(messages: RunFile) -> None:
    def named(run: RunFile) -> list[str]:
        return [command for one in linkscope.explain(run).next for command in commands(one)]

    assert "linkscope list machines frontier" in named(messages)
    for node in (
        replace(messages.node, name="x; rm y"),
        replace(messages.node, notes=("a copy", "with other figures")),
    ):
        run = replace(messages, header={**messages.header, "node": node.to_json()})
        assert named(run) == ["linkscope list machines"]


def test_what_else_keeps_a_case_from_running_is_no_gap_of_the_model() -> None:
    """With one GPU of the node cases lack the others: the model has data for them."""
    assert not_modelled(prepare(Request(suites=("default",), machine="ac922", devices="gpu:0", keyword="h2d"))) == []


def test_what_one_vendors_gpus_alone_have_is_modelled_on_no_others() -> None:
    def skips(machine: str) -> set[str | None]:
        job = prepare(Request(suites=("peer",), machine=machine, methods="kernel-bulk-copy"))
        return {case.skip for case in job.cases}

    assert skips("frontier") == {"kernel-bulk-copy is for NVIDIA GPUs"}
    assert None in skips("h200x4")


def test_a_suite_without_a_case_on_the_node_is_told_where_others_have_some() -> None:
    job = prepare(Request(suites=("host", "p2p-processes"), machine="mi300a", keyword="chase"))
    assert job.notes == (sentence(note("plan.no-case", suite="p2p-processes")),), "it has tests of hosts"
    assert prepare(Request(suites=("default",), machine="mi300a")).notes == ()
