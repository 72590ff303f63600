"""Known collectives: a library's large all-reduces are held against what healthy nodes are known to reach."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import planted_faults as faults
import pytest
from rich.console import Console

from linkscope.analysis.explain import Diagnosis, explain
from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.analysis.left_out import OF_PROCESSES
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.machine.described import load_machine
from linkscope.machine.expected import expected_collective
from linkscope.report import explain_text
from linkscope.report.html import render
from linkscope.report.html_answer import picture
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.stats import scaled

Json = dict[str, Any]
FIXTURES = Path(__file__).parents[1] / "fixtures"
NCCL_TESTS = FIXTURES / "importers" / "nccl-tests-2.19.txt"


@cache
def recorded() -> RunFile:
    return RunFile.read(FIXTURES / "runs" / "h200x4-direct.jsonl")


@cache
def default() -> RunFile:
    return RunFile.read(FIXTURES / "runs" / "h200x4-default.jsonl")


def known_row() -> Row:
    (one,) = explain(recorded()).collectives
    return next(row for row in recorded().rows if row.id == one.id)


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


def judged(row: Row, beside: RunFile | None = None) -> Diagnosis:
    run = recorded() if beside is None else beside
    return explain(replace(run, rows=(*(() if beside is None else beside.rows), row)))


def only(found: Diagnosis) -> JudgedCollective:
    (one,) = found.collectives
    return one


def test_a_large_all_reduce_as_fast_as_known_is_normal() -> None:
    found = explain(recorded())
    one = only(found)
    known = expected_collective("NVIDIA H200", "nvlink", one.method, "all-reduce", 4, nvls=False)
    assert known is not None
    assert (one.bytes, len(one.gpus)) == (known.from_bytes, 4)
    assert one.expected_gbps == pytest.approx(known.share * one.line_gbps)
    assert (found.judged, found.known, found.wrong) == (1, 1, False)
    assert not explain_text.cannot_tell(found)
    assert "All-reduce on 4 GPUs" in explain_text.headline(found)
    assert found.unseen == ()


def test_with_collectives_alone_the_picture_has_the_peaks_of_links() -> None:
    text = picture(recorded().node, explain(recorded()))
    assert "450" in text
    assert "of what is expected" not in text


def test_one_that_is_surely_slower_is_a_finding() -> None:
    found = judged(changed(known_row(), 0.8))
    assert only(found).short
    (short,) = found.shortfalls
    assert short.where == only(found).gpus
    assert short.cost == pytest.approx(only(found).missing)
    assert "all-reduce" in explain_text.headline(found)
    assert found.wrong
    assert "suite default" in short.decide


def test_one_that_an_interval_leaves_open_may_be_short() -> None:
    found = judged(changed(known_row(), 0.95, low=0.9))
    assert only(found).uncertain
    assert only(found) in found.unsure
    assert explain_text.cannot_tell(found)
    assert "may be short" in explain_text.grounds(found)
    beside = judged(changed(known_row(), 0.95, low=0.9), default())
    assert beside.unsure, "for --strict"
    assert "may be short" in explain_text.grounds(beside)


@pytest.mark.parametrize("note", ["nccl 2.28.9, NVLink SHARP as it chooses", ""])
def test_what_is_known_without_nvls_makes_nothing_normal_that_may_have_had_it(note: str) -> None:
    found = judged(changed(known_row(), notes=(note,)))
    assert only(found).faster_known
    assert explain_text.cannot_tell(found)
    assert "NVLS" in explain_text.headline(found)
    assert judged(changed(known_row(), 0.8, notes=(note,))).wrong, "slower than without it is slow in any case"
    off = judged(changed(known_row(), notes=("nccl 2.28.9, no NVLink SHARP: the GPUs report no multicast",)))
    assert not only(off).open


def test_a_known_figure_with_nvls_is_taken_from_its_size_on() -> None:
    with_it = expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 8, nvls=True)
    without = expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 8, nvls=False)
    assert with_it is not None
    assert without is not None
    assert with_it.share > 1 > without.share
    assert with_it.from_bytes > without.from_bytes


def of_eight(gbps: float, note: str, size: int) -> Diagnosis:
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
    return explain(replace(recorded(), header=header, rows=(row,)))


@pytest.mark.parametrize(
    ("gbps", "note", "size", "told"),
    [
        (372.0, "nccl 2.28.9, NCCL_NVLS_ENABLE=0, NVLink SHARP off", 1 << 30, "fine"),
        (372.0, "nccl 2.28.9, NVLink SHARP as it chooses", 1 << 30, "open"),
        (372.0, "nccl 2.28.9, NVLink SHARP as it chooses", 4 << 30, "short"),
        (475.0, "nccl 2.28.9, NVLink SHARP as it chooses", 4 << 30, "fine"),
        (372.0, "nccl 2.28.9", 4 << 30, "open"),
        (200.0, "nccl 2.28.9", 4 << 30, "short"),
    ],
)
def test_what_nvls_reaches_is_asked_where_it_may_have_been_on(gbps: float, note: str, size: int, told: str) -> None:
    one = only(of_eight(gbps, note, size))
    assert ("short" if one.short else "open" if one.open else "fine") == told


def test_a_lost_lane_does_not_lower_what_is_expected() -> None:
    header = json.loads(json.dumps(recorded().header))
    (link,) = [one for one in header["node"]["links"] if "gpu:1" in (one["a"], one["b"]) and one["kind"] == "nvlink"]
    link.update(peak_gbps=link["peak_gbps"] * 12 / 18, lanes=12)
    run = replace(recorded(), header=header)
    assert only(explain(run)).expected_gbps == pytest.approx(only(explain(recorded())).expected_gbps)


def test_slow_links_explain_a_slow_collective_and_late_answers_do_not() -> None:
    slow = changed(known_row(), 0.5)
    with_links = judged(slow, faults.throttled("gpu:1")(faults.lanes_down_unsaid("gpu:1")(default())))
    assert only(with_links).short
    assert not any("all-reduce" in one.what for one in with_links.shortfalls)
    (alone,) = judged(slow, default()).shortfalls
    assert "all-reduce" in alone.what
    assert "as fast as they should be" in alone.decide


def test_what_a_user_chose_otherwise_is_no_fault() -> None:
    row = known_row()
    environment = changed(row, 0.2, environment={"NCCL_ALGO": "tree"})
    pinned = changed(row, 0.2, **members(row, memory="pinned"))
    half = changed(
        row, 0.2, flows=[{**row.case["flows"][0], "parameters": {"collective": "all-reduce", "type": "float16"}}]
    )
    assert [judged(one).collectives for one in (environment, pinned, half)] == [(), (), ()]


def test_what_no_node_has_is_not_judged() -> None:
    row = known_row()
    stranger = members(row)
    stranger["flows"][0]["members"][1]["device"] = "gpu:9"
    assert judged(changed(row, **stranger)).collectives == ()
    for peak in (0, 1e-320):
        header = json.loads(json.dumps(recorded().header))
        for link in header["node"]["links"]:
            link["peak_gbps"] = peak
        assert explain(replace(recorded(), header=header)).collectives == ()


def test_of_smaller_ones_it_is_told_from_where_on_figures_are_known() -> None:
    small = tuple(row for row in recorded().rows if row.case["flows"][0]["bytes"] <= 1 << 20)
    found = explain(replace(recorded(), rows=small))
    assert (found.collectives, found.known_from) == ((), 1 << 30)
    assert "begin at 1 GiB" in explain_text.headline(found)
    assert explain_text.UNPUBLISHED not in explain_text.headline(found)


def test_of_a_judged_one_the_time_alone_is_left_out() -> None:
    labels = {**known_row().case["labels"], "figure": "latency", "figures": ["latency", "bus"]}
    both = changed(known_row(), labels=labels)
    found = explain(replace(recorded(), rows=(both,)))
    assert len(found.collectives) == 1
    assert found.left_out == {OF_PROCESSES: 1}


def test_of_other_numbers_of_gpus_and_links_nothing_is_known() -> None:
    assert expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 3, nvls=False) is None
    assert expected_collective("NVIDIA H200", "pcie", "xccl-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("NVIDIA A100", "nvlink", "xccl-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("NVIDIA H200", "nvlink", "direct-collective", "all-reduce", 4, nvls=False) is None
    assert expected_collective("NVIDIA H200", "nvlink", "xccl-collective", "all-reduce", 4, nvls=True) is None


def test_a_model_is_no_witness() -> None:
    rows = tuple(Row.from_json({**row.raw, "modelled": True}) for row in recorded().rows)
    assert explain(replace(recorded(), rows=rows)).collectives == ()


def test_of_an_import_whose_links_are_known_it_is_told_what_is_open(tmp_path: Path) -> None:
    bare = import_file(NCCL_TESTS, tmp_path / "bare.jsonl", Wanted(None, None, None, None), ["linkscope"])
    assert explain_text.no_links(explain(bare)) in explain_text.headline(explain(bare))
    machine = load_machine("h200x4")
    told = import_file(NCCL_TESTS, tmp_path / "told.jsonl", Wanted(None, None, machine, None), ["linkscope"])
    found = explain(told)
    assert {one.name for one in found.collectives} == {"all-reduce on 4 GPUs"}
    assert "all-reduce on 4 GPUs is as fast as known" in explain_text.headline(found)


@pytest.mark.parametrize("full", [False, True])
def test_they_stand_with_their_source(full: bool) -> None:
    """Words of a run file are no markup."""
    launch = "[/bold] x"
    (flow,) = known_row().case["flows"]
    other = changed(known_row(), flows=[{**flow, "parameters": {**flow["parameters"], "launch": launch}}])
    found, stream = explain(replace(recorded(), rows=(known_row(), other))), io.StringIO()
    (explain_text.show_all if full else explain_text.show)(found, Console(file=stream, width=120))
    text = stream.getvalue()
    assert f"[1] {found.collectives[0].held_against.split(',')[0]}" in text
    assert f"{found.collectives[0].measured.median:.1f}" in text
    assert (launch in text) == full


def test_the_page_has_them_where_it_was_judged_and_not_as_odd() -> None:
    slow = replace(recorded(), rows=(*default().rows, changed(known_row(), 0.5)))
    page = render(slow)
    assert "all-reduce on 4 GPUs, bus bandwidth" in page
    odd = page.partition("Odd, and not judged")[2].partition("</ul>")[0]
    assert "Host and all GPUs at once" in odd
    assert "xccl" not in odd
