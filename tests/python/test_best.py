"""Best: who takes the least, who ties, and what several runs say together."""

from __future__ import annotations

from linkscope.statistics.best import Cost, best, in_each_run, undecided
from linkscope.statistics.interval import Interval


def exactly(value: float) -> Interval:
    return Interval(value, value, value)


def test_the_least_is_best_and_who_is_within_a_percent_ties() -> None:
    assert best({"a": exactly(1.02), "b": exactly(1.0), "c": exactly(1.009)}) == ("b", "c")
    assert best({}) == ()


def test_who_cannot_be_told_from_the_least_ties_however_far_behind() -> None:
    wide = Interval(1.4, 0.9, 2.2)
    assert best({"behind": wide, "first": Interval(1.0, 0.7, 1.5), "far": exactly(9.0)}) == ("first", "behind")


def test_a_rate_is_a_cost_by_its_inverse() -> None:
    rates = {"slow": Interval(10, 9, 11), "fast": Interval(20, 19, 21)}
    assert best({name: rate.inverse for name, rate in rates.items()}) == ("fast",)


def test_several_runs_are_compared_within_each_as_one_slow_run_slows_both() -> None:
    slow = (1.0, 9.0, 1.2)
    fast = Cost(1.0, 0.1, 9.0, tuple(2e-7 * by for by in slow))
    dear = Cost(2.0, 0.2, 18.0, tuple(4e-7 * by for by in slow))
    assert best({"fast": fast, "dear": dear}) == ("fast",)
    assert set(best({"fast": Interval(1.0, 0.1, 9.0), "dear": dear})) == {"fast", "dear"}


def test_runs_that_agree_by_chance_are_known_no_better_than_their_samples() -> None:
    a, b = (Cost(value, value, value, (value, value * 1.1), 0.5) for value in (1.0, 0.9))
    assert set(best({"a": a, "b": b})) == {"a", "b"}


def test_the_best_is_open_where_one_that_ties_is_unknown() -> None:
    vague = Interval(1.0, 0.1, 2.0)
    assert undecided({"near": exactly(1.05), "vague": vague})
    assert not undecided({"far": exactly(50.0), "vague": vague})


def test_a_value_that_no_ratio_can_be_made_of_is_in_no_pair() -> None:
    assert in_each_run([[1.0, 2.0], [3.0, 4.0]]) == (2.0, 3.0)
    assert in_each_run([[1.0, 0.0]]) == in_each_run([[1.0], None]) == in_each_run([[1e308]]) == ()
