"""Check: limits made from good runs pass good runs and fail slow ones; files for other programs hold the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import modelled_run as made
import planted_faults as planted
import polars
import pytest
import recorded

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.check import LEAST_MARGIN, OTHERS_MARGIN, limits_of
from linkscope.answers.questions import ask
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, Level
from linkscope.render import render
from linkscope.results.limits import Limit, Limits, load_limits
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

TURNS = Path(__file__).parents[1] / "fixtures" / "turns"


def good() -> list[RunFile]:
    return [RunFile.read(path) for path in sorted(TURNS.glob("*.jsonl"))]


def limits(runs: list[RunFile] | None = None) -> Limits:
    return limits_of([Run(run) for run in runs or good()], "2026-01-01")


def check(run: RunFile, known: Limits) -> Answer:
    return ask("check", run, limits=known)


def checked(answer: Answer) -> polars.DataFrame:
    return answer.table("check.checked").frame


def broken(answer: Answer) -> polars.DataFrame:
    return checked(answer).filter(polars.col("outcome") == "fails")


def lacking(answer: Answer) -> list[tuple[str, int, int]]:
    return [(one.code, one.facts["count"], one.facts["of"]) for one in answer.at(Level.ERROR)]


def unmatched(answer: Answer) -> list[str]:
    return [] if not any(one.key == "check.unmatched" for one in answer.tables) else list(
        answer.table("check.unmatched").frame["id"]
    )  # fmt: skip


def test_good_runs_keep_the_limits_made_from_them(tmp_path: Path) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(limits().text())
    for run in good():
        answer = check(run, load_limits(path))
        assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.HOLDS, 0, "check.passed")
        assert unmatched(answer) == []
        assert checked(answer).height > answer.data["unclear"]
        assert linkscope.check(run.path, path).headline == linkscope.check(run, path).headline == answer.headline


def test_limits_are_of_models_and_tiers_not_of_devices() -> None:
    text = limits().text()
    assert "NVIDIA H200 > NVIDIA H200" in text
    assert not re.search(r"gpu:\d", text.partition("runs:")[0])
    both = [one for one in limits().limits if one.match["row"] == "d2d" and one.match["method"] == "copy-engine"]
    assert len(both) == 1  # of both directions


def test_a_limit_asks_for_no_more_paths_than_every_good_run_has() -> None:
    whole, other = good()
    rows = tuple(row for row in other.rows if "/d2d/gpu:1>gpu:0/" not in row.id)
    plan = {**other.header["plan"], "ids": [row.id for row in rows]}
    part = replace(other, header=other.header | {"plan": plan}, rows=rows)
    for runs, paths in (([whole, other], 2), ([whole, part], 1), ([part, whole], 1)):
        assert {one.paths for one in limits(runs).limits if one.match["row"] == "d2d"} == {paths}


def test_limits_ask_for_no_more_devices_than_every_good_run_has() -> None:
    whole, other = good()
    for runs in ([whole, without_gpu(other, "gpu:1")], [without_gpu(whole, "gpu:1"), other]):
        assert limits(runs).devices["NVIDIA H200"] == 1
    assert limits().devices["NVIDIA H200"] == 2


@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_a_limit_is_beyond_the_worst_by_what_runs_differ_or_the_least_margin(factor: float) -> None:
    whole = good()[0]
    other = planted.slowed(whole, lambda flow: True, factor)
    runs = [whole, replace(other, header=other.header | {"started": "2026-01-02T00:00:00Z"})]
    rates = [one for one in limits(runs).limits if one.match["row"] == "d2d"]
    assert rates
    for one in rates:
        assert one.seen is not None
        least, most = one.seen
        assert one.least_gbps == pytest.approx(least / max(most / least, 1.03), rel=1e-3)
        assert (most / least > 1.1) is (factor < 1)


def test_a_slow_path_is_named_with_how_far_it_is_beyond() -> None:
    slow = planted.slowed(good()[0], lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.8)
    answer = check(slow, limits())
    assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.FAILS, 1, "check.broken")
    assert set(broken(answer).filter(polars.col("row") == "d2d")["path"]) == {"gpu:1>gpu:0"}
    worst = answer.table("check.worst").frame.row(0, named=True)
    assert worst["beyond"] == pytest.approx(1 - 0.8 * 1.03, abs=0.02)


def test_a_result_whose_interval_reaches_the_limit_is_unclear_and_fails_nothing() -> None:
    run = planted.slowed(good()[0], lambda flow: flow["method"] == "copy-engine", 1 / 1.03)
    rates = checked(check(run, limits())).filter(polars.col("unit") == "GB/s")
    wide = (polars.col("value_low") < polars.col("expected")) & (polars.col("expected") < polars.col("value_high"))
    assert set(rates.filter(wide)["outcome"]) <= {"unclear"}
    assert not set(rates.filter(polars.col("value_low") >= polars.col("expected"))["outcome"]) - {"holds"}


def test_a_failed_case_fails_the_node() -> None:
    run = good()[0]
    failed = Row.from_json({**run.rows[0].raw, "status": "failed", "reason": "wrong bytes at 7", "flows": []})
    answer = check(replace(run, rows=(failed, *run.rows[1:])), limits())
    assert (answer.outcome, answer.headline.code) == (Outcome.FAILS, "check.lacking")
    (found,) = answer.at(Level.ERROR)
    assert (found.results, found.facts["reason"]) == ((failed.id,), "wrong bytes at 7")


def test_modelled_runs_lone_runs_and_cut_ones_make_no_limits() -> None:
    for runs in (good()[:1], [good()[0]] * 2, [made.run(), made.run()]):
        with pytest.raises(LinkscopeError):
            limits(runs)
    cut = replace(good()[1], rows=good()[1].rows[:3])
    with pytest.raises(LinkscopeError, match="--resume"):
        limits([good()[0], cut])


def test_limits_of_other_devices_are_no_pass() -> None:
    other = json.loads(json.dumps(good()[0].header).replace("NVIDIA H200", "NVIDIA H100"))
    of_gpus = [one for one in limits().limits if "H200" in str(one.match["models"])]
    answer = check(replace(good()[0], header=other), Limits(1, of_gpus))
    assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.UNTESTED, 3, "check.nothing")


def test_a_model_is_no_pass() -> None:
    run = made.run(found=made.sweep(pairs=1, sizes=3))
    answer = check(run, Limits(1, [Limit({"bytes": 4096}, least_gbps=1e-9)]))
    assert (answer.outcome, answer.headline.code) == (Outcome.UNTESTED, "check.model")


def test_a_run_that_was_cut_short_is_no_pass(tmp_path: Path) -> None:
    whole = RunFile.read(recorded.HEALTHY)
    known = Limits(1, [Limit({"row": "d2d", "method": "copy-engine"}, least_gbps=100.0)])
    assert check(whole, known).outcome is Outcome.HOLDS
    answer = ask("check", recorded.cut_short(tmp_path), limits=known)
    assert (answer.outcome, answer.exit_code) == (Outcome.UNTESTED, 3)
    assert [one.code for one in answer.at(Level.ERROR)] == ["run.cut-short"]
    suite = ElementTree.fromstring(render(answer, "junit"))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
    assert int(suite.get("skipped", "0")) == int(suite.get("tests", "0")) - 1
    metrics = render(answer, "prometheus").splitlines()
    assert "linkscope_check_passed 0" in metrics
    assert 'linkscope_outcome{question="check"} 3' in metrics


def test_a_run_that_lacks_rounds_is_said_to(tmp_path: Path) -> None:
    """A run that was interrupted in its second round has all cases, so that its verdict stands."""
    lines = recorded.HEALTHY.read_text(encoding="utf-8").splitlines(keepends=True)
    header = json.loads(lines[0])
    header["plan"]["rounds"] = {"least": 3, "most": 6}
    path = tmp_path / "a.jsonl"
    path.write_text("".join([json.dumps(header) + "\n", *lines[1:]]))
    answer = ask("check", path, limits=Limits(1, [Limit({"row": "d2d"}, least_gbps=100.0)]))
    (found,) = [one for one in answer.at(Level.WARNING) if one.code == "run.rounds-missing"]
    assert (found.facts["lacking"], found.facts["rounds"]) == (266, 3)


def without_gpu(run: RunFile, gpu: str) -> RunFile:
    """Return the run as if that GPU had not come up."""
    node = json.loads(json.dumps(run.header["node"]))
    node["devices"] = [one for one in node["devices"] if one["id"] != gpu]
    node["links"] = [one for one in node["links"] if gpu not in (one["a"], one["b"])]
    rows = tuple(row for row in run.rows if gpu not in json.dumps(row.case))
    plan = {**run.header["plan"], "ids": [row.id for row in rows]}
    return replace(run, header=run.header | {"node": node, "plan": plan}, rows=rows)


def refused(run: RunFile, **why: str | bool) -> RunFile:
    """Return the run with every copy between GPUs skipped, one at a time."""

    def skipped(row: Row) -> Row:
        line = {**row.raw, "status": "skipped", **why, "flows": [], "aggregate": None}
        return Row.from_json(line) if "/d2d/" in row.id else row

    return replace(run, rows=tuple(map(skipped, run.rows)))


def test_a_node_that_lacks_a_gpu_is_no_pass() -> None:
    answer = check(without_gpu(good()[0], "gpu:1"), limits())
    assert (answer.outcome, broken(answer).height) == (Outcome.FAILS, 0)
    assert ("check.too-few-devices", 1, 2) in lacking(answer)
    (found,) = [one for one in answer.at(Level.ERROR) if one.code == "check.too-few-devices"]
    assert found.facts["model"] == "NVIDIA H200"


def test_a_node_that_refuses_what_good_ones_do_is_no_pass() -> None:
    answer = check(refused(good()[0], reason="no peer access"), limits())
    assert (answer.outcome, broken(answer).height) == (Outcome.FAILS, 0)
    assert set(lacking(answer)) == {("check.too-few-paths", 0, 2)}
    assert {one.facts["reason"] for one in answer.at(Level.ERROR)} == {"no peer access"}
    suite = ElementTree.fromstring(render(answer, "junit"))
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) == len(lacking(answer)) > 0


def test_a_run_of_some_devices_lacks_nothing() -> None:
    rows = tuple(row for row in good()[0].rows if "/d2d/" not in row.id)
    header = {**good()[0].header, "plan": {**good()[0].header["plan"], "ids": [row.id for row in rows]}}
    answer = check(replace(good()[0], rows=rows, header=header), limits())
    assert answer.outcome is Outcome.HOLDS
    assert any("row=d2d " in name for name in unmatched(answer))


def test_what_a_budget_left_out_is_not_lacking() -> None:
    answer = check(refused(good()[0], reason="too little time", left_out=True), limits())
    assert (answer.outcome, answer.at(Level.ERROR)) == (Outcome.HOLDS, ())
    assert any("row=d2d " in name for name in unmatched(answer))


def test_of_several_limits_every_one_counts() -> None:
    wide = Limit({"row": "d2d", "method": "copy-engine"}, least_gbps=1e4)
    answer = check(good()[0], Limits(schema=1, limits=[*limits().limits, wide]))
    assert set(broken(answer)["expected"]) == {1e4}
    names = [line.rpartition(" ")[0] for line in render(answer, "prometheus").splitlines() if line[0] != "#"]
    assert len(set(names)) == len(names)


def test_a_column_that_results_do_not_have_is_refused() -> None:
    with pytest.raises(LinkscopeError, match="metod"):
        check(good()[0], Limits(schema=1, limits=[Limit({"metod": "copy-engine"}, least_gbps=1)]))


OLD = """
schema: 1
limits:
- match: {row: d2d-both-ways, regime: device clock, together: both ways}
  least_gbps: 1
