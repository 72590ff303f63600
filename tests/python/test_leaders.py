"""Which line of a picture is best from which size on, and what a layer adds to what it calls."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from rich.console import Console

from linkscope.analysis import headline as headlines
from linkscope.analysis.bounds import best_latencies
from linkscope.analysis.by_flow import apart
from linkscope.analysis.curves import CurveSet, curves
from linkscope.analysis.overview import overview
from linkscope.machine.paths import Paths
from linkscope.report import wording
from linkscope.report.terminal import show
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
KIB = 1 << 10
PLACE = "nvlink-18: gpu:0 > gpu:1"


def timed(method: str, size: int, seconds: float, clock: str = "host", spread: float = 0.001, **more: Any) -> Row:
    """An ok row of a message from gpu:0 to gpu:1 whose interval reaches ``spread`` to either side."""
    parameters: Json = more.pop("parameters", {})
    flow = made.flow("gpu:0", "gpu:1", size, method, parameters=parameters)
    words = [PLACE, method, *map(str, parameters.values()), f"{clock} clock"]
    labels = {"show": "curve", "x": size, "x_name": "bytes", "figure": "latency", "series": ", ".join(words)}
    plan_case = made.case("ways", [flow], {**labels, "title": "Ways", **more}, clock)
    plan_case["id"] += f"/{clock}"
    around = [1 - spread] * 5 + [1.0] * 3 + [1 + spread] * 5
    row = made.ok(plan_case, [[seconds * factor for factor in around]])
    return Row.from_json({**row.raw, "modelled": False, "backend": "cuda"})


def picture(rows: list[Row]) -> CurveSet:
    (table,) = curves(rows, Paths(made.node()))
    return table


def test_the_lead_changes_where_two_lines_cross() -> None:
    sizes = [KIB << step for step in range(5)]
    rows = [timed("ipc-kernel", size, 2e-6 + size / 1e9) for size in sizes]
    rows += [timed("ipc-copy", size, 6e-6 + size / 4e9) for size in sizes]
    table = picture(rows)
    assert [(lead.best, lead.first, lead.last) for lead in table.leads] == [
        (("ipc-kernel",), KIB, 4 * KIB),
        (("ipc-copy",), 8 * KIB, 16 * KIB),
    ]
    assert wording.leads(table) == ["best, host clock: ipc-kernel up to 4 KiB; ipc-copy from 8 KiB"]


def test_nobody_leads_where_all_are_equals_on_both_sides_of_what_is_not_told() -> None:
    sizes = [KIB << step for step in range(5)]
    rows = [timed(method, size, 2e-6) for method in ("ipc-kernel", "ipc-copy") for size in sizes]
    wild = [timed("ipc-copy", 4 * KIB, 2e-6, spread=0.9)]
    assert picture([row for row in rows if "ipc-copy/4KiB" not in row.id and row is not rows[7]] + wild).leads == ()


def test_one_best_of_several_ranges_is_named_once() -> None:
    sizes = [KIB << step for step in range(5)]
    rows = [timed("ipc-kernel", size, 2e-6) for size in sizes]
    rows += [timed("ipc-copy", size, 9e-6 if size != 4 * KIB else 2.1e-6, spread=0.001) for size in sizes]
    wild = [timed("ipc-copy", 4 * KIB, 2.1e-6, spread=0.9) if row is rows[7] else row for row in rows]
    (told,) = wording.leads(picture(wild))
    assert told.count("ipc-kernel") == 1
    assert "from 1 KiB to 2 KiB and from 8 KiB to 16 KiB" in told


def test_places_where_the_same_is_best_share_a_line() -> None:
    rows = [timed(method, KIB, time) for method, time in (("ipc-kernel", 1e-6), ("ipc-copy", 5e-6))]
    other = json.loads(json.dumps([row.raw for row in rows]).replace("gpu:1", "gpu:2"))
    (line,) = wording.leads(picture([*rows, *map(Row.from_json, other)]))
    assert line == f"best, {PLACE} and 1 more place, host clock: ipc-kernel at 1 KiB"


def test_a_better_figure_that_cannot_lead_says_why() -> None:
    run = RunFile.read(Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-packets.jsonl")
    tables = [table for table in overview(run.rows, run.node).tables if isinstance(table, CurveSet)]
    told = {bool(any("in-kernel" in name for name in table.names)): wording.no_rivals(table) for table in tables}
    assert len(told[True]) == 1
    assert wording.no_rivals(picture([timed("ipc-kernel", KIB, 1e-6), timed("ipc-copy", KIB, 2e-6)])) == []


def test_figures_of_two_clocks_are_never_compared() -> None:
    rows = [timed("ipc-kernel", KIB, 1e-6, "device"), timed("ipc-copy", KIB, 5e-6, "host")]
    assert picture(rows).leads == ()
    both = picture([*rows, timed("ipc-kernel", KIB, 9e-6, "host")])
    assert [(lead.regime, lead.best) for lead in both.leads] == [("host clock", ("ipc-copy",))]


def test_where_intervals_overlap_both_lead() -> None:
    rows = [timed("ipc-kernel", KIB, 1e-6), timed("ipc-copy", KIB, 2e-6)]
    close = [timed("ipc-kernel", 2 * KIB, 2.06e-6, spread=0.05), timed("ipc-copy", 2 * KIB, 2e-6, spread=0.05)]
    apart_ = [timed("ipc-kernel", 2 * KIB, 2.06e-6), timed("ipc-copy", 2 * KIB, 2e-6)]
    leads = picture([*rows, *close]).leads
    assert [(lead.best, lead.last) for lead in leads] == [
        (("ipc-kernel",), KIB),
        (("ipc-kernel", "ipc-copy"), 2 * KIB),
    ]
    assert [lead.best for lead in picture([*rows, *apart_]).leads] == [("ipc-kernel",), ("ipc-copy",)]


def test_a_rate_of_both_ways_and_repetition_in_a_kernel_have_no_rivals() -> None:
    window = timed("mpi", KIB, 2e-6, parameters={"call": "window"})
    both = timed("mpi", KIB, 1e-6, parameters={"call": "both-ways"})
    inside = timed("direct-collective", KIB, 1e-7, parameters={"form": "in-kernel"})
    assert picture([window, both, inside]).leads == ()


def in_memory(row: Row, memory: str) -> Row:
    """The same between two processes' ordinary host memory of that kind."""
    told = json.loads(json.dumps(row.raw))
    (flow,) = told["case"]["flows"]
    flow |= {
        end: {"device": "numa:0", "memory": memory, "rank": rank} for rank, end in enumerate(("source", "destination"))
    }
    return Row.from_json(told)


