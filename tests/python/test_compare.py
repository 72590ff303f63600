"""Compare: noise is no change, a change is found and told by what it has in common, and what can't be told is said."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import modelled_run as made
import planted_faults as planted
import polars
import pytest
from rich.console import Console

import linkscope
from linkscope.analysis.common_cause import CommonCause
from linkscope.analysis.compare import SAME, UNCLEAR, Comparison, compare
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.node import Device
from linkscope.report import compare_text
from linkscope.results.figure_class import FigureClass
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
TURNS = Path(__file__).parents[1] / "fixtures" / "turns"
SENT = ((2e-7, (4e-7, 8e-7, 2e-7)), (2e-8, (4e-7, 2e-7, 9e-7)))
"""What shm-copy takes, steady, and MPI, which is not; before and after."""
BASE, NEW = TURNS / "h200x2-1.jsonl", TURNS / "h200x2-2.jsonl"


def runs() -> tuple[RunFile, RunFile]:
    return RunFile.read(BASE), RunFile.read(NEW)


def changed(hit: Any, factor: float) -> Comparison:
    base, new = runs()
    return compare([base], [planted.slowed(new, hit, factor)])


def only(found: Comparison) -> CommonCause:
    (one,) = found.findings
    return one


def test_two_runs_of_one_node_are_alike() -> None:
    base, new = runs()
    found = compare([base], [new])
    assert found.findings == ()
    assert not found.worse
    assert found.count(SAME) > 0
    assert found.count(SAME, UNCLEAR) == len(found.figures) == len(list(found.changes))
    assert compare([new], [base]).findings == ()
    assert list(found.seen_from) == [kind.key for kind in FigureClass if kind.key in found.seen_from]
    assert min(found.seen_from.values()) == pytest.approx(found.threshold)
    assert not found.calibrated
    ((loaded, by),) = found.spoiled
    assert (loaded, "7.2" in by) == (str(NEW), True)
    for margin, told in ((0.03, "6.2 %"), (0.45, "150 %"), (2.0, "a factor of 55")):
        wide = replace(found, figures=found.figures.with_columns(margin=polars.lit(margin)))
        assert f" {told} (" in compare_text.verdict(wide)
    assert compare([base, new], [new, base]).findings == ()


def test_three_percent_of_one_way_are_found_and_the_link_is_named() -> None:
    one = only(changed(lambda flow: planted.copied(flow, "gpu:1", "gpu:0"), 0.97))
    assert "gpu:1" in one.what
    assert one.worse
    assert min(change.ratio for change in one.changes) == pytest.approx(0.97, abs=0.002)
    assert 0.97 <= one.ratio < 0.99  # of both ways at once half is lost
    assert {change.key[0].split("/")[1] for change in one.changes} <= {"d2d", "d2d-both-ways"}


def test_a_gpu_that_is_slower_on_all_its_ways_is_one_finding() -> None:
    base, new = runs()
    hit = planted.slowed(new, lambda flow: planted.peer(flow, "gpu:0") or planted.host(flow, "gpu:0"), 0.9)
    one = only(compare([base], [hit]))
    assert "gpu:0" in one.what or "link" in one.what


def test_a_method_that_got_faster_is_named_and_no_alarm() -> None:
    found = changed(lambda flow: flow["method"] == "kernel-copy", 1.2)
    assert only(found).what == "method kernel-copy"
    assert not only(found).worse
    assert not found.worse


def test_less_than_the_threshold_is_no_finding() -> None:
    assert changed(lambda flow: flow["method"] == "copy-engine", 0.995).findings == ()
    base, new = runs()
    slower = planted.slowed(new, lambda flow: flow["method"] == "copy-engine", 0.9)
    assert compare([base], [slower], threshold=0.2).findings == ()


def test_one_run_says_nothing_of_host_memory_and_several_do() -> None:
    base, new = runs()
    halved = planted.slowed(new, lambda flow: flow["method"] == "memcpy", 0.25)
    alone = compare([base], [halved])
    host = [change for change in alone.changes if change.key[0].startswith("default/memcpy")]
    assert host
    assert {change.verdict for change in host} == {UNCLEAR}
    assert alone.unknown == len(host)
    rng = random.Random(1)
    several = compare(
        [planted.noisy(base, rng, 0.01) for _ in range(5)], [planted.noisy(halved, rng, 0.01) for _ in range(5)]
    )
    assert several.unknown == 0
    assert any("memcpy" in one.what or "numa:0" in one.what for one in several.findings)


def test_where_nothing_is_known_of_the_noise_no_change_is_claimed() -> None:
    """Of figures that are several times apart, the farthest is named."""
    base, new = (replace(run, rows=tuple(row for row in run.rows if "memcpy" in row.id)) for run in runs())
    first = new.rows[0].id
    slower = planted.slowed(new, lambda flow: flow["method"] == "memcpy", 0.25)
    found = compare([base], [replace(slower, rows=(slower.rows[0], *new.rows[1:]))])
    assert found.unknown == found.count(UNCLEAR) == len(found.figures) > 1
    assert found.farthest is not None
    assert found.farthest.key[0] == first
    told = compare_text.verdict(found)
    assert told.startswith("Cannot tell")
    assert first in told
    assert not found.worse


def test_what_is_known_of_some_figures_is_not_said_of_the_others() -> None:
    base, new = runs()
    slower = planted.slowed(new, lambda flow: flow["method"] == "memcpy", 0.25)
    found = compare([base], [slower])
    known = len(found.figures) - found.unknown
    assert found.unknown > 0 < known
    assert found.farthest is not None
    told = compare_text.verdict(found)
    assert {str(known), str(found.unknown)} <= set(told.split())
    assert found.farthest.name in told
    assert "memcpy" in found.farthest.name


def test_an_id_that_is_longer_than_a_line_is_not_broken() -> None:
    base, new = runs()
    found = compare([base], [new])
    assert found.farthest is not None
    name = found.farthest.key[0]
    console = Console(record=True, width=len(name) - 1, file=StringIO())
    compare_text.show(found, "a node", console)
    assert name in console.export_text()


def test_nothing_that_is_unclear_has_no_farthest() -> None:
    base, _ = runs()
    alike = compare([base], [base], threshold=1.0)
    judged = replace(alike, figures=alike.figures.filter(polars.col("verdict") == SAME))
    assert len(judged.figures) > 0
    assert judged.farthest is None
    assert judged.unknown == 0
    assert compare_text.verdict(judged).startswith("No change")
    open_ = replace(judged, figures=judged.figures.with_columns(verdict=polars.lit(UNCLEAR)))
    assert compare_text.verdict(open_).startswith("Cannot tell"), "none is known to be the same"


def test_an_import_that_knows_no_machine_is_told_what_gives_it_one(tmp_path: Path) -> None:
    output = Path(__file__).parents[1] / "fixtures" / "importers" / "osu-latency-7.4.txt"
    alone = import_file(output, tmp_path / "alone.jsonl", Wanted())
    node = replace(alone.node, devices=(Device("numa:0", "numa", "a CPU"),))
    measured = replace(alone, path=Path("run.jsonl"), header=alone.header | {"node": node.to_json(), "host": "a"})
    found = compare([alone], [measured])
    assert found.other_machine
    assert found.no_machine == (str(alone.path),)
    console = Console(record=True, width=500, file=StringIO())
    compare_text.show(found, "a node", console)
    assert "--beside run.jsonl" in console.export_text()
    beside = import_file(output, tmp_path / "beside.jsonl", Wanted(beside=measured))
    assert compare([beside], [measured]).no_machine == ()


def test_cases_of_one_side_are_told_by_suite_row_and_all_of_them_in_full() -> None:
    base, new = runs()
    found = compare([base], [replace(new, rows=new.rows[:1])])
    assert len(found.gone) > compare_text.FEW_LINES
    shown, whole = (Console(record=True, width=500, file=StringIO()) for _ in range(2))
    compare_text.show(found, "a node", shown)
    compare_text.show_all(found, "a node", whole)
    few, every = shown.export_text(), whole.export_text()
    assert not any(name in few for name in found.gone)
    assert "4 cases of default/h2d" in few
    assert all(name in every for name in found.gone)
    assert "--full" not in every


def test_noise_of_the_node_is_believed() -> None:
    """What would be a change elsewhere is none on a node whose figures vary as much."""
    base, new = runs()
    slower = planted.slowed(new, lambda flow: flow["method"] == "copy-engine", 0.9)
    noise = {"turns": 10, "calibrated": "2026-01-01", "between_runs": {"classes": {}, "cases": {}}}

    def loud(run: RunFile) -> RunFile:
        rows = tuple(folded(row.replicates, 0.3) for row in run.rows)
        return replace(run, rows=rows, header=run.header | {"noise": noise})

    assert compare([base], [slower]).worse
    assert not compare([loud(base)], [loud(slower)]).findings


def test_a_case_that_no_longer_works_is_worse_and_new_ones_are_told() -> None:
    base, new = runs()
    first, second = new.rows[0], new.rows[1]
    failed = Row.from_json({**first.raw, "status": "failed", "reason": "wrong bytes", "flows": [], "aggregate": None})
    found = compare([base], [replace(new, rows=(failed, *new.rows[2:]))])
    assert found.lost == ((first.id, "failed", "wrong bytes"),)
    assert found.gone == (second.id,)
    assert found.worse
    assert compare([replace(base, rows=base.rows[1:])], [new]).added == (first.id,)


def test_software_that_differs_is_told() -> None:
    base, new = runs()
    header = json.loads(json.dumps(new.header))
    header["state"]["versions"]["driver"] = "999.1"
    header["state"]["gpus"][0]["power_cap_w"] = 350.0
    told = compare([base], [replace(new, header=header)]).differences
    assert {name: after for name, _, after in told} == {"driver": "999.1", "gpu:0 power cap w": "350.0"}


def test_runs_of_other_machines_are_told_apart() -> None:
    base, new = runs()
    node = json.loads(json.dumps(new.header["node"]))
    for device in node["devices"]:
        device["name"] = f"{device.get('name') or device['kind']} of another make"
    assert not compare([base], [new]).other_machine
    assert compare([base], [replace(new, header=new.header | {"node": node})]).other_machine


def test_cases_that_are_gone_with_their_gpu_are_lost() -> None:
    base, new = runs()
    node = json.loads(json.dumps(new.header["node"]))
    node["devices"] = [one for one in node["devices"] if one["id"] != "gpu:1"]
    node["links"] = [one for one in node["links"] if "gpu:1" not in (one["a"], one["b"])]
    rows = tuple(row for row in new.rows if "gpu:1" not in json.dumps(row.case))
    found = compare([base], [replace(new, header=new.header | {"node": node}, rows=rows)])
    assert found.worse
    assert not found.other_machine
    assert len(found.lost) == len(new.rows) - len(rows)
    assert {(status, why) for _, status, why in found.lost} == {("gone", "gpu:1 is no longer there")}
    assert found.gone == ()


def test_runs_without_a_figure_in_common_are_refused() -> None:
    base, new = runs()
    with pytest.raises(LinkscopeError, match="no figure in common"):
        compare([replace(base, rows=base.rows[:2])], [replace(new, rows=new.rows[2:])])
    with pytest.raises(LinkscopeError, match="nothing to compare"):
        compare([], [new])


def test_where_nothing_is_in_common_the_nearest_cases_say_in_what_they_differ(tmp_path: Path) -> None:
    recorded = RunFile.read(TURNS.parent / "runs" / "h200x4-packets.jsonl")
    import_file(TURNS.parent / "importers" / "nccl-tests-2.19.txt", tmp_path / "imported.jsonl", Wanted())
    words = r"collectives, differ in xccl-graph/graph/\S+/device-clock against xccl-calls/eager/\S+/batch-clock;"
    with pytest.raises(LinkscopeError, match=words):
        compare([recorded], [RunFile.read(tmp_path / "imported.jsonl")])


def test_a_library_that_no_figure_calls_is_no_setting() -> None:
    base, new = runs()
    versions = {**new.header["engine"]["versions"], "MPI": "of another version", "CUDA runtime": "99.0"}
    engine = {**new.header["engine"], "versions": versions}
    found = compare([base], [replace(new, header={**new.header, "engine": engine})])
    told = [what for what, *_ in found.differences]
    assert ("MPI" in told, "CUDA runtime" in told) == (False, True)
    calls = RunFile.read(TURNS.parent / "runs" / "h200x4-packets.jsonl")
    engine = {**calls.header["engine"], "versions": {**calls.header["engine"]["versions"], "nccl": "99.0"}}
    failed = tuple(made.not_ok(row.case, "failed", "no") if "xccl" in row.id else row for row in calls.rows)
    broken = compare([calls], [replace(calls, rows=failed, header={**calls.header, "engine": engine})])
    assert broken.lost
    assert "nccl" in [what for what, *_ in broken.differences], "told where its cases failed"


def test_cases_that_differ_in_size_alone_are_said_to() -> None:
    calls = RunFile.read(TURNS.parent / "runs" / "h200x4-packets.jsonl")
    one, other = (
        replace(calls, rows=tuple(row for row in calls.rows if row.id.endswith(size))) for size in ("/1KiB", "/1MiB")
    )
    with pytest.raises(LinkscopeError, match="differ in size"):
        compare([one], [other])


@pytest.mark.parametrize(("new", "code"), [(NEW, 0), ("slow", 1)])
def test_the_command(new: Any, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if new == "slow":
        new = tmp_path / "slow.jsonl"
        run = planted.slowed(RunFile.read(NEW), lambda flow: flow["method"] == "copy-engine", 0.9)
        lines = [run.header, *(line for row in run.rows for line in row.lines)]
        new.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for options in ([], ["--full"], ["--json"]):
        with pytest.raises(SystemExit) as left:
            main(["compare", str(BASE), str(new), *options])
        out = capsys.readouterr().out
        assert left.value.code == code
        assert ("copy-engine" in out) or code == 0
        if options == []:
            assert len(out.splitlines()) <= 40
    assert json.loads(out)["worse"] is bool(code)


@pytest.mark.parametrize("wrong", [["--threshold", "2x"], ["--alpha", "0"], ["nowhere.jsonl"]])
def test_bad_input_is_one_line(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["compare", str(BASE), str(NEW), *wrong])
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_notebooks_have_it() -> None:
    assert linkscope.compare(BASE, NEW).findings == ()


def test_cases_that_a_budget_left_out_are_not_lost() -> None:
    base, new = runs()
    raw = {
        **new.rows[0].raw,
        "status": "skipped",
        "reason": "too short a budget",
        "flows": [],
    }
    left_out = Row.from_json(raw | {"left_out": True, "aggregate": None})
    found = compare([base], [replace(new, rows=(left_out, *new.rows[1:]))])
    assert (found.lost, found.gone, found.worse) == ((), (left_out.id,), False)


def test_why_a_case_was_not_tried_is_what_the_new_run_says_of_it() -> None:
    base, new = runs()
    first, second, third, *rest = new.rows
    skipped = {**first.raw, "status": "skipped", "reason": "too little time", "flows": [], "left_out": True}
    skipped.pop("aggregate", None)
    plan = new.header["plan"] | {"ids": [one for one in new.plan_ids if one != third.id]}
    header = new.header | {"plan": plan}
    found = compare([base], [replace(new, header=header, rows=(Row.from_json(skipped), *rest))])
    assert set(found.gone) == {first.id, second.id, third.id}
    assert (found.left_out, found.not_reached) == ((first.id,), (second.id,))
    assert {"gone", "left_out", "not_reached"} <= set(found.to_json())


def test_a_run_that_was_cut_off_is_not_said_to_have_left_cases_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    lines = NEW.read_text().splitlines(keepends=True)
    cut.write_text("".join(lines[: len(lines) // 6]))
    found = compare([RunFile.read(BASE)], [RunFile.read(cut)])
    assert found.not_reached == found.gone != ()
    with pytest.raises(SystemExit):
        main(["compare", str(BASE), str(cut)])
    said = " ".join(capsys.readouterr().out.split())
    assert f"{len(found.gone)} not reached" in said
    assert "left out" not in said


def test_what_every_figure_has_is_no_cause_of_some() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(shm: float, mpi: float) -> RunFile:
        return made.run(
            found=[
                *made.there_and_back("mpi", "pageable", mpi, sizes),
                *made.there_and_back("shm-copy", "shm", shm, sizes),
            ]
        )

    base, new = ([sent(shm * by, mpi) for by, mpi in zip((1, 1.01, 1.02), mpis, strict=True)] for shm, mpis in SENT)
    one = only(compare(base, new))
    assert (one.what, one.unchanged, one.unclear) == ("method shm-copy", 0, 0)
    assert len(one.changes) == len(sizes)
    before, after = ([sent(2e-7 * by / fast, 4e-7 * by / fast) for by in (1, 1.01, 1.02)] for fast in (1, 10))
    every = only(compare(before, after))
    assert (len(every.changes), every.unclear) == (2 * len(sizes), 0)
    assert every.what == "memory of numa:0"


def test_a_change_of_some_that_nothing_sets_apart_is_counted() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(fast: float, noise: float) -> RunFile:
        steady = made.there_and_back("mpi", "pageable", 4e-7 / fast, sizes)
        return made.run(found=[*steady, *made.there_and_back("mpi", "pageable", 4e-6 * noise, [1 << 20])])

    for noises in ((1, 1, 1), (1, 3, 0.4)):
        base, new = (
            [sent(fast * by, noise) for by, noise in zip((1, 1.01, 1.02), noises, strict=True)] for fast in (1, 10)
        )
        one = only(compare(base, new))
        assert one.what == "3 of 4 figures"
        assert one.unchanged + one.unclear == 1
