"""Known collectives: a library's large all-reduces are compared with what healthy nodes are known to reach."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import planted_faults as faults
import pytest
import recorded as runs
from test_checked_results import checked, explain, found

from linkscope.answers.answer import Answer, Outcome
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.described import load_machine
from linkscope.machine.expected import expected_collective
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.stats import scaled

Json = dict[str, Any]
NCCL_TESTS = runs.FIXTURES / "importers" / "nccl-tests-2.19.txt"


@cache
def recorded() -> RunFile:
    return RunFile.read(runs.DIRECT)


def known_row() -> Row:
    (name,) = checked(explain(recorded()))["id"]
    return next(row for row in recorded().rows if row.id == name)


def changed(row: Row, factor: float = 1.0, low: float = 1.0, notes: tuple[str, ...] | None = None, **case: Any) -> Row:
    """With a rate so many times as high, of which the interval reaches down to ``low`` of it."""
    (flow,) = row.flows
    assert flow.gbps is not None
    rate = scaled(flow.gbps, factor)
    told = flow.notes if notes is None else notes
    flow = replace(flow, gbps=replace(rate, low=rate.median * low, high=rate.median), notes=told)
    raw = {**row.raw, "case": {**row.case, **case}}
    return replace(Row.from_json(raw), flows=(flow,))


def members(row: Row, **more: Any) -> Json:
    """The case's flows with other ends."""
    (flow,) = row.case["flows"]
    return {"flows": [{**flow, "members": [{**end, **more} for end in flow["members"]]}]}


def of(row: Row, beside: RunFile | None = None) -> Answer:
    """Return the explanation of a run of this row alone, or beside all rows of another."""
    run = recorded() if beside is None else beside
    rows = (*(() if beside is None else beside.rows), row)
    return explain(replace(run, rows=rows, header=planned(run.header, rows)))


def planned(header: Json, rows: tuple[Row, ...]) -> Json:
    return {**header, "plan": {**header["plan"], "ids": [row.id for row in rows]}}


def only(answer: Answer) -> Json:
    (line,) = [line for line in checked(answer).iter_rows(named=True) if line["kind"] == "collective"]
    return line


def collectives(answer: Answer) -> int:
    return answer.data["checked"]


def test_a_large_all_reduce_as_fast_as_known_is_normal() -> None:
    answer = explain(recorded())
    known = expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 4, nvls=False)
    assert known is not None
    line = only(answer)
    assert line["bytes"] == known.from_bytes
    assert line["expected"] == pytest.approx(known.share * 450)
    assert (answer.outcome, answer.data["by_reference"]) == (Outcome.HOLDS, 1)
    assert answer.data["not_checked"] == {"processes": 87}


def test_one_that_is_surely_slower_is_a_problem() -> None:
    answer = of(changed(known_row(), 0.8))
    (problem,) = found(answer)
    assert problem["where"] == ["gpu:0", "gpu:1", "gpu:2", "gpu:3"]
    assert problem["cost"] == pytest.approx(1 - only(answer)["ratio"])
    assert (answer.headline.code, answer.outcome) == ("explain.slow-collective", Outcome.FAILS)
    assert problem["cause"] == "explain.unchecked-links"


def test_one_that_an_interval_leaves_open_may_be_slow() -> None:
    answer = of(changed(known_row(), 0.95, low=0.9))
    assert only(answer)["outcome"] == "unclear"
    assert answer.outcome is Outcome.UNCLEAR
    assert of(changed(known_row(), 0.95, low=0.9), runs.healthy()).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize("note", ["nccl 2.28.9, NVLink SHARP as it chooses", ""])
def test_what_is_known_without_nvls_makes_nothing_normal_that_may_have_had_it(note: str) -> None:
    answer = of(changed(known_row(), notes=(note,)))
    assert (answer.headline.code, answer.outcome) == ("explain.maybe-nvls", Outcome.UNCLEAR)
    assert of(changed(known_row(), 0.8, notes=(note,))).outcome is Outcome.FAILS, "slower than without it is slow"
    off = of(changed(known_row(), notes=("nccl 2.28.9, no NVLink SHARP: the GPUs report no multicast",)))
    assert off.outcome is Outcome.HOLDS


def test_one_that_may_be_faster_hides_no_link_that_may_be_slow() -> None:
    row = changed(known_row(), notes=("nccl 2.28.9, NVLink SHARP as it chooses",))
    first, *others = runs.healthy().rows
    answer = of(row, replace(runs.healthy(), rows=(changed(first, low=0.9), *others)))
    assert (answer.headline.code, answer.outcome) == ("explain.unclear", Outcome.UNCLEAR)


def test_a_known_result_with_nvls_is_taken_from_its_size_on() -> None:
    with_it = expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 8, nvls=True)
    without = expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 8, nvls=False)
    assert with_it is not None
    assert without is not None
    assert with_it.share > 1 > without.share
    assert with_it.from_bytes > without.from_bytes


def of_eight(gbps: float, note: str, size: int) -> Answer:
    """An all-reduce of eight GPUs behind one switch, by its bus bandwidth."""
    header = json.loads(json.dumps(recorded().header))
    devices, links = header["node"]["devices"], header["node"]["links"]
    gpu = next(one for one in devices if one["id"] == "gpu:3")
    (link,) = [one for one in links if "gpu:3" in (one["a"], one["b"]) and one["kind"] == "nvlink"]
    for number in range(4, 8):
        devices.append({**gpu, "id": f"gpu:{number}"})
        links.append(json.loads(json.dumps(link).replace("gpu:3", f"gpu:{number}")))
    (flow,) = known_row().case["flows"]
    ends = [{**flow["members"][0], "device": f"gpu:{number}"} for number in range(8)]
    row = changed(known_row(), notes=(note,), flows=[{**flow, "bytes": size, "members": ends}])
    (result,) = row.flows
    assert result.gbps is not None
    bus = scaled(result.gbps, gbps / (1.75 * result.gbps.median))
    row = replace(row, flows=(replace(result, gbps=replace(bus, low=bus.median, high=bus.median)),))
    return explain(replace(recorded(), header=planned(header, (row,)), rows=(row,)))


