"""A page of a large run: small, and it says what it leaves out."""

from __future__ import annotations

import json
import re

import modelled_run as made
import pytest

from linkscope.analysis.curves import CurveSet
from linkscope.analysis.overview import overview
from linkscope.report.curve_svg import curve_svg
from linkscope.report.html import MOST_BYTES, render
from linkscope.report.html_limits import fitted
from linkscope.report.html_records import Records
from linkscope.report.series_band import MOST_OUTLIERS, collapsed
from linkscope.results.row import Row


def many(count: int, odd: float = 1.0) -> list[Row]:
    """A sweep of ``count`` alike series, the last of which is ``odd`` times as fast."""
    series = [(f"pair {i}", "gpu:0", "gpu:1", 390.0 * (odd if i == count - 1 else 1.0)) for i in range(count)]
    return made.size_curves("sizes", series, sizes=18)


def sweep(rows: list[Row]) -> CurveSet:
    (table,) = overview(rows, made.node()).tables
    assert isinstance(table, CurveSet)
    return table


def test_few_series_are_drawn_as_they_are() -> None:
    table = sweep(many(5))
    assert collapsed(table) == (table, None)


def test_of_many_series_the_odd_one_stands_apart_from_a_band_of_all() -> None:
    table = sweep(many(40, odd=0.2))
    drawn, band = collapsed(table)
    assert [curve.series for curve in drawn.curves] == ["best of 40 series", "pair 39"]
    assert band is not None
    assert band.count == 40
    assert band.points[-1].low == pytest.approx(0.2 * band.points[-1].high, rel=0.05)
    assert band.points[-1].median == pytest.approx(band.points[-1].high, rel=0.05)
    best = drawn.curves[0].points
    assert [(point.x, point.headline.value.median) for point in best if point.headline] == [
        (spread.x, spread.high) for spread in band.points
    ]
    picture = curve_svg(drawn, lambda _: 0, band)
    assert picture.count('<g class="series') == 2
    assert 'class="envelope"' in picture


def test_of_times_the_best_is_the_shortest() -> None:
    rows = [
        made.ok(
            made.case(
                "chase",
                [made.flow("gpu:0", f"gpu:{i}", 64, "pointer-chase")],
                {"show": "curve", "series": f"pair {i}", "x": 64, "x_name": "bytes", "figure": "latency"},
            ),
            [made.steady(1e-6 * (1 + i))],
            latency=True,
        )
        for i in range(20)
    ]
    drawn, _ = collapsed(sweep(rows))
    assert [point.series for point in drawn.curves[0].points] == ["pair 0"]


def test_at_most_a_few_stand_apart() -> None:
    rows = made.size_curves("sizes", [(f"pair {i}", "gpu:0", "gpu:1", 100.0 * 2**i) for i in range(20)], sizes=6)
    drawn, _ = collapsed(sweep(rows))
    assert len(drawn.curves) <= MOST_OUTLIERS + 1


def test_a_figure_that_is_best_and_apart_is_told_once() -> None:
    rows = many(40, odd=5.0)
    (shown,) = fitted([sweep(rows)], 100)
    held = [line["id"] for line in Records(rows, [shown.listed], ()).lines]
    assert len(held) == len(set(held)) < len(shown.table.flat)


def test_figures_behind_a_band_are_listed_where_there_is_room() -> None:
    rows = many(40)
    page = render(made.run(4, rows))
    assert len(json.loads(re.findall(r'id="records">(.*?)</script>', page)[0])) == len(rows)
    assert "This page holds" not in page


def test_small_tables_stay_whole_and_large_ones_say_what_is_missing() -> None:
    big = made.pair_matrix(30, "Big", 390.0)
    small = made.pair_matrix(4, "Small", 390.0)
    one, other = fitted(overview([*big, *small], made.node(30)).tables, 200)
    assert len(one.table.flat) <= 200 < len(one.whole.flat)
    assert f"of {len(one.whole.flat)} cells" in one.left_out
    slow = next(cell for cell in one.whole.flat if (cell.row, cell.column) == ("gpu:2", "gpu:0"))
    assert slow in one.table.flat
    assert other.left_out == ""
    assert other.table is other.whole


def test_a_page_of_a_large_run_is_small_and_says_so() -> None:
    rows = [row for number in range(6) for row in made.pair_matrix(30, f"Table {number}", 390.0)]
    page = render(made.run(30, rows))
    held = len(json.loads(re.findall(r'id="records">(.*?)</script>', page)[0]))
    assert held < len(rows)
    assert f"This page holds {held} of {len(rows)} figures" in page
    assert len(page.encode()) < MOST_BYTES
    assert 'id="raw"' not in page