- match: {row: d2d, regime: "device clock"}
  least_gbps: 1
- match: {row: x, together: "12 flows, both ways"}
  least_gbps: 1
- match: {row: y, together: 1 to 3}
  least_gbps: 1
"""


def test_limits_that_an_older_version_made_hold_on(tmp_path: Path) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(OLD)
    known = load_limits(path)
    assert [limit.match for limit in known.limits] == [
        {"row": "d2d-both-ways", "together": "both", "flows": 2, "clock": "device"},
        {"row": "d2d", "clock": "device"},
        {"row": "x", "together": "many-both", "flows": 12},
        {"row": "y", "together": "one-to-many", "flows": 3},
    ]
    answer = check(good()[0], known)
    assert answer.outcome is Outcome.HOLDS
    assert set(checked(answer)["row"]) == {"d2d", "d2d-both-ways"}


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
            "line 4: limits[0].least_gps: no field has that name; least_gbps is one",
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
    answer = check(slow, limits())
    suite = ElementTree.fromstring(render(answer, "junit"))
    assert int(suite.get("tests", "0")) == len(suite.findall("testcase")) == checked(answer).height + 1
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) == broken(answer).height > 0
    assert int(suite.get("skipped", "0")) == len(suite.findall("testcase/skipped")) == answer.data["unclear"]


def test_metrics_are_in_base_units_and_unique() -> None:
    lines = render(check(good()[0], limits()), "prometheus").splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in samples]
    assert len(set(names)) == len(names)
    assert "linkscope_check_passed 1" in samples
    assert all(re.fullmatch(r"[a-z_]+(\{.*\})? \S+", line) for line in samples)
    rate = next(line for line in samples if line.startswith("linkscope_bytes_per_second") and "/d2d/" in line)
    assert 3e11 < float(rate.rpartition(" ")[2]) < 5e11


def test_an_explanation_has_the_same_forms() -> None:
    answer = ask("explain", planted.lanes_down("gpu:1")(recorded.healthy()))
    suite = ElementTree.fromstring(render(answer, "junit"))
    assert len(suite.findall("testcase")) == answer.data["checked"] + 2
    assert len(suite.findall("testcase/failure")) == 35  # 34 results and the cause
    assert "linkscope_explain_passed 0" in render(answer, "prometheus").splitlines()


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
    assert run("check", one, "--limits", file, "--write", f"junit={junit}", "--write", f"prometheus={metrics}") == 0
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


def as_dcgm(answer: Answer) -> dict[str, Any]:
    """Return the tests by name of an answer in DCGM's form, with what its schema requires of each."""
    found = json.loads(render(answer, "dcgm"))
    assert found["metadata"]["version"]
    (category,) = found["DCGM Diagnostic"]["test_categories"]
    for test in category["tests"]:
        assert {"name", "results", "test_summary"} <= test.keys()
        for result in (*test["results"], test["test_summary"]):
            for one in result.get("warnings", ()):
                assert {"warning", "error_id", "error_category", "error_severity"} == one.keys()
        assert all({"entity_group", "entity_group_id", "entity_id", "status"} <= one.keys() for one in test["results"])
    return {test["name"]: test for test in category["tests"]}