def test_an_answered_send_is_no_latency_of_one_way() -> None:
    sent = timed("mpi", 8, 3e-6, parameters={"call": "send"})
    unsaid = timed("mpi", 8, 3e-6, parameters={})
    halved = timed("mpi", 8, 2e-6, parameters={"call": "ping-pong"})
    assert best_latencies([sent, unsaid]) == {}
    assert best_latencies([sent, halved])["gpu"].seconds == pytest.approx(2e-6)


def shown(rows: list[Row]) -> str:
    text = io.StringIO()
    show(made.run(found=rows), Console(file=text, width=160))
    return text.getvalue()


def test_lines_without_a_figure_are_named_with_their_reason_and_take_no_colour() -> None:
    skipped = timed("torch-mpi", KIB, 1e-6)
    lost = made.not_ok(skipped.case, "skipped", "mpi4py is not installed")
    rows = [lost, timed("ipc-kernel", KIB, 1e-6), timed("ipc-copy", KIB, 2e-6)]
    table = picture(rows)
    assert wording.unshown(table) == {"skipped: mpi4py is not installed": ["torch-mpi, host clock"]}
    text = shown(rows)
    assert "skipped: mpi4py is not installed (torch-mpi, host clock)" in text
    assert "best, host clock: ipc-kernel at 1 KiB" in text


