"""Paired differences: alike sides differ in none of 50 runs whatever the noise, planted changes are found and sized."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import stdev

import pytest
from interleaved import heavy, quiet, two_speeds

from linkscope.statistics.paired import FEWEST_ROUNDS, LOOKS, Difference, paired
from linkscope.statistics.ranks import t975
from linkscope.statistics.variance import HIGHER, LOWER, SAME, UNCLEAR

Noise = Callable[[random.Random], float]
CASES, RUNS = 40, 50


def _run(seed: int, noise: Noise, rounds: int, change: float = 0.0, drift: float = 0.0) -> dict[int, Difference]:
    """Return the differences of a run; ``drift``: steps of a walk that lasts for many rounds, and all cases share."""
    draw = random.Random(seed)
    level, levels = 0.0, []
    for _ in range(2 * rounds):
        level = 0.97 * level + drift * draw.gauss(0.0, 1.0)
        levels.append(level)
    first = [draw.random() < 0.5 for _ in range(rounds // 2 + 1)]
    steps = []
    for number in range(rounds):
        step = levels[2 * number + 1] - levels[2 * number]
        steps.append(step if first[number // 2] == (number % 2 == 0) else -step)
    changes = {case: [change + step + noise(draw) - noise(draw) for step in steps] for case in range(CASES)}
    return paired(changes, dict.fromkeys(changes, "gpu"))


@pytest.mark.parametrize("noise", [quiet, heavy, two_speeds])
@pytest.mark.parametrize("drift", [0.0, 0.002])
def test_sides_that_are_alike_differ_in_no_run(noise: Noise, drift: float) -> None:
    for seed in range(RUNS):
        found = _run(seed, noise, FEWEST_ROUNDS + seed % 5, drift=drift)
        assert not [one for one in found.values() if one.verdict in (LOWER, HIGHER)], seed


@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_a_planted_change_is_found_and_its_interval_holds_it(share: float) -> None:
    change = -math.log1p(share)
    found = [one for seed in range(5) for one in _run(seed, quiet, 14, change).values()]
    assert sum(one.verdict == LOWER for one in found) >= (0.95 if share > 0.01 else 0.4) * len(found)
    held = sum(abs(one.change - change) <= (one.margin or 0.0) for one in found)
    assert held >= 0.93 * len(found)
    assert not [one for one in found if one.verdict == HIGHER]


def test_a_small_change_is_the_same_and_a_wide_interval_is_unclear() -> None:
    small = _run(1, quiet, 14, 0.002)
    assert {one.verdict for one in small.values()} == {SAME}
    assert {one.verdict for one in _run(1, heavy, 4).values()} <= {UNCLEAR, SAME}


@pytest.mark.parametrize("rounds", [1, 2, 3, FEWEST_ROUNDS - 1])
def test_few_rounds_claim_nothing(rounds: int) -> None:
    found = paired({"x": [-0.5] * rounds}, {"x": "gpu"})["x"]
    assert (found.verdict, found.rounds, found.change) == (UNCLEAR, rounds, -0.5)


def test_one_disturbed_round_neither_moves_nor_hides_a_change() -> None:
    draw = random.Random(3)
    changes = [-0.03 + draw.gauss(0.0, 0.001) for _ in range(FEWEST_ROUNDS)]
    found = paired({"x": [*changes[1:], -0.9]}, {"x": "gpu"})["x"]
    assert found.verdict == LOWER
    assert found.change == pytest.approx(-0.03, abs=0.002)
    assert paired({}, {}) == {}


def test_a_result_is_tested_at_looks_alone() -> None:
    draw = random.Random(4)
    changes = [(-1) ** number * 0.2 for number in range(2)] + [-0.1 + draw.gauss(0.0, 0.001) for _ in range(60)]
    verdicts = [paired({"x": changes[:rounds]}, {"x": "gpu"})["x"].verdict for rounds in range(1, len(changes))]
    found = [rounds for rounds, verdict in enumerate(verdicts, 1) if verdict == LOWER]
    assert found[0] in LOOKS[1:], "one round of the first eight shows the contrary"


@pytest.mark.parametrize("noise", [quiet, heavy, two_speeds])
def test_sides_that_are_alike_differ_at_no_look(noise: Noise) -> None:
    draw = random.Random(6)
    for _ in range(10):
        changes = {case: [noise(draw) - noise(draw) for _ in range(LOOKS[-1])] for case in range(16)}
        for look in LOOKS:
            found = paired({case: values[:look] for case, values in changes.items()}, dict.fromkeys(changes, "gpu"))
            assert not [one for one in found.values() if one.verdict in (LOWER, HIGHER)]


def test_two_speeds_among_quiet_results_are_no_difference() -> None:
    quiet_ones = {case: [0.0001 * (-1) ** number for number in range(8)] for case in range(8)}
    found = paired({**quiet_ones, "two": [0.2] * 7 + [0.0001]}, dict.fromkeys([*quiet_ones, "two"], "gpu"))
    assert found["two"].verdict == UNCLEAR


def test_a_result_that_is_louder_than_its_class_keeps_its_own_variance() -> None:
    rng = random.Random(9)
    changes = {case: [rng.gauss(0, 0.1 if case == 0 else 0.001) for _ in range(4)] for case in range(9)}
    found = paired(changes, dict.fromkeys(changes, "gpu"))[0]
    assert found.margin == pytest.approx(t975(3) * stdev(changes[0]) / 2)