def test_dcgms_form_has_both_gpus_of_a_slow_path() -> None:
    slow = planted.slowed(good()[0], lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.8)
    tests = as_dcgm(check(slow, limits()))
    assert {one["entity_id"]: one["status"] for one in tests["d2d"]["results"]} == {0: "Fail", 1: "Fail"}
    assert {one["error_id"] for one in tests["d2d"]["test_summary"]["warnings"]} == {30}
    assert tests["memcpy-by-size"] == {"name": "memcpy-by-size", "results": [], "test_summary": {"status": "Pass"}}
    found = json.loads(render(check(good()[0], limits()), "dcgm"))
    assert [one["entity_id"] for one in found["entity_groups"][0]["entities"]] == [0, 1]
    assert "runtime_error" not in found["DCGM Diagnostic"]


def test_without_a_verdict_dcgms_form_passes_nothing(tmp_path: Path) -> None:
    answer = ask("check", recorded.cut_short(tmp_path), limits=Limits(1, [Limit({"row": "d2d"}, least_gbps=1.0)]))
    tests = as_dcgm(answer)
    assert tests["d2d"]["test_summary"]["status"] == "Skip"
    assert json.loads(render(answer, "dcgm"))["DCGM Diagnostic"]["runtime_error"]


def rows_of_page(head: str) -> list[list[str]]:
    """Return the cells of the table of docs/fleet.md whose first heading is ``head``, row by row."""
    lines = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text().partition(f"\n| {head} |")[2].splitlines()[2:]
    return [line.strip("| ").split(" | ") for line in takewhile(lambda line: line.startswith("|"), lines)]


