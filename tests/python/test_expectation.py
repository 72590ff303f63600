"""Expectation: one judgement for rates and times, known results and limits."""

from __future__ import annotations

import polars
import pytest

from linkscope.answers.expectation import Expectation, judge, missing

EVERY = polars.lit(value=True)


def line(value: float, low: float, high: float, unit: str = "GB/s", noise: float = 0.0) -> polars.DataFrame:
    return polars.DataFrame(
        [{"value": value, "value_low": low, "value_high": high, "unit": unit, "noise": noise, "method": "a"}]
    )


@pytest.mark.parametrize(
    ("value", "low", "high", "outcome"),
    [
        (100.0, 99.0, 101.0, "holds"),
        (95.5, 95.0, 96.5, "unclear"),
        (95.0, 94.0, 95.9, "fails"),
        (100.0, 90.0, 110.0, "unclear"),
        (200.0, 199.0, 201.0, "holds"),
    ],
)
def test_a_rate_should_reach_what_is_expected(value: float, low: float, high: float, outcome: str) -> None:
    judged = judge(line(value, low, high), Expectation(EVERY, 100.0, tolerance=0.04, source="x"))
    assert judged["outcome"].to_list() == [outcome]
    assert judged["limit"].to_list() == [96.0]
    assert judged["ratio"].to_list() == [value / 100]
    assert missing(judged.row(0, named=True)) == pytest.approx(1 - value / 100)


@pytest.mark.parametrize(
    ("value", "low", "high", "outcome"),
    [(100.0, 99.0, 101.0, "holds"), (116.0, 114.0, 117.0, "unclear"), (118.0, 116.0, 119.0, "fails")],
)
def test_a_time_should_not_exceed_it(value: float, low: float, high: float, outcome: str) -> None:
    judged = judge(line(value, low, high, "s"), Expectation(EVERY, 100.0, tolerance=0.15))
    assert judged["outcome"].to_list() == [outcome]
    assert judged["limit"].to_list() == [pytest.approx(115.0)]
    assert missing(judged.row(0, named=True)) == pytest.approx(value / 100 - 1)


def test_what_a_node_varies_by_is_no_failure() -> None:
    expected = Expectation(EVERY, 100.0, tolerance=0.04)
    assert judge(line(90.0, 89.0, 91.0), expected)["outcome"].to_list() == ["fails"]
    assert judge(line(90.0, 89.0, 91.0, noise=0.12), expected)["outcome"].to_list() == ["holds"]
    assert judge(line(97.0, 94.0, 99.0, noise=0.03), expected)["outcome"].to_list() == ["unclear"], "not both"
    slow = Expectation(EVERY, 100.0, tolerance=0.04)
    assert judge(line(103.0, 101.0, 106.0, "s", noise=0.03), slow)["outcome"].to_list() == ["unclear"]


def test_about_fails_on_both_sides() -> None:
    about = Expectation(EVERY, 100.0, "about", tolerance=0.1)
    outcomes = [judge(line(value, value - 1, value + 1), about)["outcome"][0] for value in (85.0, 100.0, 115.0)]
    assert outcomes == ["fails", "holds", "fails"]


def test_only_what_is_selected_is_judged() -> None:
    assert judge(line(1.0, 1.0, 1.0), Expectation(polars.col("method") == "b", 2.0)).is_empty()