@pytest.mark.parametrize(
    ("gbps", "note", "size", "outcome"),
    [
        (372.0, "nccl 2.28.9, NCCL_NVLS_ENABLE=0, NVLink SHARP off", 1 << 30, "holds"),
        (372.0, "nccl 2.28.9, NVLink SHARP as it chooses", 1 << 30, "unclear"),
        (372.0, "nccl 2.28.9, NVLink SHARP as it chooses", 4 << 30, "fails"),
        (475.0, "nccl 2.28.9, NVLink SHARP as it chooses", 4 << 30, "holds"),
        (372.0, "nccl 2.28.9", 4 << 30, "unclear"),
        (200.0, "nccl 2.28.9", 4 << 30, "fails"),
    ],
)
def test_what_nvls_reaches_is_asked_where_it_may_have_been_on(gbps: float, note: str, size: int, outcome: str) -> None:
    assert only(of_eight(gbps, note, size))["outcome"] == outcome


def test_a_lost_link_does_not_lower_what_is_expected() -> None:
    header = json.loads(json.dumps(recorded().header))
    (link,) = [one for one in header["node"]["links"] if "gpu:1" in (one["a"], one["b"]) and one["kind"] == "nvlink"]
    link.update(peak_gbps=link["peak_gbps"] * 12 / 18, lanes=12)
    run = replace(recorded(), header=header)
    assert only(explain(run))["expected"] == pytest.approx(only(explain(recorded()))["expected"])


def test_slow_links_explain_a_slow_collective_and_late_answers_do_not() -> None:
    slow = changed(known_row(), 0.5)
    with_links = of(slow, faults.throttled("gpu:1")(faults.lanes_down_unsaid("gpu:1")(runs.healthy())))
    assert only(with_links)["outcome"] == "fails"
    assert not any("collective" in one["kinds"] for one in found(with_links))
    (alone,) = found(of(slow, runs.healthy()))
    assert (alone["kinds"], alone["cause"]) == (["collective"], "explain.slow-library")
    late = found(of(slow, faults.late_row("gpu:1")(runs.healthy())))
    assert {one["cause"] for one in late} == {"explain.slow-library", "explain.unknown"}


def test_what_a_user_chose_otherwise_is_no_fault() -> None:
    row = known_row()
    environment = changed(row, 0.2, environment={"NCCL_ALGO": "tree"})
    pinned = changed(row, 0.2, **members(row, memory="pinned"))
    assert [collectives(of(one)) for one in (environment, pinned)] == [0, 0]
    for setting in ({"type": "float16"}, {"registered": "window"}, {"ctas": 4}, {"policy": "zero"}):
        flow = {**row.case["flows"][0], "parameters": {"collective": "all-reduce", **setting}}
        assert collectives(of(changed(row, 0.2, flows=[flow]))) == 0, setting


def test_what_no_node_has_is_not_checked() -> None:
    row = known_row()
    stranger = members(row)
    stranger["flows"][0]["members"][1]["device"] = "gpu:9"
    assert collectives(of(changed(row, **stranger))) == 0
    for peak in (0, 1e-320):
        header = json.loads(json.dumps(recorded().header))
        for link in header["node"]["links"]:
            link["peak_gbps"] = peak
        assert collectives(explain(replace(recorded(), header=header))) == 0


def test_of_smaller_ones_it_is_said_from_where_on_results_are_known() -> None:
    small = tuple(row for row in recorded().rows if row.case["flows"][0]["bytes"] <= 1 << 20)
    answer = explain(replace(recorded(), rows=small, header=planned(recorded().header, small)))
    assert (answer.headline.code, answer.headline.facts["least"]) == ("explain.no-sizes", 1 << 30)


def test_of_a_checked_one_the_time_alone_is_left_out() -> None:
    labels = {**known_row().case["labels"], "figure": "latency", "figures": ["latency", "bus"]}
    answer = of(changed(known_row(), labels=labels))
    assert (answer.data["checked"], answer.data["not_checked"]) == (1, {"processes": 1})


def test_of_other_numbers_of_gpus_and_links_nothing_is_known() -> None:
    assert expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 9, nvls=False) is None
    assert expected_collective("NVIDIA H200", "pcie", "xccl-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("a GPU unheard of", "nvlink", "xccl-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("NVIDIA H200", "nvlink", "direct-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 4, nvls=True) is None


def test_a_model_is_no_witness() -> None:
    rows = tuple(Row.from_json({**row.raw, "modelled": True}) for row in recorded().rows)
    assert collectives(explain(replace(recorded(), rows=rows))) == 0


def test_an_import_is_checked_by_the_name_of_its_gpus(tmp_path: Path) -> None:
    bare = import_file(NCCL_TESTS, tmp_path / "bare.jsonl", Wanted(None, None, None, None), ["linkscope"])
    answer = explain(bare)
    assert (answer.headline.code, answer.exit_code) == ("explain.ok-partly", 0), "of four GPUs NVLS makes none faster"
    assert "all-reduce/4gpus" in set(checked(answer)["movement"])
    machine = load_machine("h200x4")
    told = import_file(NCCL_TESTS, tmp_path / "told.jsonl", Wanted(None, None, machine, None), ["linkscope"])
    answer = explain(told)
    assert answer.headline.code == "explain.ok-partly"
    assert "all-reduce/4gpus" in set(checked(answer)["movement"])
