"""A run of the default suite measured on a node with four H200, as recorded: it must read, add up and show."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from result_schema import validate
from rich.console import Console

from linkscope.analysis.matrices import Matrix, matrices
from linkscope.analysis.overview import overview
from linkscope.figures.run import Run
from linkscope.machine.paths import Paths
from linkscope.render.page import write_page
from linkscope.report.terminal import show
from linkscope.results.run_file import RunFile

RECORDED = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
PEAK_GBPS = 450.0  # 18 NVLinks of 25 GB/s


@pytest.fixture(scope="module")
def run() -> RunFile:
    return RunFile.read(RECORDED)


def matrix(run: RunFile, title: str) -> Matrix:
    (found,) = [m for m in matrices(run.rows, Paths(run.node)) if m.heading.title == title]
    return found


def test_every_line_is_of_the_schema() -> None:
    for line in RECORDED.read_text().splitlines():
        validate(json.loads(line))


def test_all_planned_cases_were_measured_and_verified(run: RunFile) -> None:
    assert run.missing == ()
    assert {row.status for row in run.rows} == {"ok"}
    assert not run.modelled
    assert all(row.raw["verified"]["rounds"] == 2 for row in run.rows)


def test_intervals_enclose_their_medians(run: RunFile) -> None:
    for row in (one for folded in run.rows for one in folded.measured):
        for flow in row.flows:
            stats = flow.seconds
            assert stats.min <= stats.low <= stats.median <= stats.high <= stats.max, row.id
            assert stats.n == len(flow.samples_s) >= 3, row.id


def test_what_caches_serve_stands_with_what_memory_gives(run: RunFile) -> None:
    lines = {line.heading.name: line for line in overview(run.rows, run.node).summary.tables}
    of_memory, of_links = lines["memcpy-by-size"], lines["d2d-by-size"]
    assert of_memory.last is not None
    assert of_memory.best.bytes < of_memory.last.bytes == 256 << 20
    assert of_links.last is None


def test_no_copy_between_gpus_beats_the_link(run: RunFile) -> None:
    table = matrix(run, "GPU to GPU, driven by the source, copy-engine")
    assert len(table.flat) == 12
    for cell in table.flat:
        assert cell.headline is not None
        assert cell.peak is not None
        assert cell.share is not None
        assert cell.peak.gbps == PEAK_GBPS
        assert 0.8 < cell.share < 1


def test_the_sum_of_both_ways_is_twice_one_way_at_most(run: RunFile) -> None:
    both = matrix(run, "GPU and GPU, both directions at once, sum, copy-engine")
    for cell in both.flat:
        assert cell.headline is not None
        assert cell.headline.value.median <= 2 * PEAK_GBPS


def test_a_flag_that_guards_data_costs_more_than_a_bare_one(run: RunFile) -> None:
    relaxed = matrix(run, "A flag in the peer's memory, one way, relaxed")
    release = matrix(run, "A flag in the peer's memory, one way, release")
    for bare, guarding in zip(relaxed.flat, release.flat, strict=True):
        assert bare.headline is not None
        assert guarding.headline is not None
        assert bare.headline.value.high < guarding.headline.value.low


def test_it_shows_on_a_terminal_and_as_a_page(run: RunFile, tmp_path: Path) -> None:
    text = StringIO()
    show(run, Console(file=text, width=120))
    assert "396.2" in text.getvalue()
    assert "88 %" in text.getvalue()
    assert "modelled" not in text.getvalue().lower()
    page = tmp_path / "page.html"
    write_page([Run.of(run)], page)
    assert page.stat().st_size < 6_000_000
    assert "4 x NVIDIA H200" in page.read_text()
