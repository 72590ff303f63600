"""Workloads: ways by time against the study's baseline, where time goes, phases and links, and every reader of rows."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest
import workload_rows as some
from result_schema import validate
from rich.console import Console
from test_html import Page

import linkscope
from linkscope.analysis.choose import choose
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.frames import export
from linkscope.analysis.headline import headline
from linkscope.analysis.overview import overview
from linkscope.analysis.workloads import PARTICLES, STEPS, WorkloadTable, workloads
from linkscope.answers.answer import Answer
from linkscope.answers.best import ANY, choices
from linkscope.answers.compare import answer as compare
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.machine.paths import Paths
from linkscope.report import explain_text, terminal, workload_text
from linkscope.report.html import render
from linkscope.report.html_answer import answer
from linkscope.report.workload_svg import workload_svg
from linkscope.results.member_time import PARTS
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

PATHS = Paths(made.node(4))


def table(rows: list[Row]) -> WorkloadTable:
    (found,) = workloads(rows, PATHS)
    return found


def printed(show: Any, *what: Any, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    show(*what, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def run_of(rows: list[Row]) -> RunFile:
    return made.run(4, rows)


@pytest.fixture(scope="module")
def halo() -> WorkloadTable:
    return table(some.halo_rows())


def test_rows_keep_to_the_schema_of_results() -> None:
    for row in (*some.halo_rows(), *some.pattern_rows()):
        validate(row.raw)


def test_ways_stand_by_time_against_the_baseline(halo: WorkloadTable) -> None:
    assert [way.name for way in halo.ways] == [
        "direct, device",
        "xccl, device, one process",
        "mpi, device",
        "mpi staged, registered",
    ]
    assert halo.best is halo.ways[0]
    assert halo.baseline is halo.ways[-1]
    assert halo.baseline.speedup is None
    direct, _, mpi, _ = (way.speedup for way in halo.ways)
    assert direct is not None
    assert direct.ratio == pytest.approx(2.0, rel=0.01)
    assert direct.low < direct.ratio < direct.high
    assert direct.told
    assert mpi is not None
    assert mpi.ratio == pytest.approx(1.23, rel=0.01)


def test_who_is_not_told_apart_from_the_fastest_is_its_equal(halo: WorkloadTable) -> None:
    assert [way.equal for way in halo.ways] == [True, True, False, False]
    wide = some.timed(some.workload_case(some.HALO, "halo"), 0.0125, noise=0.2)
    fast = some.timed(some.workload_case(some.HALO, "halo", "direct"), 0.0123)
    assert len(table([wide, fast]).equals) == 2


def test_the_figure_of_merit_is_of_what_the_schedule_packs(halo: WorkloadTable) -> None:
    assert halo.merit == STEPS
    assert halo.best is not None
    assert halo.best.merit == pytest.approx(20 / 0.0123, rel=0.01)
    sent = table([some.timed(some.workload_case(some.particles(), "particles"), 0.5)])
    assert sent.merit == PARTICLES
    assert sent.best is not None
    assert sent.best.merit == pytest.approx(4 * 3 * 100 / 0.5, rel=0.01)
    pattern = table(some.pattern_rows())
    assert (pattern.merit, pattern.pattern) == ("", True)


def test_bytes_and_messages_are_the_schedules(halo: WorkloadTable) -> None:
    assert halo.bytes == some.HALO.bytes
    assert halo.messages == some.HALO.messages().total()
    assert halo.best is not None
    assert halo.best.gbps == pytest.approx(some.HALO.bytes / halo.best.seconds.median * 1e-9)


def test_parts_are_of_the_slowest_member_and_add_up(halo: WorkloadTable) -> None:
    case = some.workload_case(some.HALO, "halo")
    way = table([some.timed(case, 1.0, slow=2)]).ways[0]
    assert way.member is not None
    assert way.member.seconds == pytest.approx(1.0)
    assert sum(share for _, share in way.shares) == pytest.approx(1.0)
    assert dict(way.shares)["wait"] == pytest.approx(0.5)
    assert "copy" not in dict(way.shares)


def test_replicates_fold_into_parts_that_still_add_up() -> None:
    case = some.workload_case(some.HALO, "halo")
    rows = [some.timed(case, seconds) for seconds in (1.0, 1.1, 1.3)]
    whole = folded([replace(row, round=i) for i, row in enumerate(rows)])
    (member, *others) = whole.flows[0].breakdown
    assert len(others) == 3
    assert member.seconds == pytest.approx((1.0 + 1.1 + 1.3) / 3)
    assert sum(member.phases_s) == pytest.approx(member.seconds)
    odd = replace(rows[1], flows=(replace(rows[1].flows[0], breakdown=()),))
    assert folded([rows[0], odd, rows[2]]).flows[0].breakdown == ()


def test_what_could_not_run_has_each_reason_once(halo: WorkloadTable) -> None:
    (gone,) = halo.missing
    assert (gone.status, gone.reason, len(gone.names)) == ("skipped", "no NCCL library", 2)
    assert not gone.baseline
    base = some.workload_case(some.HALO, "halo", memory="pageable", baseline=True)
    direct = some.timed(some.workload_case(some.HALO, "halo", "direct"), 1.0)
    lost = table([some.skipped(base, "no MPI library"), direct])
    assert lost.baseline is None
    assert lost.stood_in_for is None
    assert lost.missing[0].baseline
    assert "no MPI library" in workload_text.verdict(lost)


def test_nothing_that_ran_is_told_as_such() -> None:
    found = table([some.skipped(some.workload_case(some.HALO, "halo"), "no MPI library", "failed")])
    assert found.best is None
    assert found.times is None
    text = printed(workload_text.print_workload, found)
    assert "failed: no MPI library (mpi, device)" in text


def test_decks_and_numbers_of_ranks_have_tables_of_their_own() -> None:
    first = some.timed(some.workload_case(some.HALO, "halo"), 1.0)
    other = some.timed(some.workload_case(some.HALO, "halo", deck="small", name="x"), 1.0)
    assert [one.deck for one in workloads([first, other], PATHS)] == ["480x240, 20 steps", "small"]
    assert workloads(made.rows(4), PATHS) == ()


def test_names_say_what_tells_ways_apart() -> None:
    cases = [
        some.workload_case(some.HALO, "halo", state=state, variant=f"{xnack}{state}", environment=settings)
        for state in ("device", "managed")
        for xnack, settings in (("on", {"HSA_XNACK": "1"}), ("", None))
    ]
    cases.append(some.workload_case(some.HALO, "halo", order=(2, 0, 1, 3)))
    names = {way.name for way in table([some.timed(case, 1.0) for case in cases]).ways}
    assert "mpi, device, from managed, HSA_XNACK=1, order 0 1 2 3" in names
    assert "mpi, device, from device, unchanged, order 2 0 1 3" in names
    assert len(names) == len(cases)


def test_phases_are_held_against_their_messages_alone_and_their_busiest_link() -> None:
    times = table(some.pattern_rows()).times
    assert times is not None
    ring, pair = times.phases
    assert (ring.times, ring.bytes) == (10, 10 * 4 << 20)
    assert ring.seconds == pytest.approx(0.015)
    assert ring.slowdown == pytest.approx(0.015 / 10 / 0.001)
    assert pair.slowdown == pytest.approx(0.015 / 5 / 0.001)
    assert pair.bound is not None
    assert pair.bound.link == "gpu:0>switch:nvswitch"
    assert pair.bound.bytes == 5 * 4 << 20
    assert pair.bound.share == pytest.approx((5 * 4 << 20) / 450e9 / 0.015)
    busiest = times.links[0]
    assert busiest.bytes == (10 + 20) << 20
    assert busiest.seconds == pytest.approx(busiest.bytes / 450e9)


def test_a_link_carries_all_messages_that_pass_it() -> None:
    times = table([some.timed(some.workload_case(some.HALO, "halo"), 1.0)]).times
    assert times is not None
    sent, received = some.HALO.sent(), {link.link: link.bytes for link in times.links}
    for rank in range(4):
        assert received[f"gpu:{rank}>switch:nvswitch"] == sent[rank]
    assert [one.sent for one in times.ranks] == [sent[rank] for rank in range(4)]
    assert sum(one.received for one in times.ranks) == some.HALO.bytes
    assert times.ranks[0].waits == pytest.approx(0.5)


def test_ranks_that_share_a_device_use_no_link() -> None:
    case = some.workload_case(some.PATTERN, "ring.csv", state=None, order=(1, 1, 1, 1))
    times = table([some.timed(case, 1.0)]).times
    assert times is not None
    assert times.links == ()


def test_isolated_messages_are_no_way_of_their_own() -> None:
    found = table(some.pattern_rows())
    assert len(found.ways) == 1
    assert choices(Run(run_of(some.pattern_rows())).results) == []


def test_the_headline_is_the_time_of_the_schedule() -> None:
    case = some.workload_case(some.HALO, "halo")
    del case["labels"]["figure"]
    found = headline(some.timed(case, 0.02))
    assert found is not None
    assert (found.unit, found.higher_is_better) == ("ms", False)
    assert found.value.median == pytest.approx(20, rel=0.01)


def test_figures_have_the_workload_and_its_parts() -> None:
    frame = figures(run_of([*some.halo_rows(), *made.rows(4)[:2]]))
    line = frame.row(0, named=True)
    assert (line["workload"], line["deck"], line["interface"]) == ("halo", "480x240, 20 steps", "mpi")
    assert (line["members_memory"], line["state_memory"], line["collective"]) == ("registered", "device", None)
    assert line["messages"] == some.HALO.messages().total()
    assert sum(line["parts_s"]) == pytest.approx(0.0246, rel=0.01)
    assert line["of_peak"] is None
    assert line["gbps"] == pytest.approx(some.HALO.bytes / 0.0246 * 1e-9, rel=0.01)
    other = frame.row(-1, named=True)
    assert other["workload"] is None
    assert other["parts_s"] is None


def test_an_export_has_a_column_for_each_part(tmp_path: Path) -> None:
    export([run_of(some.halo_rows())], tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    assert float(lines[0]["wait_s"]) == pytest.approx(0.0123, rel=0.01)
    assert sum(float(lines[0][f"{part}_s"]) for part in PARTS) == pytest.approx(0.0246, rel=0.01)
    assert lines[0]["workload"] == "halo"
    assert lines[-1]["wait_s"] == ""


def test_choose_answers_by_interface_and_memory() -> None:
    found = choices(Run(run_of(some.halo_rows())).results)
    one = next(one for one in found if one.task.memories == ANY)
    assert one.task.movement == "halo/480x240, 20 steps"
    assert set(one.ranges[0].best) == {"direct, device", "xccl, device"}
    (worst,) = (most for name, _, most in one.ranges[0].excess if name.startswith("mpi staged"))
    assert worst == pytest.approx(1.0, rel=0.02)


def test_orders_of_ranks_are_ways_to_choose_from() -> None:
    cases = [some.workload_case(some.HALO, "halo", order=order) for order in ((0, 1, 2, 3), (3, 1, 2, 0))]
    for end in cases[1]["flows"][0]["members"]:
        end["device"] = "numa:0"  # where pinned memory is
    cases[1]["labels"]["tier"] = "other"
    found = choices(Run(run_of([some.timed(case, 1.0 + i) for i, case in enumerate(cases)])).results)
    assert found[0].ranges[0].best == ("mpi, order=gpu:0,gpu:1,gpu:2,gpu:3",)


def written(rows: list[Row], path: Path) -> Path:
    run = run_of(rows)
    lines = [run.header, *(row.raw for row in rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def repeated(rows: list[Row]) -> list[Row]:
    """Each of the rows as three replicates."""
    return [
        Row.from_json({**some.line(row.case, row.flows[0].seconds.median * (1 + i / 100)), "replicate": i})
        for row in rows
        if row.status == "ok"
        for i in range(3)
    ]


def test_a_run_with_workloads_is_read_by_every_command(tmp_path: Path) -> None:
    rows = repeated(some.halo_rows())
    slower = [
        Row.from_json({**some.line(row.case, row.flows[0].seconds.median * 1.5), "replicate": i % 3})
        for i, row in enumerate(rows)
    ]
    base = RunFile.read(written(rows, tmp_path / "base.jsonl"))
    new = RunFile.read(written(slower, tmp_path / "new.jsonl"))
    found = compare(Run.of(base), Run.of(new)).table("compare.results").frame
    assert set(found["unit"]) == {"s"}
    assert (found["new"] / found["base"]).to_list() == pytest.approx([1.5] * 4, rel=0.01)
    told = explain(base)
    assert told.left_out == {"of workloads": 4}
    assert printed(explain_text.show_all, told)
    assert linkscope.analyze(base).headline


def test_the_verdict_comes_first_and_the_whole_fits_a_terminal() -> None:
    many = [
        some.timed(some.workload_case(some.HALO, "halo", interface, memory, variant=str(i)), 0.01 + i / 1000)
        for i, (interface, memory) in enumerate(
            (interface, memory)
            for interface in ("mpi", "xccl", "direct", "other")
            for memory in ("device", "pageable", "pinned", "managed", "registered")
        )
    ]
    base = some.timed(some.workload_case(some.HALO, "halo", staging="full", memory="registered", baseline=True), 0.9)
    text = printed(workload_text.show, [*many, base, *some.halo_rows()[4:]], made.node(4))
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("mpi, device is fastest: 10.0")
    assert "mpi staged, registered" in text
    assert "baseline" in text
    assert "9 more ways" in text


def test_what_is_modelled_says_so_everywhere() -> None:
    found = table(some.halo_rows(modelled=True))
    assert found.modelled
    assert "modelled" in workload_text.verdict(found)
    assert "MODELLED" in printed(workload_text.print_workload, found)
    assert "modelled" in workload_svg(found)
    assert "modelled" not in workload_text.verdict(table(some.halo_rows())).lower()


def test_show_has_a_workload_once() -> None:
    run = run_of([*some.halo_rows(), *made.rows(4)[:3]])
    text = printed(terminal.show, run)
    assert text.count("direct, device is fastest") == 1
    assert "row -> column" in text
    found = overview(run.rows, run.node)
    assert len(found.other_tables) == len(found.tables) - 1
    assert found.to_json()["workloads"][0]["application"] == "halo"


def test_json_of_a_workload_has_no_number_that_json_lacks() -> None:
    told = overview(some.pattern_rows(), made.node(4)).to_json()["workloads"]
    assert json.loads(json.dumps(told, allow_nan=False)) == json.loads(json.dumps(told))
    assert math.isclose(told[0]["parts"][0]["wait"], 0.5)


def test_a_page_about_an_application_opens_with_its_answer() -> None:
    run = run_of(some.halo_rows())
    found = overview(run.rows, run.node)
    asked = found.workloads
    said = answer(run.node, explain(run), choose(figures(run)), found.summary, asked)
    assert said.verdict.endswith(workload_text.verdict(asked[0]))
    assert said.verdict in unescape(render(run))


def test_the_page_draws_each_way_in_its_parts() -> None:
    run = run_of([*some.halo_rows(), *some.pattern_rows()])
    page = render(run)
    Page(page)
    found = overview(run.rows, run.node).workloads[0]
    assert page.count('class="ways"') == 2
    drawn = workload_svg(found)
    bars = drawn.count("<rect")
    assert bars == sum(len(way.shares) for way in found.ways)
    assert "<title>" in drawn
    assert "<desc>" in drawn
    for way in found.ways:
        assert way.name in drawn
    assert 'href="#workloads"' in page
    assert 'href="#workloads"' not in render(made.run(4))


def test_names_from_a_file_are_no_markup() -> None:
    case = some.workload_case(some.HALO, "<b>x</b>", "<i>mpi</i>", '"><script>', deck="<u>")
    case["id"] = "odd"
    page = render(run_of([some.timed(case, 1.0)]))
    assert "<i>mpi" not in page
    assert '"><script>' not in page
    Page(page)


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        (lambda line: line["case"]["labels"]["workload"].pop("deck"), "deck"),
        (lambda line: line["case"]["labels"]["workload"].update(ranks=-1), "ranks"),
        (lambda line: line["case"]["flows"][0]["schedule"].update(loops=3), "loops"),
        (lambda line: line["case"]["flows"][0]["members"].pop(), "a message of rank 3"),
        (lambda line: line["flows"][0]["breakdown"][0].pop("parts_s"), "parts_s"),
        (lambda line: line["flows"][0]["breakdown"][0]["parts_s"].update(wait=-1.0), "parts_s"),
    ],
)
def test_a_damaged_row_is_refused_with_its_field(tmp_path: Path, damage: Any, field: str) -> None:
    line = some.line(some.workload_case(some.HALO, "halo"), 1.0)
    damage(line)
    path = tmp_path / "a.jsonl"
    head = made.header(made.node(4)) | {"plan": {"ids": [line["id"]]}}
    path.write_text(f"{json.dumps(head)}\n{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(LinkscopeError, match=field):
        RunFile.read(path)


def test_a_row_without_a_breakdown_still_has_its_place() -> None:
    line = some.line(some.workload_case(some.PATTERN, "ring.csv", state=None), 1.0)
    del line["flows"][0]["breakdown"]
    found = table([Row.from_json(line)])
    assert found.best is not None
    assert found.best.shares == ()
    assert found.times is not None
    assert found.times.phases == ()
    assert workload_svg(found).count("<rect") == 1
    assert polars.Series(figures(run_of([Row.from_json(line)]))["parts_s"]).null_count() == 1


def study_rows(deck: str) -> list[Row]:
    """The MI300A study's, with its own times."""
    times = {("mpi", "device"): 1.01, ("mpi", "registered"): 1.50, ("mpi", "managed"): 1.55}
    times |= {("xccl", "device"): 0.69, ("xccl", "registered"): 0.69, ("xccl", "managed"): 0.83}
    made_of = [
        (some.workload_case(some.HALO, "halo", *way, deck=deck, environment={"HSA_XNACK": "1"}), seconds)
        for way, seconds in times.items()
    ]
    staged = some.workload_case(
        some.HALO, "halo", "mpi", "device", deck=deck, staging="full", environment={"HSA_XNACK": "1"}
    )
    moved = some.workload_case(some.particles(), "particles", environment={"HSA_XNACK": "0"})
    unset = some.workload_case(some.HALO, "halo", deck=deck, variant="unset")
    rows = [*made_of, (staged, 9.0), (moved, 5.9), (unset, 3.0)]
    return [some.timed({**case, "suite": "schieffer25"}, seconds) for case, seconds in rows]


