"""Compare: noise is no change, a change is blamed on what its results share, and what cannot be told is no verdict."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run as made
import planted_faults as planted
import pytest
import recorded

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.compare import THRESHOLD
from linkscope.answers.compare import compare as compare_sides
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.node import Device
from linkscope.messages.finding import Finding
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
FIXTURES = recorded.FIXTURES
BASE, NEW = recorded.PAIR, recorded.PAIR_AGAIN
SENT = ((2e-7, (4e-7, 8e-7, 2e-7)), (2e-8, (4e-7, 2e-7, 9e-7)))
"""Seconds that shm-copy takes, steady, and MPI, which is not; before and after."""


def runs() -> tuple[RunFile, RunFile]:
    return RunFile.read(BASE), RunFile.read(NEW)


def compare(base: Sequence[RunFile], new: Sequence[RunFile], **options: float) -> Answer:
    return compare_sides([Run.of(run) for run in base], [Run.of(run) for run in new], **options)


def of_rows(run: RunFile, rows: Sequence[Row]) -> RunFile:
    """Return a whole run of these rows alone."""
    plan = {**run.header["plan"], "ids": [row.id for row in rows]}
    return replace(run, header={**run.header, "plan": plan}, rows=tuple(rows))


def changed(hit: Any, factor: float) -> Answer:
    base, new = runs()
    return compare([base], [planted.slowed(new, hit, factor)])


def causes(found: Answer) -> list[Finding]:
    said = (found.headline, *found.findings, *found.details)
    return [one for one in said if one.code.startswith(("compare.slower", "compare.faster"))]


def only(found: Answer) -> Finding:
    (one,) = causes(found)
    return one


def with_code(found: Answer, code: str) -> list[Finding]:
    return [one for one in (found.headline, *found.findings, *found.details) if one.code == code]


def settings(found: Answer) -> dict[tuple[str, str], tuple[str, str]]:
    said = [*with_code(found, "compare.setup"), *with_code(found, "compare.likely")]
    facts = [one.facts for one in said]
    return {(one["device"], one["setting"]): (one["base"], one["new"]) for one in facts}


def test_two_runs_of_one_node_are_alike() -> None:
    base, new = runs()
    found = compare([base], [new])
    assert (found.outcome, found.exit_code, found.headline.code) == (Outcome.HOLDS, 0, "compare.same")
    data = found.data
    assert (data["total"], data["slower"], data["faster"], data["untestable"]) == (20, 0, 0, 2)
    assert data["unchanged"] > 0
    assert data["unchanged"] + data["inconclusive"] == data["total"] == found.table("compare.results").frame.height
    assert min(data["detectable"].values()) == pytest.approx(THRESHOLD)
    (load,) = [one for one in found.findings if "load" in one.facts]
    assert (load.facts["load"], load.facts["run"]) == (pytest.approx(7.2, abs=0.05), NEW.name)
    assert compare([new], [base]).headline.code == "compare.same"
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


OF_ONE_GPU = {
    "a link down": planted.lanes_down("gpu:1"),
    "PCIe at half its lanes": planted.pcie_narrow("gpu:1"),
    "PCIe a generation lower": planted.pcie_slow("gpu:1"),
    "IOMMU": planted.translated("gpu:1"),
    "throttled": planted.throttled("gpu:1"),
    "power cap": planted.capped("gpu:1"),
    "another process": planted.shared("gpu:1"),
    "MIG": planted.sliced("gpu:1"),
    "ACS": planted.redirected("gpu:1"),
    "slow memory": planted.slow_memory("gpu:1"),
    "slow to the host": planted.slow_host("gpu:1"),
    "late memory": planted.late_memory("gpu:1"),
    "throttled latencies": planted.throttled_waits("gpu:1"),
}
OF_ONE_OF_MANY = {
    "links that nobody reports": planted.lanes_down_unsaid("gpu:1"),
    "slow sender": planted.slow_sender("gpu:1"),
    "slow receiver": planted.slow_receiver("gpu:1"),
    "late answers": planted.late_row("gpu:1"),
    "ECC": planted.corrected("gpu:1", "gpu:0", "gpu:2", "gpu:3"),
}
OF_A_PAIR = {
    "a slow path": planted.slow_pair("gpu:0", "gpu:1"),
    "no peer access": planted.no_peer_access("gpu:0", "gpu:1"),
    "late answers of a pair": planted.late_pair("gpu:0", "gpu:1"),
}


@pytest.mark.parametrize("fault", [*OF_ONE_GPU.values(), *OF_ONE_OF_MANY.values()], ids=[*OF_ONE_GPU, *OF_ONE_OF_MANY])
def test_of_four_gpus_the_faulty_one_is_blamed(fault: planted.Fault) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    assert found.exit_code == 1
    assert {(one.where, one.facts["kind"]) for one in causes(found)} == {(("gpu:1",), "gpu")}


@pytest.mark.parametrize("fault", OF_ONE_GPU.values(), ids=OF_ONE_GPU)
def test_of_two_gpus_the_faulty_one_is_blamed(fault: planted.Fault) -> None:
    base, new = runs()
    found = compare([base], [fault(new)])
    assert found.exit_code == 1
    assert {one.where for one in causes(found)} == {("gpu:1",)}


@pytest.mark.parametrize("fault", [*OF_A_PAIR.values(), planted.lanes_down_unsaid("gpu:1")], ids=[*OF_A_PAIR, "unsaid"])
def test_of_two_gpus_that_are_slow_to_each_other_both_are_named(fault: planted.Fault) -> None:
    base, new = runs()
    assert {frozenset(one.where) for one in causes(compare([base], [fault(new)]))} == {frozenset(("gpu:0", "gpu:1"))}


@pytest.mark.parametrize("fault", OF_A_PAIR.values(), ids=OF_A_PAIR)
def test_of_four_gpus_a_slow_pair_is_blamed(fault: planted.Fault) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    assert {frozenset(one.where) for one in causes(found)} == {frozenset(("gpu:0", "gpu:1"))}


@pytest.mark.parametrize(
    ("fault", "kind", "what"),
    [
        (planted.slow_engine("copy-engine"), "method", "copy-engine"),
        (planted.slow_engine("kernel-copy"), "method", "kernel-copy"),
        (planted.slow_fabric, "kind", "gpu<>gpu"),
        (planted.slow_host_everywhere, "kind", "gpu<>host"),
        (planted.shared_link("gpu:0", "gpu:1"), "kind", "gpus<>host"),
    ],
    ids=["copy engine", "kernel", "fabric", "host", "host at once"],
)
def test_a_fault_of_every_gpu_blames_none(fault: planted.Fault, kind: str, what: str) -> None:
    one = only(compare([recorded.healthy()], [fault(recorded.healthy())]))
    assert (one.facts["kind"], one.facts["what"], one.where) == (kind, what, ())


def test_the_faulty_gpu_is_blamed_through_noise() -> None:
    rng = random.Random(3)
    for fault in (planted.throttled("gpu:1"), planted.pcie_narrow("gpu:1"), planted.lanes_down("gpu:1")):
        noisy = planted.noisy(fault(recorded.healthy()), rng, 0.001)
        found = compare([planted.noisy(recorded.healthy(), rng, 0.001)], [noisy])
        assert found.headline.where == ("gpu:1",)


def busy(run: RunFile) -> RunFile:
    """Return the run as a matrix product of another process on gpu:1 leaves it: kernels suffer most."""
    hit = [
        (lambda flow: planted.kernel(flow) or planted.local(flow, "gpu:1"), 0.51),
        (lambda flow: flow["method"] == "copy-engine", 0.93),
        (lambda flow: flow["method"] in ("pointer-chase", "ping-pong"), 0.8),
    ]
    for slowed, factor in hit:
        run = planted.slowed(run, lambda flow, slowed=slowed: "gpu:1" in planted.ends(flow) and slowed(flow), factor)
    return planted.noisy(run, random.Random(1), 0.004)


@pytest.mark.parametrize("base", [recorded.HEALTHY, recorded.PAIR], ids=["4 GPUs", "2 GPUs"])
def test_another_process_is_no_fault_of_a_method(base: Path) -> None:
    run = RunFile.read(base)
    for new in (busy(run), planted.with_state(busy(run), "gpu:1", processes=1)):
        found = compare([run], [new])
        assert (found.headline.where, found.headline.facts["kind"]) == (("gpu:1",), "gpu")
        assert found.headline.facts["changes"][1] > 2 * found.headline.facts["changes"][0]


@pytest.mark.parametrize(
    ("fault", "setting", "values"),
    [
        (planted.lanes_down("gpu:1"), "links-nvlink", ("18", "17")),
        (planted.pcie_narrow("gpu:1"), "pcie_lanes", ("16", "8")),
        (planted.pcie_slow("gpu:1"), "pcie_generation", ("5", "4")),
        (planted.capped("gpu:1"), "power_cap_w", ("700.0", "350.0")),
        (planted.shared("gpu:1"), "processes", ("0", "2")),
        (planted.throttled("gpu:1"), "throttled", ("no", "thermal slowdown")),
    ],
    ids=["links", "lanes", "generation", "cap", "processes", "clock"],
)
def test_what_differs_of_the_blamed_gpu_is_the_likely_cause(
    fault: planted.Fault, setting: str, values: tuple[str, str]
) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    (likely,) = with_code(found, "compare.likely")
    assert (likely.facts["device"], likely.facts["setting"]) == ("gpu:1", setting)
    assert (likely.facts["base"], likely.facts["new"]) == values


def test_links_that_differ_are_a_changed_setup_where_nothing_is_slower() -> None:
    header = planted.lanes_down("gpu:1")(recorded.healthy()).header
    found = compare([recorded.healthy()], [replace(recorded.healthy(), header=header)])
    assert found.headline.code == "compare.same"
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


def test_what_every_result_has_is_no_cause_of_some() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(shm: float, mpi: float) -> RunFile:
        return measured(
            [
                *made.there_and_back("mpi", "pageable", mpi, sizes),
                *made.there_and_back("shm-copy", "shm", shm, sizes),
            ]
        )

    base, new = ([sent(shm * by, mpi) for by, mpi in zip((1, 1.01, 1.02), mpis, strict=True)] for shm, mpis in SENT)
    one = only(compare(base, new))
    assert (one.facts["kind"], one.facts["what"]) == ("method", "shm-copy")
    assert (one.facts["unchanged"], one.facts["unclear"], len(one.results)) == (0, 0, len(sizes))
    before, after = ([sent(2e-7 * by / fast, 4e-7 * by / fast) for by in (1, 1.01, 1.02)] for fast in (1, 10))
    every = only(compare(before, after))
    assert (len(every.results), every.facts["unclear"], every.where) == (2 * len(sizes), 0, ("numa:0",))


def test_a_change_of_some_that_nothing_sets_apart_is_counted() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(fast: float, noise: float) -> RunFile:
        steady = made.there_and_back("mpi", "pageable", 4e-7 / fast, sizes)
        return measured([*steady, *made.there_and_back("mpi", "pageable", 4e-6 * noise, [1 << 20])])

    for noises in ((1, 1, 1), (1, 3, 0.4)):
        base, new = (
            [sent(fast * by, noise) for by, noise in zip((1, 1.01, 1.02), noises, strict=True)] for fast in (1, 10)
        )
        one = only(compare(base, new))
        assert (one.facts["kind"], one.facts["count"], one.facts["total"]) == ("none", 3, 4)


def measured(rows: list[Row]) -> RunFile:
    """Return a run that was measured, not modelled."""
    run: RunFile = made.run(found=rows)
    node = {**run.header["node"], "modelled": False}
    return replace(run, header={**run.header, "node": node, "engine": {"backend": "host", "versions": {}}})