def test_a_table_of_a_few_reasons_alone_is_a_line() -> None:
    reasons = ("no figures for mpi", "no method torch-mpi")
    rows = [made.not_ok(timed(name, KIB, 1e-6).case, "skipped", why) for name, why in zip("ab", reasons, strict=True)]
    assert "all 2 skipped: no figures for mpi; no method torch-mpi" in shown(rows)


def noted(row: Row, *notes: str) -> Row:
    """The row with these notes of its flow."""
    return Row.from_json({**row.raw, "flows": [{**flow, "notes": list(notes)} for flow in row.raw["flows"]]})


def test_both_reports_and_the_json_hold_what_the_layer_adds() -> None:
    rows = [timed("torch-copy", KIB, 9e-6), timed("copy-engine", KIB, 4e-6)]
    for place in (shown(rows),):
        assert "What torch-copy adds to copy-engine" in place.replace("&gt;", ">")
        assert "+5000 ns" in place
        assert "2.25" in place
    found = overview(apart(rows), made.node()).to_json()
    assert found["layers"][0]["points"][0]["ratio"] == pytest.approx(2.25)
    assert list(found["tables"][0]["leads"][0]["best"]) == ["copy-engine"]


def listed(rows: list[Row]) -> list[Row]:
    """The same rows as lines of a list, told apart by their call and window."""
    lines = []
    for row in rows:
        parameters = row.case["flows"][0]["parameters"]
        labels = {**row.labels, "show": "list", "series": "", "variant": {"processes": "a process each", **parameters}}
        lines.append(Row.from_json({**row.raw, "case": {**row.case, "labels": labels}}))
    return lines


def test_what_all_lines_of_a_list_share_stands_above_them_once() -> None:
    calls = [timed("mpi", KIB, 1e-6, parameters={"call": call, "window": "4"}) for call in ("window", "both-ways")]
    text = shown(listed(calls))
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("a process each, window 4") == 1
    head = next(line for line in lines if line.startswith("call"))
    assert "interval" in head
    assert "processes" not in head


def test_a_window_is_set_beside_windows_alone() -> None:
    send = timed("mpi", KIB, 5e-6, parameters={"call": "send"})
    copy = timed("ipc-copy", KIB, 6e-6)
    window = timed("mpi", KIB, 1e-6, parameters={"call": "window"})
    (lead,) = picture([send, copy, window]).leads
    assert (lead.regime, lead.best) == ("host clock", ("mpi, send",))


def test_a_picture_of_times_has_no_line_for_a_rate_that_skipped_points_could_have_had() -> None:
    lost = made.not_ok(timed("mpi", KIB, 1e-6).case, "skipped", "no MPI")
    table = picture([lost, timed("ipc-copy", KIB, 2e-6), timed("ipc-copy", 2 * KIB, 3e-6)])
    assert [curve.peak_gbps for curve in table.curves] == [None, None]


def test_a_heading_says_every_meaning_that_its_lines_have() -> None:
    halved, sent = (timed("mpi", KIB, 2e-6, parameters={"call": call}) for call in ("ping-pong", "send"))
    figure = picture([halved, sent, timed("ipc-copy", KIB, 3e-6)]).heading.figure
    assert figure.split("; ") == [headlines.MESSAGE, headlines.ANSWERED, headlines.TRANSFER]


def test_an_empty_message_has_no_place_in_a_table_of_rates() -> None:
    empty = timed("mpi", 0, 2e-6, figure="first")
    flows = [{name: value for name, value in flow.items() if name != "gbps"} for flow in empty.raw["flows"]]
    rows = [Row.from_json({**empty.raw, "flows": flows}), timed("mpi", KIB, 3e-6, figure="first")]
    table = picture(rows)
    assert [point.headline is None for point in table.flat] == [True, False]
    assert table.heading.unit == "GB/s"
    assert "0 B have no rate" in shown(rows)


def test_a_table_that_has_no_figure_of_the_kind_asked_for_says_so() -> None:
    plan_case = made.case("copies", [made.flow("gpu:0", "gpu:1", KIB)], {"show": "matrix", "figure": "touched"})
    rows = [made.ok(plan_case, [[1e-6] * 8])]
    for place in (shown(rows),):
        assert "n/a: has no figure of the kind asked for, touched" in place
