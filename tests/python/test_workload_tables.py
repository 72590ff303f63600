"""Workloads: ways by time against the study's baseline, where time goes, phases and links, and every reader of rows."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest
import workload_rows as some
from result_schema import validate
from rich.console import Console
from test_page import Elements

import linkscope
from linkscope.answers.answer import Answer
from linkscope.answers.best import ANY, choices
from linkscope.answers.compare import answer as compare
from linkscope.errors import LinkscopeError
from linkscope.figures.export import export
from linkscope.figures.run import Run
from linkscope.render.page import page as render
from linkscope.results.member_time import PARTS
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


def printed(show: Any, *what: Any, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    show(*what, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def run_of(rows: list[Row]) -> RunFile:
    return made.run(4, rows)


def test_rows_keep_to_the_schema_of_results() -> None:
    for row in (*some.halo_rows(), *some.pattern_rows()):
        validate(row.raw)


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


def test_isolated_messages_are_no_way_of_their_own() -> None:
    assert choices(Run(run_of(some.pattern_rows())).results) == []


def test_the_value_is_the_time_of_the_schedule() -> None:
    case = some.workload_case(some.HALO, "halo")
    del case["labels"]["figure"]
    (line,) = Run(run_of([some.timed(case, 0.02)])).results.to_dicts()
    assert (line["unit"], line["figure"]) == ("s", "latency")
    assert line["value"] == pytest.approx(0.02, rel=0.01)


def test_figures_have_the_workload_and_its_parts() -> None:
    frame = Run(run_of([*some.halo_rows(), *made.rows(4)[:2]])).results
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
    export([Run.of(run_of(some.halo_rows()))], tmp_path / "a.csv")
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
    assert linkscope.explain(base).data["not_checked"] == {"workload": 4}
    assert linkscope.analyze(base).headline


def test_names_from_a_file_are_no_markup() -> None:
    case = some.workload_case(some.HALO, "<b>x</b>", "<i>mpi</i>", '"><script>', deck="<u>")
    case["id"] = "odd"
    page = render([Run.of(run_of([some.timed(case, 1.0)]))])
    assert "<i>mpi" not in page
    assert '"><script>' not in page
    Elements(page)


@pytest.mark.parametrize(
    ("damage", "field"),
    [
        (lambda line: line["case"]["labels"]["workload"].pop("deck"), "deck"),
        (lambda line: line["case"]["labels"]["workload"].update(ranks=-1), "ranks"),
        (lambda line: line["case"]["flows"][0]["schedule"].update(loops=3), "loops"),
        (lambda line: line["case"]["flows"][0]["members"].pop(), "flows.0..schedule"),
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


def test_results_of_a_row_without_a_breakdown_have_no_parts() -> None:
    line = some.line(some.workload_case(some.PATTERN, "ring.csv", state=None), 1.0)
    del line["flows"][0]["breakdown"]
    assert Run(run_of([Row.from_json(line)])).results["parts_s"].to_list() == [None]


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


def test_of_several_environments_the_first_that_has_a_figure_counts() -> None:
    unset = [some.workload_case(some.HALO, "halo", way, deck="bm2048_short, 87 steps") for way in ("mpi", "xccl")]
    rows = [some.timed({**case, "suite": "schieffer25"}, 1.5 / (1 + i)) for i, case in enumerate(unset)]
    found = linkscope.reproduce("schieffer25", run_of(rows))
    assert of_figure_16b(found).row(1)[3] == pytest.approx(1.5, rel=0.01)