def test_the_page_has_the_margins_of_limits() -> None:
    margins = [f"{margin:.0%}" for margin in sorted({*LEAST_MARGIN.values()})] + [f"factor {1 + OTHERS_MARGIN:g}"]
    assert [margin for _, margin in rows_of_page("results")] == margins


def test_the_page_lists_the_fields_of_the_json_line() -> None:
    listed = [name for row in rows_of_page("field of `json-line`") for name in re.findall(r"`(\w+)`", row[0])]
    assert sorted(listed) == sorted(json.loads(render(check(good()[0], limits()), "json-line")))


def test_the_json_line_names_what_failed() -> None:
    slow = planted.slowed(good()[0], lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.8)
    answer = check(slow, limits())
    text = render(answer, "json-line")
    line = json.loads(text)
    assert text.count("\n") == 1
    assert (line["passed"], line["overall_severity"], line["exit_code"]) == (False, "CRITICAL", 1)
    assert {one["id"] for one in line["failed"]} == set(broken(answer)["id"])
    assert all(one["value"] < one["limit"] for one in line["failed"])
    assert json.loads(render(check(good()[0], limits()), "json-line"))["overall_severity"] == "PASS"


def test_counters_fail_a_check_or_warn() -> None:
    """A link that went down fails a node whose results are all within limits; a few replays are a warning."""
    healthy = json.loads(json.dumps(good()[0].header))
    run = replace(good()[0], header=healthy)
    for level, outcome, severity in (
        (Level.ERROR, Outcome.FAILS, "CRITICAL"),
        (Level.WARNING, Outcome.HOLDS, "WARNING"),
    ):
        sick = Finding("health.link-down", level, {"gpu": "gpu:1", "down": 1, "links": ["3"]}, ("gpu:1",))
        answer = check(replace(run, findings=(sick,)), limits())
        line = json.loads(render(answer, "json-line"))
        assert (answer.outcome, line["overall_severity"]) == (outcome, severity)
        assert [(one["code"], one["where"]) for one in line["counters"]] == [("health.link-down", ["gpu:1"])]
        test = as_dcgm(answer)["health.link-down"]
        assert [one["entity_id"] for one in test["results"]] == [1]
        assert test["test_summary"]["status"] == ("Fail" if level is Level.ERROR else "Warn")


