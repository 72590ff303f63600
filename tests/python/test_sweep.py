"""A sweep in a line: its best figure, and the sizes that give half of it."""

from __future__ import annotations

from collections.abc import Sequence

import modelled_run as made

from linkscope.analysis.curves import CurveSet
from linkscope.analysis.overview import overview
from linkscope.report.sweep import sweep, unrivalled
from linkscope.results.row import Row

SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)


def rows(rates: Sequence[float], series: str = "gpu:0 > gpu:1") -> list[Row]:
    found = []
    for size, gbps in zip(SIZES, rates, strict=True):
        labels = {"show": "curve", "series": series, "x": size, "x_name": "bytes", "figure": "first"}
        case = made.case("By size", [made.flow("gpu:0", "gpu:1", size)], labels)
        found.append(made.ok(case, [made.steady(size / (gbps * 1e9))]))
    return found


def table(found: list[Row]) -> CurveSet:
    (only,) = overview(found, made.node(2)).tables
    assert isinstance(only, CurveSet)
    return only


def test_half_of_the_best_is_told_from_the_size_that_reaches_it() -> None:
    found = sweep(table(rows((1.0, 100.0, 370.0, 400.0))))
    assert found is not None
    assert found.half == (1 << 20, None)
    assert found.best.bytes == 1 << 24
    assert "400.0 GB/s, 89 % of peak" in found.words
    assert "half of it from 1 MiB" in found.words


def test_a_rate_that_falls_again_is_told_to_where_it_is_half() -> None:
    found = sweep(table(rows((1.0, 300.0, 400.0, 100.0))))
    assert found is not None
    assert found.half == (1 << 16, 1 << 20)


def test_no_half_is_told_where_every_size_reaches_it() -> None:
    found = sweep(table(rows((300.0, 300.0, 390.0, 400.0))))
    assert found is not None
    assert found.half is None


def test_the_best_of_several_series_is_named() -> None:
    found = sweep(table([*rows((1.0, 2.0, 3.0, 4.0), "slow"), *rows((1.0, 9.0, 30.0, 40.0), "quick")]))
    assert found is not None
    assert found.place == "quick at 16 MiB"


def test_a_curve_that_is_timed_like_no_other_is_named() -> None:
    both = [*rows((1.0, 2.0, 3.0, 4.0), "pair, slow"), *rows((1.0, 9.0, 30.0, 40.0), "pair, quick")]
    assert unrivalled(table(both)) == ""
    third = rows((2.0, 9.0, 30.0, 40.0), "pair, own form")
    for row in third:
        row.case["flows"][0]["parameters"] = {"form": "in-kernel"}
    assert "own form (the model's clock, in-kernel)" in unrivalled(table([*both, *third]))


def test_a_matrix_of_one_size_is_no_sweep() -> None:
    (only,) = overview(made.pair_matrix(3, "Pairs", 390.0), made.node(3)).tables
    assert sweep(only) is None
