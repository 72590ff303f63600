"""Excerpts: what is shown of a run with too many cases to read."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from linkscope.analysis.excerpt import excerpt, opened, readable
from linkscope.report.html import render
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import stream_of

RECORDED = Path(__file__).parents[1] / "fixtures" / "turns" / "h200x2-1.jsonl"
COPIES = 40


@pytest.fixture(name="large", scope="module")
def _large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded run forty times over, each time with other ids and rates that rise; two cases failed."""
    path = tmp_path_factory.mktemp("large") / "large.jsonl"
    header, *records = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    rows = [one for one in records if one["record"] == "row"]
    copies = []
    for number in range(COPIES):
        for row in rows:
            copy = json.loads(json.dumps(row).replace(row["id"], f"{row['id']}/{number}"))
            for stats in (flow["gbps"] for flow in copy["flows"] if "gbps" in flow):
                stats |= {name: stats[name] * (1 + number / 100) for name in ("median", "low", "high")}
            copies.append(copy)
    ids = list(dict.fromkeys(one["id"] for one in copies))
    for one in copies:
        if one["id"] in (ids[7], ids[100]):
            one |= {"status": "failed", "reason": "planted", "flows": []}
    header["plan"]["ids"] = [*ids, "never/ran"]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (header, *copies)))
    return path


def test_every_table_keeps_its_lowest_and_highest_figures_and_what_failed(large: Path) -> None:
    found = excerpt(stream_of(large), 100)
    shown = {row.id for row in found.run.rows}
    assert len(shown) <= 200
    assert len(found.figures["id"].unique()) == len({row.id for row in RunFile.read(large).rows})
    whole = found.figures.filter(polars.col("gbps").is_not_null())
    for extreme in ("min", "max"):
        by_table = whole.filter((polars.col("gbps") == getattr(polars.col("gbps"), extreme)()).over("title"))
        assert set(by_table.group_by("title").first()["id"]) <= shown
    assert sum(row.status == "failed" for row in found.run.rows) == 2
    assert found.run.missing == ("never/ran",)
    assert "2 failed" in found.run.notices[-1]


def test_a_run_of_which_all_is_shown_says_nothing(large: Path) -> None:
    found = excerpt(stream_of(large), 10_000)
    whole = RunFile.read(large)
    assert found.run.rows == whole.rows
    assert found.run.notices == ()


def test_large_files_are_read_in_excerpts_and_small_ones_whole(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RunFile.read(large)
    assert readable(large) == whole
    assert opened(large).run == whole
    monkeypatch.setattr("linkscope.results.run_stream.LARGE", 0)
    monkeypatch.setattr(excerpt, "__defaults__", (50,))
    assert 0 < len(readable(large).rows) < len(whole.rows)
    page = render(opened(large))
    assert "too many to read" in page
