"""Size ranges: who is best where, who is as good, where two cross and how well that is known."""

from __future__ import annotations

import random

import pytest

from linkscope.statistics.best import Cost
from linkscope.statistics.ranges import crossovers, decided, excess, size_ranges, with_ties

SIZES = [float(1 << power) for power in range(10, 27, 2)]


def line(alpha: float, beta: float, width: float = 0.001, sizes: list[float] = SIZES) -> dict[float, Cost]:
    """alpha + size / beta at every size, known to ``width``."""
    times = {size: alpha + size / beta for size in sizes}
    return {size: Cost(time, time * (1 - width), time * (1 + width)) for size, time in times.items()}


def test_two_lines_cross_where_they_do() -> None:
    rivals = {"kernel": line(2e-6, 100e9), "engine": line(6e-6, 400e9)}
    ranges = size_ranges(rivals)
    assert [one.best for one in ranges] == [("kernel",), ("engine",)]
    (crossing,) = crossovers(rivals, ranges)
    true = 4e-6 / (1 / 100e9 - 1 / 400e9)
    assert (crossing.before, crossing.after) == ("kernel", "engine")
    assert crossing.at.low <= crossing.at.value <= crossing.at.high
    assert crossing.at.value == pytest.approx(true, rel=0.15)  # between measured sizes four apart


def test_a_crossing_is_known_the_better_the_better_the_figures_are() -> None:
    def width(of_figures: float) -> float:
        rivals = {"a": line(2e-6, 100e9, of_figures), "b": line(6e-6, 400e9, of_figures)}
        (crossing,) = crossovers(rivals, size_ranges(rivals))
        return crossing.at.high / crossing.at.low

    assert 1 <= width(0.001) < width(0.02) < width(0.1)


def test_what_is_not_told_apart_is_equal() -> None:
    rivals = {"a": line(2e-6, 100e9, 0.05), "b": line(2.05e-6, 98e9, 0.05), "c": line(9e-6, 50e9, 0.05)}
    (only,) = size_ranges(rivals)
    assert only.best == ("a", "b")
    ((loser, least, most),) = only.excess
    assert loser == "c"
    assert 0.9 < least < 1.1
    assert most == pytest.approx(9e-6 / 2e-6 - 1, rel=0.05)


def test_of_equals_the_cheapest_comes_first() -> None:
    rivals = {"dear": {8.0: Cost(1.9, 0.95, 3.8)}, "cheap": {8.0: Cost(1.0, 0.5, 2.0)}}
    (only,) = size_ranges(rivals)
    assert only.best == ("cheap", "dear")
    assert with_ties(rivals, [only]) == (only,)


def test_a_range_does_not_reach_over_sizes_that_are_not_told() -> None:
    rivals = {"a": line(2e-6, 100e9), "b": line(8e-6, 50e9)}
    kept = {name: {size: cost for size, cost in costs.items() if size != SIZES[2]} for name, costs in rivals.items()}
    (whole,) = size_ranges(kept)
    parts = with_ties(kept, [whole], [SIZES[2]])
    assert [(one.first, one.last, one.best) for one in parts] == [
        (SIZES[0], SIZES[1], ("a",)),
        (SIZES[3], SIZES[-1], ("a",)),
    ]
    assert with_ties(kept, [whole], [SIZES[-1] * 2]) == (whole,)


def test_nobody_chooses_by_less_than_a_percent() -> None:
    rivals = {"a": line(1e-6, 100e9, 0.0), "b": line(1.005e-6, 99.5e9, 0.0)}
    assert [one.best for one in size_ranges(rivals)] == [("a", "b")]


def test_as_few_ranges_as_possible() -> None:
    """b is a shade better at every other size, but a is as good there: one answer does."""
    a = line(1e-6, 100e9)
    b = {
        size: Cost(c.value * f, c.low * f, c.high * f)
        for (size, c), f in zip(a.items(), [1.2, 0.995] * 5, strict=False)
    }
    assert [one.best for one in size_ranges({"a": a, "b": b})] == [("a",)]


def test_where_others_are_as_good_they_stand_beside_the_best() -> None:
    near = {size: Cost(1.3, 0.1, 9.0) for size in SIZES[:3]}  # nobody knows
    worse = {size: Cost(1.3, 1.29, 1.31) for size in SIZES[3:]}
    rivals = {"b": {**near, **worse}, "a": {size: Cost(1, 0.99, 1.01) for size in SIZES}}
    apart, alone = with_ties(rivals, size_ranges(rivals))
    assert (apart.first, apart.last, apart.best, apart.excess) == (SIZES[0], SIZES[2], ("a", "b"), ())
    assert (alone.first, alone.last, alone.best) == (SIZES[3], SIZES[-1], ("a",))
    assert excess(rivals, "b", SIZES) == pytest.approx((0.0, 0.2, 0.3))


