"""The results frame: what a line holds, which lines are alike, and what cases of one kind share."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars
import pytest
from polars.testing import assert_frame_equal
from recorded import CPU, DIRECT, HEALTHY, PAIR, RUNS, frontier

from linkscope.figures.columns import PEERS, SCHEMA
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

sys.path.append(str(Path(__file__).parents[2] / "bench"))
from large_run import records

_UNIQUE = ("id", "place", "figure")


@pytest.mark.parametrize("path", [*sorted(RUNS.glob("*.jsonl")), PAIR], ids=lambda path: path.stem)
def test_a_line_is_one_result(path: Path) -> None:
    results = Run.of(path).results
    assert dict(results.schema) == SCHEMA
    assert results.select(_UNIQUE).is_unique().all()
    ok = results.filter(polars.col("status") == "ok")
    assert ok.filter(~polars.col("value").is_between("value_low", "value_high")).height == 0
    rates = ok.filter(polars.col("unit") == "GB/s")
    assert rates["gbps"].to_list() == rates["value"].to_list()
    assert rates.filter(polars.col("peak_gbps").is_not_null() & polars.col("bound_by").is_null()).height == 0
    times = ok.filter(polars.col("unit") == "s")
    assert times["seconds"].to_list() == times["value"].to_list()
    assert times["peak_gbps"].null_count() == times.height
    both = ok.filter(polars.col("flows") == 1, (polars.col("figure") == "first") & (polars.col("gbps") > 0))
    moved = both["gbps"] * both["seconds"] * 1e9 / both["bytes"]
    assert moved.is_between(0.9, 1.1).all()


def test_cases_share_what_their_kind_has_in_common(tmp_path: Path) -> None:
    """A frame of all rows is that of each row alone."""
    for run in (RunFile.read(HEALTHY), RunFile.read(CPU), RunFile.read(frontier(tmp_path))):
        rows = run.rows[:: max(len(run.rows) // 60, 1)]
        whole = Run(RunFile(run.path, run.header, rows, ())).results
        alone = [Run(RunFile(run.path, run.header, (row,), ())).results for row in rows]
        assert_frame_equal(whole, polars.concat(alone))


def test_peers_differ_in_their_devices_alone() -> None:
    results = Run.of(HEALTHY).results.filter(polars.col("row") == "d2d")
    peers = results.group_by(PEERS).len()
    assert peers["len"].to_list() == [12] * peers.height
    assert set(results["way"]) == {"copy-engine push", "kernel-copy push"}


def test_collectives_are_alike_by_what_is_asked_for() -> None:
    """Interfaces and memories are the user's; the collective, where the result goes and what is recorded are not."""
    results = Run.of(DIRECT).results
    kinds = results.group_by("likeness").agg(
        *(polars.col(name).unique().sort() for name in ("movement", "method")),
        polars.col("parameters").str.extract("recorded=(\\S+)").n_unique().alias("recorded"),
    )
    assert kinds["movement"].list.len().max() == 1
    assert kinds["recorded"].max() == 1
    assert ["direct-collective", "xccl-collective"] in kinds["method"].to_list()


def test_replicates_fold_into_one_line(tmp_path: Path) -> None:
    path = tmp_path / "four.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records(HEALTHY, 20, 4)))
    results = Run.of(path).results
    assert results["replicates"].to_list() == [4] * 20
    assert results["replicate_values"].list.len().to_list() == [4] * 20
    least, most = (getattr(polars.col("replicate_values").list, end)() for end in ("min", "max"))
    outside = results.filter(~polars.col("value").is_between(least, most))
    assert outside.height == 0


def test_cases_that_were_not_reached_are_in_no_line(tmp_path: Path) -> None:
    run = RunFile.read(HEALTHY)
    cut = Run(RunFile(run.path, run.header, run.rows[:10], ()))
    assert (cut.results["id"].n_unique(), len(cut.missing)) == (10, 256)
