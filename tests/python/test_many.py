"""Many: false discoveries stay rare, and what differs is told from scatter."""

from __future__ import annotations

import random

import polars

from linkscope.statistics.interval import Interval
from linkscope.statistics.many import beyond_noise, discoveries


def test_false_discoveries_stay_at_their_rate() -> None:
    rng = random.Random(5)
    alarms = 0
    for family in range(200):
        nulls = [rng.random() for _ in range(100)]
        alarms += bool(discoveries(polars.Series(nulls), 100, 0.05).any())
        found = discoveries(polars.Series([*nulls, 1e-9, None]), 102, 0.05)
        assert found[100], family
        assert not found[101]
    assert alarms <= 20  # 5 % of 200 are 10; more than 20 by chance once in a thousand


def test_no_p_value_below_its_limit_is_no_discovery() -> None:
    assert not discoveries(polars.Series([0.9, None], dtype=polars.Float64), 2, 0.05).any()


def test_hypotheses_without_a_p_value_count() -> None:
    some = polars.Series([0.004, *[None] * 9], dtype=polars.Float64)
    assert discoveries(some, 1, 0.01).any()
    assert not discoveries(some, 10, 0.01).any()


def around(value: float, width: float) -> Interval:
    return Interval(value, value / (1 + width), value * (1 + width))


def test_a_ratio_beyond_its_interval_and_the_scatter_of_its_kind_differs() -> None:
    rng = random.Random(2)
    alike = [around(1 + rng.gauss(0, 0.002), 0.004) for _ in range(20)]
    assert not any(beyond_noise(alike, 20))
    assert beyond_noise([*alike, around(1.05, 0.004)], 21)[-1]
    assert not beyond_noise([around(1.005, 0.0001)], 1)[0], "less than 1%"
    scattered = [around(1 + 0.02 * (-1) ** number, 0.004) for number in range(8)]
    assert not any(beyond_noise(scattered, 8)), "each differs by its interval, and none by the scatter of all"
