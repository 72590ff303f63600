"""What an import cannot take or judge: tests of more GPUs than the tool ran on, figures of a node without links."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from result_schema import validate
from test_checked_results import checked, explain
from test_importers import MEASURED, SAMPLES
from typer.testing import CliRunner

import linkscope
from linkscope.cli.main import app
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.described import load_machine
from linkscope.messages.catalog import commands
from linkscope.results.run_file import RunFile

OF_ALL = {f"{way}_memcpy_{by}" for way in ("all_to_host", "host_to_all") for by in ("ce", "sm")} | {
    f"{way}_bidirectional_memcpy_{by}" for way in ("all_to_host", "host_to_all") for by in ("ce", "sm")
}


@pytest.mark.parametrize("where", ["machine", "beside"])
@pytest.mark.parametrize("name", ["nvbandwidth-0.8-h200.txt", "nvbandwidth-0.8-h200.json"])
def test_tests_of_all_gpus_are_left_out_where_the_node_has_more(tmp_path: Path, name: str, where: str) -> None:
    machine = where == "machine"
    output = tmp_path / "run.jsonl"
    asked = Wanted(node=load_machine("h200x4")) if machine else Wanted(beside=RunFile.read(MEASURED))
    found = import_file(SAMPLES[name], output, asked)
    for line in output.read_text().splitlines():
        validate(json.loads(line))
    assert (len(found.with_status("ok")), len(found.rows)) == (10, 18)
    left = found.with_status("skipped")
    assert {row.raw["origin"]["test"] for row in left} == OF_ALL
    assert (len(left), len({row.reason for row in left})) == (8, 1)
    (left_out,) = (one for one in Run(found).printed if one.code == "import.incomplete")
    assert (left_out.facts["cases"], left_out.facts["all"]) == (8, 18)
    assert set(left_out.facts["tests"]) == OF_ALL


def test_the_terminal_says_what_is_left_out_then_and_later(tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    sample = str(SAMPLES["nvbandwidth-0.8-h200.txt"])
    told = CliRunner().invoke(app, ["import", sample, "--machine", "h200x4", "-o", str(output)])
    assert told.exit_code == 0
    reason = RunFile.read(output).with_status("skipped")[0].reason or ""
    shown = CliRunner().invoke(app, ["show", str(output), "--full"])
    assert reason in " ".join(shown.output.split())


def test_a_rate_of_four_gpus_is_none_of_eight(tmp_path: Path) -> None:
    """A test that gives one figure for flows from all other GPUs has it of those that the tool ran on."""
    node = load_machine("h200x4")
    more = [replace(gpu, id=f"gpu:{4 + i}") for i, gpu in enumerate(node.of_kind("gpu"))]
    links = [
        replace(link, a=link.a.replace(f"gpu:{i}", f"gpu:{4 + i}"), b=link.b.replace(f"gpu:{i}", f"gpu:{4 + i}"))
        for i in range(4)
        for link in node.links
        if f"gpu:{i}" in (link.a, link.b)
    ]
    eight = replace(node, devices=(*node.devices, *more), links=(*node.links, *links))
    found = import_file(SAMPLES["nvbandwidth-0.8.txt"], tmp_path / "run.jsonl", Wanted(node=eight))
    assert not [row.id for row in found.with_status("ok") if "gpu:7" in json.dumps(row.case["flows"])]
    assert "all-to-one-write-ce" in {row.name for row in found.with_status("skipped")}
    assert "d2d-write-ce" in {row.name for row in found.with_status("ok")}


def test_a_file_of_nothing_else_is_refused_with_the_reason(tmp_path: Path) -> None:
    lines = SAMPLES["nvbandwidth-0.8-h200.txt"].read_text()
    head, _, _ = lines.partition("Running ")
    test = lines[lines.index("Running all_to_host_memcpy_ce") :].partition("\nRunning")[0]
    (tmp_path / "one.txt").write_text(f"{head}{test}\n")
    with pytest.raises(LinkscopeError, match="all_to_host_memcpy_ce"):
        import_file(tmp_path / "one.txt", tmp_path / "run.jsonl", Wanted(node=load_machine("h200x4")))
    assert not (tmp_path / "run.jsonl").exists()


def test_named_gpus_have_the_links_of_their_model(tmp_path: Path) -> None:
    found = explain(import_file(SAMPLES["nvbandwidth-0.8.txt"], tmp_path / "run.jsonl", Wanted()))
    assert (found.headline.code, found.exit_code) == ("explain.ok", 0)
    assert found.data["by_reference"] == found.data["checked"] > 60


def test_an_import_of_gpus_that_nothing_is_known_of_says_what_would_check_it(tmp_path: Path) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text(SAMPLES["nccl-tests-rccl.csv"].read_text(encoding="utf-8"), encoding="utf-8")
    output = tmp_path / "bare.jsonl"
    told = CliRunner().invoke(app, ["import", str(bare), "-o", str(output)])
    found = explain(RunFile.read(output))
    assert (found.data["checked"], found.headline.code, found.exit_code) == (0, "paste.no-reference-amd", 3)
    (command,) = commands(found.headline)
    assert "rocm-smi --showproductname" in command
    assert command in told.output


def test_copies_within_gpus_that_nothing_is_known_of_give_no_verdict_on_their_links(tmp_path: Path) -> None:
    """These have peers; of the paths between GPUs, and to the host, that says nothing."""
    unknown = tmp_path / "unknown.txt"
    unknown.write_text(SAMPLES["nvbandwidth-0.8.txt"].read_text(encoding="utf-8").replace("NVIDIA H200", "NVIDIA Q1"))
    bare = explain(import_file(unknown, tmp_path / "bare.jsonl", Wanted()))
    assert bare.data["checked"] > bare.data["by_reference"] == 0
    assert bare.headline.code in ("paste.usual", "paste.likely-only"), "links are judged by their own rates alone"


@pytest.mark.parametrize(("nvls", "outcome"), [(None, "holds"), ("off", "holds"), ("on", "unclear")])
def test_whether_nccl_could_reduce_in_the_switch_is_what_the_user_says(
    tmp_path: Path, nvls: str | None, outcome: str
) -> None:
    sample = SAMPLES["nccl-tests-2.19.txt"]
    found = explain(import_file(sample, tmp_path / "run.jsonl", Wanted(node=load_machine("h200x4"), nvls=nvls)))
    assert set(checked(found)["outcome"]) == {outcome}
    assert found.headline.code != "explain.maybe-nvls-import", "who said it already is not asked again"
    chosen = linkscope.choose(tmp_path / "run.jsonl")
    assert not any(one.code == "run.nvls-off" for one in chosen.findings), "it is no setting of a run of ours"


@pytest.mark.parametrize(
    ("name", "option", "word"),
    [
        ("nvbandwidth-0.8-h200.txt", "on", "no results of NCCL"),
        ("nvbandwidth-0.8-h200.txt", "perhaps", "on or off"),
        ("nccl-tests-rccl.csv", "on", "results of RCCL"),
    ],
)
def test_nothing_is_said_of_nccl_where_it_was_not_called(tmp_path: Path, name: str, option: str, word: str) -> None:
    asked = ["import", str(SAMPLES[name]), "--nvls", option, "-o", str(tmp_path / "run.jsonl")]
    told = CliRunner().invoke(app, asked)
    assert isinstance(told.exception, LinkscopeError)
    assert word in str(told.exception)
