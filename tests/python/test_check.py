"""Check: limits made from good runs pass good runs and fail slow ones; files for other programs hold the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import modelled_run as made
import planted_faults as planted
import pytest

import linkscope
from linkscope.analysis.check import BROKEN, OK, UNCLEAR, check, made_from
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.report import check_files, check_text
from linkscope.results.limits import Limit, Limits, load_limits
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

TURNS = Path(__file__).parents[1] / "fixtures" / "turns"


def good() -> list[RunFile]:
    return [RunFile.read(path) for path in sorted(TURNS.glob("*.jsonl"))]


def limits() -> Limits:
    return made_from(good(), "2026-01-01")


def test_good_runs_keep_the_limits_made_from_them(tmp_path: Path) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(limits().text())
    for run in good():
        found = check(run, load_limits(path))
        assert found.passed
        assert found.unmatched == ()
        assert len(found.verdicts) > found.count(UNCLEAR)
        assert linkscope.check(run.path, path) == linkscope.check(run, path) == found
    assert check_text.verdict(found) in str(found._repr_html_())


def test_limits_are_of_models_and_tiers_not_of_devices() -> None:
    text = limits().text()
    assert "NVIDIA H200 > NVIDIA H200" in text
    assert not re.search(r"gpu:\d", text.partition("runs:")[0])
    both = [one for one in limits().limits if one.match["row"] == "d2d" and one.match["method"] == "copy-engine"]
    assert len(both) == 1  # of both directions


def test_a_slow_path_is_named_with_how_far_it_is_beyond() -> None:
    slow = planted.slowed(good()[0], lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.8)
    found = check(slow, limits())
    assert not found.passed
    assert {one.path for one in found.broken if "/d2d/" in one.id} == {"gpu:1 > gpu:0"}
    worst = found.broken[0]
    assert worst.beyond == pytest.approx(1 - 0.8 * 1.03, abs=0.02)
    assert worst.verdict == BROKEN


def test_a_figure_of_several_flows_is_said_to_be_theirs() -> None:
    verdicts = check(good()[0], limits()).verdicts
    assert {one.path for one in verdicts if "/d2d-both-ways/" in one.id} == {"both ways"}


def test_a_figure_whose_interval_reaches_the_limit_is_neither() -> None:
    run = planted.slowed(good()[0], lambda flow: flow["method"] == "copy-engine", 1 / 1.03)
    verdicts = {one.verdict for one in check(run, limits()).verdicts if "copy-engine" in one.id}
    assert verdicts <= {OK, UNCLEAR, BROKEN}
    wide = {one.id for one in check(run, limits()).verdicts if one.low < one.limit < one.high and one.unit == "GB/s"}
    assert wide <= {one.id for one in check(run, limits()).verdicts if one.verdict == UNCLEAR}


def test_a_failed_case_fails_the_node() -> None:
    run = good()[0]
    failed = Row.from_json({**run.rows[0].raw, "status": "failed", "reason": "wrong bytes at 7", "flows": []})
    found = check(replace(run, rows=(failed, *run.rows[1:])), limits())
    assert not found.passed
    assert found.failed == ((failed.id, "wrong bytes at 7"),)


def test_modelled_runs_and_lone_runs_make_no_limits() -> None:
    with pytest.raises(LinkscopeError, match="several good runs"):
        made_from(good()[:1], "")
    with pytest.raises(LinkscopeError, match="there twice"):
        made_from([good()[0], good()[0]], "")
    with pytest.raises(LinkscopeError, match="modelled"):
        made_from([made.run(), made.run()], "")


def test_limits_of_other_devices_are_no_pass() -> None:
    with pytest.raises(LinkscopeError, match="none of the"):
        check(made.run(found=made.sweep(pairs=1, sizes=3)), limits())


def without_gpu(run: RunFile, gpu: str) -> RunFile:
    """As if that GPU had not come up."""
    node = json.loads(json.dumps(run.header["node"]))
    node["devices"] = [one for one in node["devices"] if one["id"] != gpu]
    node["links"] = [one for one in node["links"] if gpu not in (one["a"], one["b"])]
    rows = tuple(row for row in run.rows if gpu not in json.dumps(row.case))
    return replace(run, header=run.header | {"node": node}, rows=rows)


def refused(run: RunFile, **why: str | bool) -> RunFile:
    """With every copy between GPUs skipped, one at a time."""

    def skipped(row: Row) -> Row:
        line = {**row.raw, "status": "skipped", **why, "flows": [], "aggregate": None}
        return Row.from_json(line) if "/d2d/" in row.id else row

    return replace(run, rows=tuple(map(skipped, run.rows)))


def test_a_node_that_lacks_a_gpu_is_no_pass() -> None:
    found = check(without_gpu(good()[0], "gpu:1"), limits())
    assert not found.passed
    assert found.broken == ()
    assert [(one.what, one.count, one.of) for one in found.too_few] == [("NVIDIA H200", 1, 2)]


def test_a_node_that_refuses_what_good_ones_do_is_no_pass() -> None:
    found = check(refused(good()[0], reason="no peer access"), limits())
    assert not found.passed
    assert found.broken == ()
    assert {(one.count, one.of, one.reason) for one in found.too_few} == {(0, 2, "no peer access")}
    assert all("row=d2d" in one.what for one in found.too_few)
    suite = ElementTree.fromstring(check_files.junit(found))
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) == len(found.too_few) > 0


def test_a_run_of_some_devices_lacks_nothing() -> None:
    some = good()[0]
    found = check(replace(some, rows=tuple(row for row in some.rows if "/d2d/" not in row.id)), limits())
    assert found.passed
    assert any(one.match["row"] == "d2d" for one in found.unmatched)


def test_what_a_budget_left_out_is_not_lacking() -> None:
    found = check(refused(good()[0], reason="too little time", left_out=True), limits())
    assert found.passed
    assert found.too_few == ()
    assert any(one.match["row"] == "d2d" for one in found.unmatched)


def test_of_several_limits_every_one_counts() -> None:
    own = limits()
    wide = {"row": "d2d", "method": "copy-engine"}
    strict = Limits(schema=1, limits=[*own.limits, Limit(wide, least_gbps=1e4)], made=own.made, runs=own.runs)
    found = check(good()[0], strict)
    assert found.broken
    assert {one.limit for one in found.broken} == {1e4}
    names = [line.rpartition(" ")[0] for line in check_files.prometheus(found).splitlines() if line[0] != "#"]
    assert len(set(names)) == len(names)


def test_a_column_that_figures_do_not_have_is_refused() -> None:
    typo = Limits(schema=1, limits=[Limit({"metod": "copy-engine"}, least_gbps=1)], made="", runs=[])
    with pytest.raises(LinkscopeError, match="metod"):
        check(good()[0], typo)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schema: 2\nlimits: []", "schema"),
        ("schema: 1\nlimits: []", "limits"),
        ("schema: 1\nlimits:\n- match: {row: d2d}\n", "limits[0] needs least_gbps or most_seconds"),
        ("schema: 1\nlimits:\n- match: {row: d2d}\n  least_gbps: fast\n", "least_gbps"),
        ("schema: 1\nlimits:\n- match: {row: d2d}\n  least_gbps: .nan\n", "least_gbps"),
        (
            "schema: 1\nlimits:\n- match: {row: d2d}\n  least_gps: 1\n",
            "line 4: limits[0].least_gps: there is no such field; least_gbps is one",
        ),
        ("a: &a [1, *a]", "holds itself"),
        ("limits: [1\nb: }", "is not YAML: line 2: "),
        ("[" * 100, "is nested more than 32 deep"),
        ("\x00", "is not YAML"),
    ],
)
def test_bad_limits_are_refused_with_the_entry(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(text)
    with pytest.raises(LinkscopeError) as caught:
        load_limits(path)
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_junit_counts_what_it_holds() -> None:
    slow = planted.slowed(good()[0], lambda flow: flow["method"] == "copy-engine", 0.8)
    found = check(slow, limits())
    suite = ElementTree.fromstring(check_files.junit(found))
    assert int(suite.get("tests", "0")) == len(suite.findall("testcase")) == len(found.verdicts)
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) == len(found.broken) > 0
    assert int(suite.get("skipped", "0")) == len(suite.findall("testcase/skipped")) == found.count(UNCLEAR)


def test_metrics_are_in_base_units_and_unique() -> None:
    lines = check_files.prometheus(check(good()[0], limits())).splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in samples]
    assert len(set(names)) == len(names)
    assert "linkscope_check_passed 1" in samples
    assert all(re.fullmatch(r"[a-z_]+(\{.*\})? \S+", line) for line in samples)
    rate = next(line for line in samples if line.startswith("linkscope_bytes_per_second") and "/d2d/" in line)
    assert 3e11 < float(rate.rpartition(" ")[2]) < 5e11


def run(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


def test_the_command_makes_checks_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, junit, metrics = tmp_path / "limits.yaml", tmp_path / "a.xml", tmp_path / "a.prom"
    assert run("check", "--make-limits", file, TURNS) == 0
    assert run("check", "--make-limits", file, TURNS) == 2  # never overwritten
    one = sorted(TURNS.glob("*.jsonl"))[0]
    assert run("check", one, "--limits", file, "--junit", junit, "--prometheus", metrics) == 0
    assert junit.read_text().startswith("<?xml")
    assert metrics.read_text().startswith("# ")
    capsys.readouterr()
    assert run("check", one, "--limits", file, "--json") == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert run("check", one) == 2
    assert run("check", one, "--limits", file, "--budget", "5s") == 2
    assert run("check", one, "--limits", tmp_path / "nowhere.yaml") == 2


def test_nothing_is_measured_for_limits_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_by_it = tmp_path / "a.jsonl"
    assert run("check", "host", "--budget", "5s", "--limits", tmp_path / "nowhere.yaml", "-o", made_by_it) == 2
    assert "nowhere.yaml" in capsys.readouterr().err
    assert not made_by_it.exists()