def test_forms_are_written_by_name_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, line, tests = tmp_path / "limits.yaml", tmp_path / "a.json", tmp_path / "b.json"
    file.write_text(limits().text())
    one = sorted(TURNS.glob("*.jsonl"))[0]
    known = ("check", one, "--limits", file)
    assert run(*known, "--write", f"json-line={line}", "--write", f"dcgm={tests}") == 0
    assert json.loads(line.read_text())["passed"] is True
    assert "DCGM Diagnostic" in json.loads(tests.read_text())
    capsys.readouterr()
    assert run(*known, "--write", "json-line=-") == 0
    assert capsys.readouterr().out.count("\n") == 1
    for words in (("foo=a",), ("junit",), ("junit=",), ("junit=-", "--write", "dcgm=-")):
        assert run(*known, "--write", *words) == 2


def test_nothing_is_measured_for_files_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, measured = tmp_path / "limits.yaml", tmp_path / "a.jsonl"
    file.write_text(limits().text())
    for where in (tmp_path / "nowhere" / "a.xml", file / "a.xml", tmp_path):
        assert run("check", "host", "--limits", file, "-o", measured, "--write", f"junit={where}") == 2
        assert str(where) in capsys.readouterr().err
        assert not measured.exists()


def test_a_file_that_fails_late_hides_neither_the_answer_nor_other_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, line = tmp_path / "limits.yaml", tmp_path / "a.json"
    file.write_text(limits().text())
    monkeypatch.setattr("linkscope.cli.written_forms._obstacle", lambda path: None)
    words = ("--write", f"junit={tmp_path / 'nowhere' / 'a.xml'}", "--write", f"json-line={line}")
    assert run("check", sorted(TURNS.glob("*.jsonl"))[0], "--limits", file, *words) == 2
    said = capsys.readouterr()
    assert "PASSED" in said.out
    assert "a.xml" in said.err
    assert json.loads(line.read_text())["passed"] is True
