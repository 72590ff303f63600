"""Compare: noise is no change, a change is blamed on what its results share, and what cannot be told is no verdict."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import variance
from typing import Any

import modelled_run as made
import planted_faults as planted
import polars
import pytest
import recorded
from compared import BASE, NEW, causes, changed, compare, only, runs, with_code

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.compare import THRESHOLD, speeds_of
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.node import Device
from linkscope.messages.catalog import problem
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.statistics.ranks import t975

Json = dict[str, Any]
FIXTURES = recorded.FIXTURES


def of_rows(run: RunFile, rows: Sequence[Row]) -> RunFile:
    """Return a whole run of these rows alone."""
    plan = {**run.header["plan"], "ids": [row.id for row in rows]}
    return replace(run, header={**run.header, "plan": plan}, rows=tuple(rows))


def settings(found: Answer) -> dict[tuple[str, str], tuple[str, str]]:
    codes = ("compare.setup", "compare.setup-of", "compare.likely")
    facts = [one.facts for code in codes for one in with_code(found, code)]
    return {(one["device"], one["setting"]): (one["base"], one["new"]) for one in facts}


def test_two_runs_of_one_node_are_alike() -> None:
    base, new = runs()
    found = compare([base], [new])
    assert (found.outcome, found.exit_code, found.headline.code) == (Outcome.HOLDS, 0, "compare.no-change")
    data = found.data
    assert (data["total"], data["slower"], data["faster"], data["untestable"]) == (20, 0, 0, 2)
    assert 0 < 2 * data["unchanged"] < data["total"]
    assert data["unchanged"] + data["inconclusive"] == data["total"] == found.table("compare.results").frame.height
    assert min(data["detectable"].values()) == pytest.approx(THRESHOLD)
    (load,) = [one for one in found.findings if "load" in one.facts]
    assert (load.facts["load"], load.facts["run"]) == (pytest.approx(7.2, abs=0.05), NEW.name)
    wider = compare([base], [new], threshold=0.05)
    assert 2 * wider.data["unchanged"] >= wider.data["total"]
    assert (wider.outcome, wider.exit_code, wider.headline.code) == (Outcome.HOLDS, 0, "compare.same")
    assert compare([base, new], [new, base]).headline.code == "compare.same"


def test_three_percent_of_one_path_are_seen_and_the_path_is_blamed() -> None:
    found = changed(lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.97)
    one = only(found)
    assert (found.exit_code, one.where, one.facts["kind"]) == (1, ("gpu:1", "gpu:0"), "path")
    assert 0.01 < one.facts["change"] <= 0.031  # of both directions at once half is lost
    assert {id_.split("/")[1] for id_ in one.results} <= {"d2d", "d2d-both-ways"}
    assert found.table("compare.changed").frame["speed"].min() == pytest.approx(-0.03, abs=0.002)


def test_a_gpu_that_is_slower_on_all_its_paths_is_one_cause() -> None:
    hit = changed(lambda flow: planted.peer(flow, "gpu:0") or planted.host(flow, "gpu:0"), 0.9)
    assert only(hit).where == ("gpu:0",)


def test_a_method_that_got_faster_is_named_and_no_alarm() -> None:
    found = changed(lambda flow: flow["method"] == "kernel-copy", 1.2)
    one = only(found)
    assert (found.outcome, found.headline.code) == (Outcome.HOLDS, "compare.faster")
    assert (one.facts["kind"], one.facts["what"], one.where) == ("method", "kernel-copy", ())
    assert one.facts["change"] == pytest.approx(0.2, abs=0.01)


def test_less_than_the_threshold_is_no_change() -> None:
    assert not causes(changed(lambda flow: flow["method"] == "copy-engine", 0.995))
    base, new = runs()
    slower = planted.slowed(new, lambda flow: flow["method"] == "copy-engine", 0.9)
    assert not causes(compare([base], [slower], threshold=0.2))


def test_links_that_differ_are_a_changed_setup_where_nothing_is_slower() -> None:
    header = planted.lanes_down("gpu:1")(recorded.healthy()).header
    found = compare([recorded.healthy()], [replace(recorded.healthy(), header=header)])
    assert not causes(found)
    assert settings(found) == {("gpu:1", "links-nvlink"): ("18", "17")}


def test_rates_and_times_change_as_speeds() -> None:
    found = compare([recorded.healthy()], [planted.shared("gpu:1")(recorded.healthy())])
    frame = found.table("compare.changed").frame
    assert set(frame["unit"]) == {"GB/s", "s"}
    assert frame["speed"].to_list() == pytest.approx([-0.3] * frame.height, abs=0.01)
    assert only(found).facts["change"] == pytest.approx(0.3, abs=0.001)
    assert (frame.filter(unit="s")["new"] > frame.filter(unit="s")["base"]).all()


def test_one_run_says_nothing_of_host_memory_and_several_do() -> None:
    base, new = runs()
    halved = planted.slowed(new, lambda flow: flow["method"] == "memcpy", 0.25)
    alone = compare([base], [halved])
    every = alone.table("compare.results").frame
    host = every.filter(every["id"].str.contains("memcpy"))
    assert set(host["verdict"]) == {"unclear"}
    assert alone.data["untestable"] == host.height == 2
    assert [one.code for one in alone.next] == ["compare.more-runs"]
    rng = random.Random(1)
    sides = ([planted.noisy(run, rng, 0.01) for _ in range(5)] for run in (base, halved))
    several = compare(*sides)
    assert several.data["untestable"] == 0
    assert ("numa:0",) in [one.where for one in causes(several)]
    short, lacking = (of_rows(run, [row for row in run.rows if "memcpy" not in row.id]) for run in (base, new))
    found = compare([short, base], [lacking, new])
    assert found.data["untestable"] == host.height
    assert "compare.more-runs" not in [one.code for one in found.next], "of two runs a side there are enough"


def test_where_nothing_is_known_of_the_noise_there_is_no_verdict() -> None:
    base, new = (of_rows(run, [row for row in run.rows if "memcpy" in row.id]) for run in runs())
    slower = planted.slowed(new, lambda flow: flow["method"] == "memcpy", 0.25)
    found = compare([base], [replace(slower, rows=(slower.rows[0], *new.rows[1:]))])
    assert (found.exit_code, found.headline.code) == (3, "compare.untestable")
    assert found.data["untestable"] == found.data["inconclusive"] == found.data["total"] > 1
    assert found.table("compare.unclear").frame["id"][0] == new.rows[0].id, "the largest change comes first"


def test_an_import_that_knows_no_machine_is_shown_what_gives_it_one(tmp_path: Path) -> None:
    output = FIXTURES / "importers" / "osu-latency-7.4.txt"
    alone = import_file(output, tmp_path / "alone.jsonl", Wanted())
    node = replace(alone.node, devices=(Device("numa:0", "numa", "a CPU"),))
    measured = replace(alone, path=Path("run.jsonl"), header=alone.header | {"node": node.to_json(), "host": "a"})
    (doubt,) = with_code(compare([alone], [measured]), "compare.no-machine")
    assert (doubt.facts["paths"], doubt.facts["beside"]) == ([str(alone.path)], "run.jsonl")
    beside = import_file(output, tmp_path / "beside.jsonl", Wanted(beside=measured))
    assert not with_code(compare([beside], [measured]), "compare.no-machine")


def test_noise_of_the_node_is_believed() -> None:
    """What would be a change elsewhere is none on a node whose results vary as much."""
    base, new = runs()
    slower = planted.slowed(new, lambda flow: flow["method"] == "copy-engine", 0.9)
    noise = {"turns": 10, "calibrated": "2026-01-01", "between_runs": {"classes": {}, "cases": {}}}

    def loud(run: RunFile) -> RunFile:
        rows = tuple(folded(row.replicates, 0.3) for row in run.rows)
        return replace(run, rows=rows, header=run.header | {"noise": noise})

    assert compare([base], [slower]).exit_code == 1
    found = compare([loud(base)], [loud(slower)])
    assert not causes(found)
    assert with_code(found, "compare.noise-calibrated")


def test_a_case_that_no_longer_works_fails_and_others_are_counted() -> None:
    base, new = runs()
    first, second = new.rows[0], new.rows[1]
    failed = Row.from_json({**first.raw, "status": "failed", "reason": "wrong bytes", "flows": [], "aggregate": None})
    found = compare([base], [of_rows(new, (failed, *new.rows[2:]))])
    assert (found.exit_code, found.headline.code) == (1, "compare.broken")
    (lost,) = with_code(found, "compare.lost")
    assert (lost.results, lost.facts["status"], lost.facts["reason"]) == ((first.id,), "failed", "wrong bytes")
    (gone,) = with_code(found, "compare.not-planned")
    assert gone.results == (second.id,)
    (added,) = with_code(compare([replace(base, rows=base.rows[1:])], [new]), "compare.added")
    assert added.results == (first.id,)


def test_reasons_that_differ_in_their_numbers_are_one() -> None:
    base, new = runs()
    failed = [
        Row.from_json({**row.raw, "status": "failed", "reason": f"byte {i} is wrong", "flows": [], "aggregate": None})
        for i, row in enumerate(new.rows[:3])
    ]
    (lost,) = with_code(compare([base], [of_rows(new, (*failed, *new.rows[3:]))]), "compare.lost")
    assert (lost.facts["count"], lost.facts["reason"]) == (3, "byte 0 is wrong")


def test_software_that_differs_is_a_changed_setup() -> None:
    base, new = runs()
    header = json.loads(json.dumps(new.header))
    header["state"]["versions"]["driver"] = "999.1"
    header["state"]["gpus"][0]["power_cap_w"] = 350.0
    found = settings(compare([base], [replace(new, header=header)]))
    assert {key: after for key, (_, after) in found.items()} == {
        ("", "driver"): "999.1",
        ("gpu:0", "power_cap_w"): "350.0",
    }


def test_runs_of_other_machines_are_said_to_be() -> None:
    base, new = runs()
    node = json.loads(json.dumps(new.header["node"]))
    for device in node["devices"]:
        device["name"] = f"{device.get('name') or device['kind']} of another make"
    assert not with_code(compare([base], [new]), "compare.other-machine")
    other = replace(new, header=new.header | {"node": node})
    assert with_code(compare([base], [other]), "compare.other-machine")


def test_cases_that_are_gone_with_their_gpu_are_lost() -> None:
    base, new = runs()
    node = json.loads(json.dumps(new.header["node"]))
    node["devices"] = [one for one in node["devices"] if one["id"] != "gpu:1"]
    node["links"] = [one for one in node["links"] if "gpu:1" not in (one["a"], one["b"])]
    rows = tuple(row for row in new.rows if "gpu:1" not in json.dumps(row.case))
    found = compare([base], [of_rows(replace(new, header=new.header | {"node": node}), rows)])
    assert found.exit_code == 1
    assert not with_code(found, "compare.other-machine")
    (lost,) = with_code(found, "compare.device-gone")
    assert (len(lost.results), lost.facts["reason"]) == (len(new.rows) - len(rows), "gpu:1")
    assert not with_code(found, "compare.not-planned")


def test_runs_without_a_common_result_are_refused() -> None:
    base, new = runs()
    apart = of_rows(base, base.rows[:2]), of_rows(new, new.rows[2:])
    for sides in (([apart[0]], [apart[1]]), ([], [new])):
        with pytest.raises(LinkscopeError) as refused:
            compare(*sides)
        assert refused.value.exit_code == 2


def test_a_base_without_results_is_refused_by_its_name() -> None:
    base, new = runs()
    lines = [{**row.raw, "status": "skipped", "reason": "no GPU"} for row in base.rows]
    nothing = replace(base, rows=tuple(map(Row.from_json, lines)))
    with pytest.raises(LinkscopeError) as refused:
        compare([nothing], [new])
    assert str(refused.value) == str(problem("compare.nothing-measured", path=str(base.path)))


def test_where_nothing_is_common_the_nearest_cases_say_in_what_they_differ(tmp_path: Path) -> None:
    measured = RunFile.read(recorded.RUNS / "h200x4-packets.jsonl")
    import_file(FIXTURES / "importers" / "nccl-tests-2.19.txt", tmp_path / "imported.jsonl", Wanted())
    with pytest.raises(LinkscopeError, match=r"xccl-graph/graph/\S+/device-clock .* xccl-calls/eager/\S+/batch-clock"):
        compare([measured], [RunFile.read(tmp_path / "imported.jsonl")])


def test_a_library_that_no_result_calls_is_no_setting() -> None:
    base, new = runs()
    versions = {**new.header["engine"]["versions"], "MPI": "of another version", "CUDA runtime": "99.0"}
    engine = {**new.header["engine"], "versions": versions}
    found = compare([base], [replace(new, header={**new.header, "engine": engine})])
    assert {setting for _, setting in settings(found)} == {"CUDA runtime"}
    calls = RunFile.read(recorded.RUNS / "h200x4-packets.jsonl")
    engine = {**calls.header["engine"], "versions": {**calls.header["engine"]["versions"], "nccl": "99.0"}}
    failed = tuple(made.not_ok(row.case, "failed", "no") if "xccl" in row.id else row for row in calls.rows)
    broken = compare([calls], [replace(calls, rows=failed, header={**calls.header, "engine": engine})])
    assert with_code(broken, "compare.lost")
    assert ("", "nccl") in settings(broken), "a version counts where its cases failed"


def test_cases_that_differ_in_size_alone_are_refused_as_such() -> None:
    calls = RunFile.read(recorded.RUNS / "h200x4-packets.jsonl")
    sides = [of_rows(calls, [row for row in calls.rows if row.id.endswith(size)]) for size in ("/1KiB", "/1MiB")]
    with pytest.raises(LinkscopeError, match="size"):
        compare(sides[:1], sides[1:])


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        main(["compare", *map(str, arguments)])
    return int(left.value.code or 0), capsys.readouterr().out


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = recorded.bad_link(tmp_path)
    for new, code in ((recorded.HEALTHY, 0), (bad, 1)):
        for options in ([], ["--full"], ["--json"]):
            ended, out = command(capsys, recorded.HEALTHY, new, *options)
            assert ended == code
        assert json.loads(out)["exit_code"] == code
    assert json.loads(out)["headline"]["where"] == ["gpu:1"]
    assert command(capsys, recorded.CPU, recorded.CPU_AGAIN)[0] == 3


def test_a_run_that_was_cut_short_is_never_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut, bad = recorded.cut_short(tmp_path), recorded.bad_link(tmp_path)
    for sides in ((recorded.HEALTHY, cut), (cut, recorded.HEALTHY)):
        code, out = command(capsys, *sides, "--json")
        found = json.loads(out)
        (missing,) = [one for one in found["findings"] if one["code"] == "run.cut-short"]
        assert (code, found["outcome"], found["headline"]["code"]) == (3, "untested", "compare.incomplete")
        assert (missing["facts"]["missing"], missing["facts"]["path"]) == (256, str(cut))
    assert command(capsys, cut, bad)[0] == 1, "what is slower is so whatever is missing"
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text(recorded.HEALTHY.read_text().splitlines(keepends=True)[0])
    assert command(capsys, recorded.HEALTHY, nothing)[0] == 3, "no result yet"


def test_a_model_has_no_verdict(tmp_path: Path) -> None:
    model = recorded.frontier(tmp_path)
    found = linkscope.compare(model, model)
    assert (found.exit_code, found.headline.code) == (3, "compare.modelled")


@pytest.mark.parametrize("wrong", [["--threshold", "2x"], ["--alpha", "0"], ["nowhere.jsonl"]])
def test_bad_input_is_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compare", str(BASE), str(NEW), *wrong])
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_python_takes_runs_read_or_named_and_folders(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(BASE.read_bytes())
    found = linkscope.compare(tmp_path, linkscope.read(NEW))
    assert (found.headline.code, found.base, len(found.runs)) == ("compare.same", 2, 3)
    assert linkscope.ask("compare", BASE, NEW).headline == linkscope.compare(BASE, NEW).headline


def test_why_a_case_was_not_tried_is_what_the_new_run_says_of_it() -> None:
    base, new = runs()
    first, second, third, *rest = new.rows
    skipped = {**first.raw, "status": "skipped", "reason": "too little time", "flows": [], "left_out": True}
    skipped.pop("aggregate", None)
    plan = new.header["plan"] | {"ids": [one for one in new.plan_ids if one != third.id]}
    header = new.header | {"plan": plan}
    found = compare([base], [replace(new, header=header, rows=(Row.from_json(skipped), *rest))])
    whys = ("compare.left-out", "compare.not-reached", "compare.not-planned")
    assert [one.results for code in whys for one in with_code(found, code)] == [(first.id,), (second.id,), (third.id,)]
    assert not with_code(found, "compare.lost")
    assert found.exit_code == 3, "the second case has no row: the run was cut short"


def test_a_warning_of_several_runs_stands_once_and_counts_them() -> None:
    _, busy = runs()
    found = compare([busy], [busy, busy])
    (load,) = [one for one in found.findings if one.code == "doctor.load"]
    assert load.facts["run"] == f"{NEW.name} and 2 more"
    assert len(with_code(found, "doctor.load")) == 3


def test_noise_of_so_many_turns_has_one_degree_of_freedom_less() -> None:
    base, _ = runs()
    for noise, freedom in (({"turns": 10}, 9), ({"turns": 10, "freedom": 20}, 20)):
        speeds = speeds_of(Run(replace(base, header=base.header | {"noise": noise})))
        assert set(speeds["calibrated_freedom"]) == {freedom}


def test_a_change_of_two_margins_would_have_shown() -> None:
    base, new = runs()
    found = compare([base], [new])
    every = found.table("compare.results").frame.join(Run(new).results.select("id", "class").unique(), on="id")
    known = every.filter(polars.col("speed_high").is_not_null())
    margins = ((1 + known["speed_high"]) / (1 + known["speed"])).log()
    middle = known.with_columns(margins.alias("margin")).group_by("class").agg(polars.col("margin").median())
    wide = {name: math.expm1(2 * margin) for name, margin in middle.iter_rows() if 2 * margin > 1.1 * THRESHOLD}
    assert wide
    assert {name: found.data["detectable"][name] for name in wide} == pytest.approx(wide)


def test_the_noise_of_both_sides_is_in_the_margin() -> None:
    """Of one result that several runs of each side have, it is Student's t by the pooled variance of them all."""
    rng = random.Random(3)
    one = of_rows(runs()[0], runs()[0].rows[:1])
    sides = [[planted.noisy(one, rng, 0.01) for _ in range(count)] for count in (8, 4)]
    logs = [[math.log(Run(run).results["value"][0]) for run in side] for side in sides]
    freedom = sum(map(len, logs)) - 2
    pooled = sum((len(side) - 1) * variance(side) for side in logs) / freedom
    (line,) = compare(*sides).table("compare.results").frame.to_dicts()
    margin = math.log((1 + line["speed_high"]) / (1 + line["speed"]))
    assert margin == pytest.approx(t975(freedom + 4) * math.sqrt(pooled * (1 / 8 + 1 / 4)))
