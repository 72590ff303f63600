"""Assumed latencies of described nodes: times that are mostly one are marked, and nothing is ranked by them."""

from __future__ import annotations

import pytest

import linkscope
from linkscope.answers.best import choices
from linkscope.codecs.peer import osu
from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

MIB = 1 << 20


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """Between two dies of a node with a published latency of its copy engine, and none of MPI and kernels."""
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    methods = "mpi,ipc-copy,ipc-kernel"
    return linkscope.run("p2p-processes", output=where, machine="frontier", devices="gpu:0-1", methods=methods)


def test_small_messages_of_methods_without_a_published_latency_are_assumed(messages: RunFile) -> None:
    rows = [row for row in messages.with_status("ok") if row.name.startswith("gpu-latency")]
    small = {row.case["flows"][0]["method"]: row.assumed for row in rows if row.case["flows"][0]["bytes"] == 16}
    assert small == {"mpi": True, "ipc-copy": False, "ipc-kernel": True}
    assert not any(row.assumed for row in rows if row.case["flows"][0]["bytes"] >= 4 * MIB)


def test_runs_of_files_that_named_no_origin_are_read(messages: RunFile) -> None:
    old = next(row for row in messages.rows if row.assumed)
    labels = {name: told for name, told in old.labels.items() if name != "stand_in"}
    row = Row.from_json({**old.raw, "case": {**old.case, "labels": labels}})
    assert row.assumed
    assert not row.stand_in


def test_show_marks_them_and_says_what_the_mark_means(messages: RunFile) -> None:
    answer = linkscope.ask("show", messages)
    table = next(table for table in answer.tables if table.key.startswith("show.movements"))
    assert "assumed" in table.facts["notes"]
    marked = {line["bytes"] for line in table.frame.iter_rows(named=True) if "~" in line.values()}
    assert marked
    assert max(marked) < 4 * MIB


def test_choose_ranks_no_size_at_which_one_is_assumed(messages: RunFile) -> None:
    found = choices(Run(messages).results)
    assert any(one.assumed for one in found)
    ranked = [one for one in found if one.ranges]
    assert ranked
    assert all(one.ranges[0].first >= MIB for one in ranked if len(one.methods) > 1)
    assert any(one.code == "choose.assumed" for one in linkscope.choose(messages).findings)


def test_the_format_of_osu_says_up_to_which_size(messages: RunFile) -> None:
    rows = [row for row in messages.rows if osu.takes(row.case)]
    assert f"up to 262144 bytes {osu.ASSUMED}" in osu.text(messages, rows)
