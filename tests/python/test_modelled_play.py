"""The virtual clock of machine models, by hand: one link of 50 bytes a second; and the repeats of a sample."""

from __future__ import annotations

import pytest

from linkscope.modelled.play import Lane, LaneRun, play
from linkscope.modelled.repeats import RateEstimate, plan_repeats

LINK = {"link": 50.0}


def moving(size: int, latency_s: float = 0.0) -> Lane:
    return Lane(latency_s, size, {"link": 1.0})


def test_operations_follow_one_another_back_to_back() -> None:
    assert play([LaneRun(moving(100, 0.5), 3)], LINK) == [pytest.approx(3 * (0.5 + 2))]


def test_latency_alone_takes_no_link() -> None:
    assert play([LaneRun(Lane(2.0), 4), LaneRun(moving(100))], LINK) == pytest.approx([8, 2])


def test_a_flow_that_ends_releases_its_share() -> None:
    """Both at 25 until 4 s; then 100 bytes are left for one flow alone at 50."""
    assert play([LaneRun(moving(100)), LaneRun(moving(200))], LINK) == pytest.approx([4, 6])


def test_a_flow_that_waits_leaves_the_link_to_the_others() -> None:
    """Alone at 50 for 1 s, then 25 each: the first needs 2 s more, the second has 50 bytes left, at 50."""
    assert play([LaneRun(moving(100)), LaneRun(moving(100, 1))], LINK) == pytest.approx([3, 4])


def test_latency_between_repeats_is_time_for_the_other() -> None:
    """The 25 bytes of the first move at 25 while the other moves, which takes the gaps."""
    assert play([LaneRun(moving(25, 1), 2), LaneRun(moving(1000))], LINK) == pytest.approx([4, 21])


def test_a_ceiling_holds_a_flow_back_and_leaves_the_rest_to_the_others() -> None:
    slow = Lane(0, 100, {"link": 1.0}, ceiling=10.0)
    assert play([LaneRun(slow), LaneRun(moving(400))], LINK) == pytest.approx([10, 10])
    assert play([LaneRun(Lane(1.0, 100, ceiling=10.0))], LINK) == pytest.approx([11])


def test_background_lasts_exactly_as_long_as_the_measured() -> None:
    """The short background flow never gives its half up."""
    for latency_s in (0.0, 0.001):
        measured, background = play([LaneRun(moving(100)), LaneRun(moving(10, latency_s), background=True)], LINK)
        assert background == measured
        assert measured == pytest.approx(4, rel=0.01)


def test_background_alone_counts_as_measured() -> None:
    assert play([LaneRun(moving(100), 2, background=True)], LINK) == pytest.approx([4])


def test_a_tail_keeps_the_load_up_and_is_not_timed() -> None:
    """The first flow has ended after 4 s and goes on at 25; without a tail the second would end after 6 s."""
    assert play([LaneRun(moving(100), tail=True), LaneRun(moving(200), tail=True)], LINK) == pytest.approx([4, 8])


@pytest.mark.parametrize("repeats", [1, 2, 3, 1000, 10**6])
def test_many_repeats_of_equal_flows_end_together(repeats: int) -> None:
    ends = play([LaneRun(moving(1000, 1e-3), repeats)] * 8, {"link": 1e9})
    assert ends == pytest.approx([repeats * (1e-3 + 8e-6)] * 8)


@pytest.mark.parametrize("first", [1, 2, 7])
@pytest.mark.parametrize("second", [1, 3, 40])
def test_skipped_cycles_end_as_played_ones_do(first: int, second: int) -> None:
    """Two equal flows of which one ends first: the same as where a third, tiny flow keeps cycles from being alike."""
    runs = [LaneRun(moving(100, 0.5), first), LaneRun(moving(100, 0.5), second)]
    other = LaneRun(Lane(1e6))
    assert play(runs, LINK) == pytest.approx(play([*runs, other], LINK)[:2])


@pytest.mark.parametrize(
    ("seconds", "groups", "target_s", "repeats"),
    [
        ([1e-5], ["a"], 1e-4, [10]),
        ([1e-5, 1.1e-5], ["", ""], 1e-4, [10, 10]),
        ([1e-6, 1e-5], ["", ""], 1e-4, [100, 10]),
        ([1e-6, 1e-5], ["a", "a"], 1e-4, [10, 10]),
        ([0.7e-5, 1e-5], ["", ""], 0.0, [3, 2]),
    ],
)
def test_flows_repeat_alike_where_they_are_alike_and_else_take_equally_long(
    seconds: list[float], groups: list[str], target_s: float, repeats: list[int]
) -> None:
    estimates = [RateEstimate(time, True, group) for time, group in zip(seconds, groups, strict=True)]
    assert plan_repeats(estimates, target_s) == repeats


def test_background_outlasts_the_measured_by_a_third() -> None:
    assert plan_repeats([RateEstimate(1e-5, True, ""), RateEstimate(1e-6, False, "")], 1e-4) == [10, 130]