def test_the_study_of_applications_is_held_against_communication_alone() -> None:
    found = linkscope.reproduce("schieffer25", run_of(study_rows("bm2048_short, 87 steps")))
    claims = found.table("reproduce.claims").frame
    judged = claims.filter(polars.col("where").str.ends_with("Fig. 16b"))
    assert judged.filter(~polars.col("cell"))["outcome"].to_list() == ["holds"]
    assert judged.filter("cell")["outcome"].to_list() == ["untested"] * 6
    grid = of_figure_16b(found)
    assert grid.row(1)[3:6] == pytest.approx((1.01, 1.5, 1.55), rel=0.01)
    titles = [str(table.facts.get("title", "")) for table in found.tables]
    assert [sum(title.startswith(f"{name}: ") for title in titles) for name in ("Fig. 15", "Fig. 16")] == [1, 1]
    whole = claims.filter(polars.col("where").str.starts_with("7.1"))
    assert set(whole["outcome"]) == {"untested"}


def of_figure_16b(found: Answer) -> polars.DataFrame:
    return next(table.frame for table in found.tables if table.facts.get("name") == "Fig. 16b")


def test_another_deck_is_not_held_against_the_studys() -> None:
    found = linkscope.reproduce("schieffer25", run_of(study_rows("bm256, 87 steps")))
    claims = found.table("reproduce.claims").frame.filter(polars.col("where").str.ends_with("Fig. 16b"))
    assert set(claims["outcome"]) == {"untested"}


def test_a_notebook_gets_the_same_tables(tmp_path: Path) -> None:
    path = written(some.halo_rows(), tmp_path / "a.jsonl")
    (found,) = linkscope.workloads(path)
    assert [way.name for way in found.ways] == [way.name for way in table(some.halo_rows()).ways]
    assert linkscope.workloads(made.run(4)) == ()


def test_of_several_environments_the_first_that_has_a_figure_counts() -> None:
    unset = [some.workload_case(some.HALO, "halo", way, deck="bm2048_short, 87 steps") for way in ("mpi", "xccl")]
    rows = [some.timed({**case, "suite": "schieffer25"}, 1.5 / (1 + i)) for i, case in enumerate(unset)]
    found = linkscope.reproduce("schieffer25", run_of(rows))
    assert of_figure_16b(found).row(1)[3] == pytest.approx(1.5, rel=0.01)
