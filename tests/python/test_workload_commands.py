"""app halo, particles and pattern: options, what is run, run files that resume, and faults in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from launching import Bench, bench, statuses

from linkscope.api import run
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request, prepare
from linkscope.launch.run import request_of
from linkscope.launch.workload_request import WorkloadRequest
from linkscope.plan.rank_places import USUAL_BYTES_ON_CPUS
from linkscope.results.run_file import RunFile
from linkscope.workload.halo import WORD

__all__ = ["bench"]
DIRECT = ("--interface", "direct", "--memory", "pageable", "--rounds", "1", "-o", "a.jsonl")
HALO = "halo/halo/960x960-2/2-ranks/direct/pageable"
SMALL = ("halo", "--ranks", "2", "--cells", "960x960", "--steps", "2")


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.csv"
    path.write_text("source,destination,bytes,phase\n0,1,4K,a\n1,0,4K,a\n")
    return path


def test_a_halo_exchange_is_measured_and_answered(bench: Bench) -> None:
    ended = bench.cli("app", *SMALL, *DIRECT)
    assert ended.code == 0, ended.err
    assert statuses(bench.records(Path("a.jsonl"))) == {HALO: "ok"}
    assert "960 x 960" in ended.out


def test_without_a_deck_one_that_takes_less_than_a_minute_is_said(bench: Bench) -> None:
    ended = bench.cli("app", "halo", *DIRECT, "--dry-run")
    assert ended.code == 0, ended.err
    assert "bm2048_short" in ended.out
    plan = json.loads(bench.cli("app", "halo", *DIRECT, "--dry-run", "--json").out)
    (case,) = plan["cases"]
    grid = case["flows"][0]["schedule"]["grid"]
    assert len(case["flows"][0]["members"]) == len(grid["chunks"]) >= 2
    assert grid["cells"][0] * grid["cells"][1] * len(grid["fields"]) * WORD <= USUAL_BYTES_ON_CPUS


def test_options_reach_the_schedule(bench: Bench) -> None:
    options = ("--deck", "problem-2", "--grid", "2x1x1", "--particles", "50000", "--cycles", "3")
    ended = bench.cli("app", "particles", *options, "--termination", "non-blocking", *DIRECT, "--dry-run", "--json")
    (case,) = json.loads(ended.out)["cases"]
    (loop,) = case["flows"][0]["schedule"]["loops"]
    assert loop["repeats"] == 3
    assert {phase.get("termination") for phase in loop["phases"]} == {None, "non-blocking"}
    assert case["labels"]["workload"]["deck"].startswith("problem-2, 50000 particles, 3 cycles, 2x1x1 ranks")
    assert len(case["flows"][0]["members"]) == 2


def test_a_layers_options_reach_its_label(bench: Bench) -> None:
    options = ("--tokens", "16", "--hidden", "64", "--topk", "2", "--experts", "8", "--skew", "1.5", "--dtype", "bf16")
    assert bench.cli("app", "moe", "--ranks", "2", *options, *DIRECT).code == 0
    (row,) = bench.records(Path("a.jsonl"))[1:2]
    label = row["case"]["labels"]["workload"]
    assert row["id"] == "moe/moe/16x64-top2of8-bf16-skew1.5/2-ranks/direct/pageable"
    assert [len(one) for one in label["own_bytes"]] == [2, 2]
    assert label["bytes"] == row["case"]["flows"][0]["bytes"] > 0
    assert request_of(RunFile.read("a.jsonl")).workload == WorkloadRequest(
        "moe", ranks="2", tokens=16, hidden=64, topk=2, experts=8, skew=1.5, dtype="bf16", interface="direct",
        memory="pageable",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("halo", "--ranks", "4", "--cells", "3x1"), "3 x 1 cells are too few for 4 ranks"),
        (("halo", "--cells", "no"), "cells are given as 61440x30720"),
        (("halo", "--deck", "bm2048"), "too little memory: .*; the largest that fits is bm"),
        (("halo", "--ranks", "1"), "ranks: it takes 2 to 4096"),
        (("halo", "--ranks", "64", "--cells", "960x960"), "64 ranks want a CPU each"),
        (("halo", "--steps", "0"), "--steps: one at least"),
        (("halo", "--interface", "ucx"), "unknown interface 'ucx': choose from mpi, xccl, direct"),
        (("halo", "--interface", "xccl"), "nothing of halo can run on .*: the host engine has no method xccl-schedule"),
        (("particles", "--staging", "full"), "No such option: --staging"),
        (("halo", "--staging", "half"), "unknown staging 'half'"),
        (("halo", "--memory", "gold"), "unknown memory 'gold'"),
        (("halo", "--order", "gpu:0,gpu:1"), "order: unknown device 'gpu:0'"),
        (("particles", "--grid", "2x2"), "a grid of ranks is given as 2x2x1"),
        (("particles", "--grid", "2x2x1", "--ranks", "3"), "a grid of 2 x 2 x 1 is not of 3 ranks"),
        (("particles", "--termination", "never"), "unknown termination 'never'"),
        (("moe", "--ranks", "2", "--topk", "9", "--experts", "8"), "moe: 9 topk: it takes 1 to 8"),
        (("moe", "--tokens", "0"), "0 tokens: it takes 1 to"),
        (("moe", "--dtype", "fp4"), "unknown dtype 'fp4'"),
        (("pattern", "none.csv"), "cannot read none.csv"),
        (("pattern", "traffic.csv", "--gaps", "some"), "unknown gaps 'some'"),
        (("halo", "--machine", "atlantis"), "atlantis"),
    ],
)
def test_what_cannot_run_is_one_line(bench: Bench, traffic: Path, words: tuple[str, ...], complaint: str) -> None:
    assert traffic.exists()
    ended = bench.cli("app", *words)
    assert ended.code == 2
    assert _found(complaint, ended.complaint), ended.complaint
    assert not Path("runs").exists()


def _found(complaint: str, line: str) -> bool:
    parts = iter(complaint.split(".*"))
    at = 0
    return all((at := line.find(part, at)) >= 0 for part in parts)


def test_a_request_comes_back_from_its_run_file(bench: Bench) -> None:
    bench.cli("app", *SMALL, *DIRECT)
    before = RunFile.read("a.jsonl")
    request = request_of(before)
    assert request.workload == WorkloadRequest(
        "halo", ranks="2", cells="960x960", steps=2, interface="direct", memory="pageable"
    )
    assert Request.from_json(request.to_json()) == request
    assert before.header["command"] == ["linkscope", "app", *SMALL, *DIRECT]


def test_a_run_that_was_cut_is_completed(bench: Bench) -> None:
    bench.faults({HALO: "crash"})
    assert bench.cli("app", *SMALL, *DIRECT).code == 1
    bench.faults({})
    assert bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert [row.status for row in RunFile.read("a.jsonl").rows] == ["ok"]
    bench.faults({HALO: "crash"})
    Path("a.jsonl").unlink()
    bench.cli("app", *SMALL, *DIRECT)
    bench.faults({})
    assert bench.cli("app", *SMALL, *DIRECT, "--resume").code == 0


def test_a_run_file_is_no_pattern(bench: Bench) -> None:
    assert bench.cli("app", *SMALL, *DIRECT).code == 0
    ended = bench.cli("app", "pattern", "a.jsonl", "--dry-run")
    assert ended.code == 2
    assert "linkscope show a.jsonl" in ended.err


def test_a_run_file_reads_no_pattern_by_itself(bench: Bench, traffic: Path) -> None:
    bench.faults({"pattern": "crash"})
    assert bench.cli("app", "pattern", traffic, *DIRECT).code == 1
    bench.faults({})
    ended = bench.cli("run", "--resume", "-o", "a.jsonl")
    assert ended.code == 2
    assert (
        f"`linkscope app pattern {traffic} --interface direct --memory pageable --rounds 1 --resume -o a.jsonl`"
        in ended.complaint
    )
    assert bench.cli("app", "pattern", traffic, *DIRECT, "--resume").code == 0
    assert {row.status for row in RunFile.read("a.jsonl").rows} == {"ok"}
    traffic.write_text("source,destination,bytes,phase\n0,1,8K,a\n1,0,4K,a\n")
    assert "another plan" in bench.cli("app", "pattern", traffic, *DIRECT, "--resume").complaint


def test_a_hang_is_a_failed_row_in_bounded_time(bench: Bench) -> None:
    job = prepare(Request(("halo",), workload=WorkloadRequest("halo", ranks="2", cells="960x960", interface="direct")))
    assert 30 < job.cases[0].case["timeout_s"] < 60


def test_cases_that_nobody_can_start_are_no_answer_and_leave_no_file(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(bench.folder))
    monkeypatch.setattr("linkscope.launch.launcher.launch_options.find_mpiexec", lambda: None)
    ended = bench.cli("app", *SMALL, "--interface", "mpi", "--rounds", "1", "-o", "a.jsonl")
    assert ended.code == 2
    assert "no mpiexec" in ended.complaint
    assert not Path("a.jsonl").exists()


def test_a_notebook_runs_them_too(bench: Bench) -> None:
    asked = WorkloadRequest("halo", ranks="2", cells="960x960", steps=2, interface="direct", memory="pageable")
    done = run(workload=asked, output="a.jsonl", rounds="1")
    assert [row.id for row in done.rows] == [HALO]
    with pytest.raises(LinkscopeError, match="one or the other"):
        run("default", workload=asked)


def test_options_of_one_application_are_not_of_another() -> None:
    with pytest.raises(LinkscopeError, match="--cells is not of particles"):
        WorkloadRequest("particles", cells="3x3").suite()
    with pytest.raises(LinkscopeError, match="unknown application 'chess'"):
        WorkloadRequest("chess").suite()


def test_a_damaged_workload_in_a_run_file_is_one_line(bench: Bench) -> None:
    bench.cli("app", *SMALL, *DIRECT)
    lines = Path("a.jsonl").read_text().splitlines()
    header = json.loads(lines[0])
    header["plan"]["request"]["workload"] = ["/etc/passwd"]
    Path("a.jsonl").write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    ended = bench.cli("run", "--resume", "-o", "a.jsonl")
    assert ended.code == 2
    assert "does not say how it was asked for" in ended.complaint
