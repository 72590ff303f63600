"""Scales of heat maps: percent of peak in every table or, without a peak, one scale for all tables of a path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkscope.analysis.cell import Cell
from linkscope.analysis.matrices import Matrix
from linkscope.analysis.overview import overview
from linkscope.report.heat import OF_PEAK, OF_VALUES, STEPS
from linkscope.report.heat_scale import shares_scale, values_scale
from linkscope.report.html import render
from linkscope.results.run_file import RunFile

RUN = Path(__file__).parent.parent / "fixtures" / "runs" / "h200x4-default.jsonl"


@pytest.fixture(scope="module")
def run() -> RunFile:
    return RunFile.read(RUN)


@pytest.fixture(scope="module")
def matrices(run: RunFile) -> dict[str, list[Cell]]:
    tables = overview(run.rows, run.node).tables
    return {table.heading.title: table.flat for table in tables if isinstance(table, Matrix)}


def test_shares_of_peak_have_one_scale_and_cells_without_stay_blank(matrices: dict[str, list[Cell]]) -> None:
    rates = matrices["GPU to GPU, driven by the source, copy-engine"]
    times = matrices["A flag in the peer's memory, one way, relaxed"]
    scale, mixed = shares_scale(rates), shares_scale([*rates, *times])
    assert scale is not None
    assert mixed is not None
    assert scale.ticks == mixed.ticks
    assert scale.ticks[0] == (f"{OF_PEAK}0", "0 %")
    assert scale.ticks[-1] == (f"{OF_PEAK}{STEPS}", "100 %")
    assert all(mixed.colour(cell).startswith(OF_PEAK) for cell in rates)
    assert {mixed.colour(cell) for cell in times} == {""}
    assert f"{len(times)} of {len(rates) + len(times)}" in mixed.words
    assert shares_scale(times) is None


def test_values_without_a_peak_have_one_scale_for_their_path(matrices: dict[str, list[Cell]]) -> None:
    quick = matrices["A flag in the peer's memory, one way, relaxed"]
    slow = matrices["A flag in the peer's memory, one way, release"]
    scale = values_scale("GPU to GPU", [quick, slow])
    assert scale is not None
    assert {scale.colour(cell) for cell in slow} == {f"{OF_VALUES}{STEPS}"}
    assert max(int(scale.colour(cell)[1:]) for cell in quick) < STEPS / 2
    assert "shortest to longest" in scale.words
    assert values_scale("GPU to GPU", []) is None


def test_every_matrix_has_the_scale_that_its_cells_are_coloured_by(run: RunFile) -> None:
    pages = re.findall(r'<table class="heat">.*?</table>.*?<span class="ramp">.*?</span>', render(run), re.DOTALL)
    assert pages
    for text in pages:
        cells, legend = text.split("</table>")
        used = set(re.findall(r'class="figure ([hv])\d+', cells))
        assert used == set(re.findall(r'<i class="([hv])\d+', legend))
