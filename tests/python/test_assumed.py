"""Assumed latencies of described nodes: times that are mostly one are marked, and nothing is ranked by them."""

from __future__ import annotations

import io

import pytest
from launching import real_engine
from rich.console import Console

import linkscope
from linkscope.analysis.by_size import by_size
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.explain import explain
from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.answers.best import choices
from linkscope.figures.run import Run
from linkscope.report import brief_text, by_size_text, wording
from linkscope.report.peer_formats import osu
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]
MIB = 1 << 20


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory, real_engine: None) -> RunFile:
    """Between two dies of a node with a published latency of its copy engine, and none of MPI and kernels."""
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    methods = "mpi,ipc-copy,ipc-kernel"
    return linkscope.run("p2p-processes", output=where, machine="frontier", devices="gpu:0-1", methods=methods)


def _console() -> Console:
    return Console(width=100, file=io.StringIO())


def test_small_messages_of_methods_without_a_published_latency_are_assumed(messages: RunFile) -> None:
    rows = [row for row in messages.with_status("ok") if row.name.startswith("gpu-latency")]
    small = {row.case["flows"][0]["method"]: row.assumed for row in rows if row.case["flows"][0]["bytes"] == 16}
    assert small == {"mpi": True, "ipc-copy": False, "ipc-kernel": True}
    assert not any(row.assumed for row in rows if row.case["flows"][0]["bytes"] >= 4 * MIB)


def test_tables_mark_them_and_say_what_the_mark_means(messages: RunFile) -> None:
    curves = [one for one in overview(messages.rows, messages.node).tables if isinstance(one, CurveSet)]
    table = next(one for one in curves if one.leads)
    marked = {entry.x for entry in table.flat if wording.interval(entry) == wording.ASSUMED}
    assert marked
    assert max(x for x in marked if x is not None) < 4 * MIB
    (told,) = [text for text in wording.marks(table.flat) if f"{wording.ASSUMED}: {wording.OF_NO_SOURCE}" in text]
    assert all(one.stand_in in told for one in table.flat if one.assumed)
    assert all(lead.first > max(x for x in marked if x is not None) for lead in table.leads)


def test_a_screen_says_where_the_stand_in_comes_from(messages: RunFile) -> None:
    console = Console(width=80, file=(file := io.StringIO()))
    brief_text.show(messages, overview(messages.rows, messages.node), explain(messages), console)
    origins = {row.stand_in for row in messages.rows if row.assumed}
    assert all("schieffer" in origin.lower() for origin in origins)
    assert any(origin in " ".join(file.getvalue().split()) for origin in origins)


def test_runs_of_files_that_named_no_origin_are_read(messages: RunFile) -> None:
    old = next(row for row in messages.rows if row.assumed)
    labels = {name: told for name, told in old.labels.items() if name != "stand_in"}
    row = Row.from_json({**old.raw, "case": {**old.case, "labels": labels}})
    assert row.assumed
    assert not row.stand_in
    assert wording.of_no_source([row.stand_in]) == wording.OF_NO_SOURCE


def test_by_size_they_are_marked_and_no_way_is_fastest_beside_them(messages: RunFile) -> None:
    one = by_size(figures(messages))[0]
    assert not one.fastest(16)
    assert one.fastest(max(one.sizes))
    console = _console()
    small, *_, below = [line.plain for line in by_size_text.lines([one], console) if "~" in line.plain]
    assert by_size_text.FASTEST not in small
    assert wording.OF_NO_SOURCE in below


def test_choose_ranks_no_size_at_which_one_is_assumed(messages: RunFile) -> None:
    found = choices(Run(messages).results)
    assert any(one.assumed for one in found)
    ranked = [one for one in found if one.ranges]
    assert ranked
    assert all(one.ranges[0].first >= MIB for one in ranked if len(one.methods) > 1)
    assert any(one.code == "choose.assumed" for one in linkscope.choose(messages).findings)


def test_the_format_of_osu_says_up_to_which_size(messages: RunFile) -> None:
    rows = [row for row in messages.rows if osu.takes(row.case)]
    assert f"up to 262144 bytes {wording.OF_NO_SOURCE}" in osu.text(messages, rows)