def test_several_sizes_in_between_at_which_another_is_as_good_stand_apart() -> None:
    best, other = line(1e-6, 100e9), line(2e-6, 50e9)
    for size in SIZES[3:5]:
        other[size] = Cost(best[size].value * 1.2, best[size].low / 2, best[size].high * 2)
    rivals = {"best": best, "other": other}
    parts = with_ties(rivals, size_ranges(rivals))
    assert [(one.first, one.last, one.best) for one in parts] == [
        (SIZES[0], SIZES[2], ("best",)),
        (SIZES[3], SIZES[4], ("best", "other")),
        (SIZES[5], SIZES[-1], ("best",)),
    ]
    other[SIZES[4]] = line(2e-6, 50e9)[SIZES[4]]
    assert len(with_ties(rivals, size_ranges(rivals))) == 1, "one size is no range"


def test_an_unknown_cost_counts_only_where_it_is_told_apart() -> None:
    vague = {size: Cost(one.value, one.value / 10, one.value * 2) for size, one in line(1e-6, 100e9).items()}
    kept, lost = decided({"far": line(1e-4, 1e9), "vague": vague})
    assert (kept["vague"], lost) == (vague, ())
    near, far = line(1.1e-6, 90e9), line(1e-4, 1e9)
    kept, lost = decided({"near": near, "vague": vague, "far": far})
    assert (kept, lost) == ({"near": {}, "vague": {}, "far": {}}, tuple(SIZES)), "near may not be the best"


def test_one_told_size_is_left_of_curves_that_share_several() -> None:
    """They do more than touch, whatever sizes each has for itself."""
    sure, vague = line(1e-6, 100e9), line(1.1e-6, 90e9, 0.9)
    vague[SIZES[4]] = line(9e-6, 50e9)[SIZES[4]]
    rivals = {"a": {**sure, 1.0: Cost(1e-6, 1e-6, 1e-6)}, "b": {**vague, 2.0: Cost(1e-6, 1e-6, 1e-6)}}
    kept, lost = decided(rivals)
    assert [(one.first, one.last, one.best) for one in size_ranges(kept)] == [(SIZES[4], SIZES[4], ("a",))]
    assert lost == tuple(size for size in SIZES if size != SIZES[4])


def test_lone_sizes_say_nothing() -> None:
    assert size_ranges({"a": line(1e-6, 1e9)}) == ()
    assert size_ranges({"a": line(1e-6, 1e9, sizes=SIZES[:4]), "b": line(1e-6, 1e9, sizes=SIZES[3:])}) == ()
    assert size_ranges({"a": line(1e-6, 1e9, sizes=[64.0]), "b": line(2e-6, 1e9, sizes=[64.0])})[0].best == ("a",)


def test_every_range_holds_whoever_is_surely_best_at_any_of_its_sizes() -> None:
    dice = random.Random(7)
    for _ in range(300):
        rivals = {
            name: line(dice.uniform(1e-6, 9e-6), dice.uniform(1e9, 9e10), dice.choice([0.001, 0.03, 0.2]))
            for name in "abcd"[: dice.randint(2, 4)]
        }
        ranges = size_ranges(rivals)
        assert [size for one in ranges for size in SIZES if one.first <= size <= one.last] == SIZES
        for one in ranges:
            for size in (size for size in SIZES if one.first <= size <= one.last):
                for best in one.best:
                    least = min((r[size] for r in rivals.values()), key=lambda c: c.value)
                    ratio = rivals[best][size].over(least)
                    assert ratio.low <= 1 or ratio.value <= 1.01
        for crossing in crossovers(rivals, ranges):
            assert SIZES[0] <= crossing.at.low <= crossing.at.value <= crossing.at.high <= SIZES[-1]


def test_excess_is_none_where_a_rival_was_not_measured() -> None:
    rivals = {"a": line(1e-6, 1e9), "b": line(2e-6, 1e9, sizes=SIZES[:2])}
    assert excess(rivals, "b", SIZES[2:]) is None
    least, mean, most = excess(rivals, "b", SIZES) or (0, 0, 0)
    assert least < mean < most


def test_a_rival_that_is_as_good_where_it_was_measured_costs_nothing() -> None:
    whole = {size: Cost(1, 0.9, 1.1) for size in SIZES}
    (only,) = size_ranges({"a": whole, "b": whole, "c": {SIZES[-1]: Cost(1, 0.9, 1.1)}})
    assert (set(only.best), only.excess) == ({"a", "b"}, ())


def test_one_that_is_as_good_at_a_size_of_its_own_parts_no_range() -> None:
    """It was measured there alone: of the other sizes that says nothing."""
    rivals = {"push": line(2e-6, 100e9), "engine": line(9e-6, 90e9), "pull": line(2e-6, 100e9, sizes=SIZES[-1:])}
    (only,) = with_ties(rivals, size_ranges(rivals))
    assert (only.first, only.last, only.best) == (SIZES[0], SIZES[-1], ("push",))


def test_what_costs_more_at_some_sizes_of_a_range_alone_is_told() -> None:
    rivals = {"a": line(1e-6, 100e9), "b": line(2e-6, 50e9), "c": line(2e-6, 50e9, sizes=SIZES[:3])}
    (only,) = size_ranges(rivals)
    assert {name for name, *_ in only.excess} == {"b", "c"}
    assert only.partly == (("c", SIZES[0], SIZES[2]),)
