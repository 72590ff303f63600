"""Calibration: coverage and disjoint pairs by hand, components recovered, and what is refused."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import modelled_run as made
import pytest
import recorded

from linkscope.answers.calibrate import Calibration, calibration
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.results.calibration import NodeNoise, Noise, noise_of
from linkscope.results.replicates import folded
from linkscope.results.row import Row, Stats
from linkscope.results.run_file import RunFile
from linkscope.results.stats import stats_of
from linkscope.results.usual_noise import UsualNoise
from linkscope.statistics.components import Replicates, components

Json = dict[str, Any]
RATE_GBPS = 400.0


def plan_case(number: int = 0, **labels: Any) -> Json:
    return made.case(f"case {number}", [made.flow("gpu:0", "gpu:1")], labels)


def row_of(median: float, low: float, high: float) -> Row:
    """A row whose rate and interval are these, in GB/s."""
    row = made.ok(plan_case(), [[0.001] * 6])
    rate = Stats(9, median, low, high, median, low, low, high, high, high)
    return replace(row, flows=(replace(row.flows[0], gbps=rate),))


def runs_of(*rows: Row) -> list[RunFile]:
    return [made.run(found=[row]) for row in rows]


def calibrated(runs: Sequence[RunFile]) -> Calibration:
    return calibration([Run.of(run) for run in runs])


def calibrate(runs: Sequence[RunFile]) -> NodeNoise:
    return calibrated(runs).noise


def of_all(runs: list[RunFile]) -> Noise:
    *_, found = calibrate(runs).classes
    assert found.name == "all"
    return found


def test_coverage_and_disjoint_pairs_as_counted_by_hand() -> None:
    # The others' medians are 100.375, 100.125 and 100.25: the third run's interval alone holds its one.
    close = of_all(runs_of(row_of(100, 99.9, 100.1), row_of(100.5, 100.4, 100.6), row_of(100.25, 99, 101.5)))
    assert close.intervals.covered == pytest.approx(1 / 3)
    assert close.intervals.disjoint == pytest.approx(1 / 3)
    assert close.intervals.apart == 0
    assert close.intervals.margin == pytest.approx(0.001)
    # Two of three pairs are disjoint, and 3 % and 2.5 % apart.
    far = of_all(runs_of(row_of(100, 99, 101), row_of(100.5, 99.8, 101), row_of(103, 102, 104)))
    assert (far.intervals.covered, far.intervals.disjoint, far.intervals.apart) == (
        0,
        pytest.approx(2 / 3),
        pytest.approx(2 / 3),
    )


def test_a_bound_that_just_touches_covers() -> None:
    touching = of_all(runs_of(row_of(100, 99, 101), row_of(101, 101, 102)))
    assert (touching.intervals.covered, touching.intervals.disjoint) == (0.5, 0)


def test_times_are_compared_in_one_unit() -> None:
    """Of 9.99 and 10.01 us the one is shown in ns, the other in us."""
    case = plan_case(figure="latency")
    runs = runs_of(*(made.ok(case, [[t * 0.99, t, t * 1.01] * 4], latency=True) for t in (9.99e-6, 10.01e-6)))
    found = of_all(runs)
    assert (found.intervals.covered, found.intervals.disjoint) == (1, 0)
    assert found.runs is not None
    assert found.runs < 0.01


def test_each_flow_under_load_is_a_figure_of_its_own() -> None:
    runs = [made.run(found=[made.under_load(4)]) for _ in range(2)]
    assert of_all(runs).cases == 4
    assert calibrated(runs).answer.table("calibrate.cases").frame.height == 4


def test_cases_that_failed_or_are_missing_in_a_run_count_where_they_are() -> None:
    good, broken = row_of(100, 99, 101), made.not_ok(plan_case(), "failed", "no such luck")
    assert of_all(runs_of(good, broken, good)).cases == 1
    with pytest.raises(LinkscopeError, match="in 2 of the runs"):
        calibrate(runs_of(good, broken, broken))


# By how much each level lets a figure vary, relative.
SAMPLES, REPLICATES, RUNS = 0.01, 0.02, 0.03


def case_in_runs(number: int, runs: int, replicates: int, rng: random.Random) -> list[Row]:
    """One case as measured by so many runs; a run's and a replicate's deviation are drawn first, then the samples'."""
    case, size, found = plan_case(number), made.flow("gpu:0", "gpu:1")["bytes"], []
    for _ in range(runs):
        of_run = rng.gauss(0, RUNS)
        rows = []
        for index in range(replicates):
            middle = of_run + rng.gauss(0, REPLICATES)
            times = [size / RATE_GBPS * 1e-9 * math.exp(middle + rng.gauss(0, SAMPLES)) for _ in range(20)]
            rows.append(made.ok(case, [times], replicate=index))
        found.append(folded(rows))
    return found


def test_known_components_are_recovered_by_level() -> None:
    rng = random.Random(14)
    cases = [case_in_runs(number, runs=10, replicates=4, rng=rng) for number in range(24)]
    found = of_all([made.run(found=list(rows)) for rows in zip(*cases, strict=True)])
    assert found.cases == 24
    assert found.samples == pytest.approx(SAMPLES, rel=0.2)
    assert found.replicates == pytest.approx(REPLICATES, rel=0.2)
    assert found.runs == pytest.approx(RUNS, rel=0.25)


def test_with_one_replicate_the_runs_hold_what_replicates_would_add() -> None:
    rng = random.Random(15)
    cases = [case_in_runs(number, runs=10, replicates=1, rng=rng) for number in range(24)]
    found = of_all([made.run(found=list(rows)) for rows in zip(*cases, strict=True)])
    assert found.replicates is None
    assert found.runs == pytest.approx(math.hypot(REPLICATES, RUNS), rel=0.25)


def drawn(middles: Sequence[float], rng: random.Random, n: int = 30) -> Replicates:
    """Return one run's replicates about these logarithms."""
    stats = [stats_of([math.exp(middle + rng.gauss(0, SAMPLES)) for _ in range(n)]) for middle in middles]
    widths = sorted((one.high - one.low) / 2 / one.median for one in stats)
    return Replicates([one.median for one in stats], widths[len(widths) // 2], n)


def test_runs_may_hold_unequal_numbers_of_replicates() -> None:
    rng = random.Random(16)
    runs = []
    for number in range(400):
        of_run = rng.gauss(0, RUNS)
        runs.append(drawn([of_run + rng.gauss(0, REPLICATES) for _ in range(1 + number % 6)], rng))
    found = components(runs)
    assert found.replicates is not None
    assert math.sqrt(found.replicates) == pytest.approx(REPLICATES, rel=0.1)
    assert math.sqrt(found.runs) == pytest.approx(RUNS, rel=0.1)


def test_what_only_samples_vary_by_is_put_down_to_no_other_level() -> None:
    rng = random.Random(17)
    found = components([drawn([0.0] * 4, rng) for _ in range(100)])
    assert found.replicates is not None
    assert found.replicates < (SAMPLES / 4) ** 2
    assert found.runs < (SAMPLES / 4) ** 2


def test_rates_and_times_have_the_same_components() -> None:
    rng = random.Random(18)
    times = [drawn([rng.gauss(0, RUNS) for _ in range(2)], rng) for _ in range(5)]
    rates = [replace(run, values=[1e9 / value for value in run.values]) for run in times]
    assert components(rates).runs == pytest.approx(components(times).runs, rel=1e-6)


def test_a_component_that_is_negative_by_chance_is_shown_as_none_at_all() -> None:
    quiet = of_all(runs_of(*(made.ok(plan_case(), [[1e-3, 1.1e-3, 1.2e-3] * 3]) for _ in range(3))))
    assert (quiet.runs, quiet.intervals.covered, quiet.intervals.disjoint) == (0, 1, 0)
    assert quiet.samples is not None
    assert quiet.samples > 0.05


def test_a_time_of_zero_has_no_components_and_breaks_nothing() -> None:
    case = plan_case(figure="latency")
    found = of_all(runs_of(*(made.ok(case, [[0.0] * 9], latency=True) for _ in range(2))))
    assert (found.samples, found.runs) == (None, None)


def test_a_recorded_run_of_schema_1_falls_into_the_classes_of_its_suite() -> None:
    run = recorded.healthy()
    found = calibrate([run, run])
    # By two methods each: 12 pairs pushed, 6 both ways, 4 from and 4 to one, 1 all at once, 3 sizes; and 16 chases.
    counts = {noise.name: noise.cases for noise in found.classes}
    assert counts["gpu-large"] == 2 * (12 + 6 + 4 + 4 + 1 + 3) + 16
    assert counts["all"] == len(run.rows) == sum(counts.values()) - counts["all"]
    assert set(counts) == {"gpu-large", "gpu", "flag", "pinned", "pageable", "cpu", "all"}
    assert {(noise.intervals.covered, noise.intervals.disjoint, noise.replicates) for noise in found.classes} == {
        (1, 0, None)
    }
    assert (found.host, found.turns, found.modelled) == ("h200x4", 2, False)


def held_by(noise: float, runs: int, rng: random.Random) -> list[RunFile]:
    """Runs whose cases differ by ``noise`` from run to run, and by next to nothing within one."""
    rows = []
    for number in range(30):
        case, size = plan_case(number), made.flow("gpu:0", "gpu:1")["bytes"]
        middles = [rng.gauss(0, noise) for _ in range(runs)]
        found = [[size / RATE_GBPS * 1e-9 * math.exp(one + rng.gauss(0, 1e-4)) for _ in range(9)] for one in middles]
        rows.append([made.ok(case, [times]) for times in found])
    return [made.run(found=list(of_run)) for of_run in zip(*rows, strict=True)]


def test_with_the_noise_that_the_other_runs_show_intervals_hold() -> None:
    found = of_all(held_by(0.03, runs=8, rng=random.Random(3)))
    assert found.intervals.covered < 0.1
    assert found.calibrated is not None
    assert found.calibrated.covered > 0.9
    assert found.calibrated.disjoint < 0.02
    assert 0.03 < found.calibrated.margin < 0.09


def test_too_few_runs_and_intervals_that_hold_noise_already_are_not_widened_again() -> None:
    two = held_by(0.03, runs=2, rng=random.Random(4))
    assert of_all(two).calibrated is None
    widened = [
        replace(run, rows=tuple(folded([row], noise=0.05) for row in run.rows))
        for run in held_by(0.03, runs=4, rng=random.Random(5))
    ]
    found = of_all(widened)
    assert found.calibrated is None
    assert found.intervals.covered > 0.8


def test_noise_that_intervals_have_as_usual_is_not_added_again() -> None:
    runs = held_by(0.03, runs=8, rng=random.Random(3))
    before, after = (
        of_all([replace(run, rows=tuple(folded([row, row], usual=usual) for row in run.rows)) for run in runs])
        for usual in (UsualNoise(), UsualNoise(runs=0.02))
    )
    assert after.intervals.margin > 100 * before.intervals.margin
    assert before.calibrated is not None
    assert after.calibrated is not None
    assert after.calibrated.margin == pytest.approx(before.calibrated.margin, rel=0.02)


def test_a_case_is_drawn_towards_its_class() -> None:
    """Of 30 cases one varies ten times as much: it keeps most of that, and the others none of it."""
    calm, wild = held_by(0.01, runs=10, rng=random.Random(6)), held_by(0.1, runs=10, rng=random.Random(7))
    runs = [replace(one, rows=(*one.rows[:-1], other.rows[-1])) for one, other in zip(calm, wild, strict=True)]
    found = calibrate(runs)
    assert len(found.runs) == 30
    assert 0.05 < found.runs[wild[0].rows[-1].id] < 0.13
    assert all(0.005 < found.runs[row.id] < 0.02 for row in runs[0].rows[:-1])


def replicated(cases: range, deviation: float, runs: int, rng: random.Random) -> list[list[Row]]:
    """By case and run its three replicates, folded; runs differ by ``deviation`` times a draw of the case."""
    size, found = made.flow("gpu:0", "gpu:1")["bytes"], []
    for number in cases:
        own, case = deviation * math.exp(rng.gauss(0, 1)), plan_case(number)
        rows = []
        for _ in range(runs):
            middle = rng.gauss(0, own)
            times = [[size / RATE_GBPS * 1e-9 * math.exp(middle + rng.gauss(0, 0.02))] * 6 for _ in range(3)]
            rows.append(folded([made.ok(case, [one], replicate=n) for n, one in enumerate(times)]))
        found.append(rows)
    return found


@pytest.mark.parametrize("replicates", [1, 3])
def test_a_calibrated_node_knows_cases_it_did_not_calibrate_and_single_replicates(replicates: int) -> None:
    """Noise by case is drawn with a sigma of 1: the median case's would cover 84 %, and a single replicate's 72 %."""
    rng, truth, hits, asked = random.Random(8), made.flow("gpu:0", "gpu:1")["bytes"] / RATE_GBPS * 1e-9, 0, 0
    for _ in range(3):
        calibrated = replicated(range(24), 0.01, 8, rng)
        kept = calibrate([made.run(found=list(of_run)) for of_run in zip(*calibrated, strict=True)])
        (key,) = {noise.name for noise in kept.classes} - {"all"}
        known = noise_of((kept,), [])["one_replicate" if replicates == 1 else "between_runs"]["classes"][key]
        for rows in replicated(range(24, 84), 0.01, 1, rng):
            seconds = folded(rows[0].replicates[:replicates], known).flows[0].seconds
            hits, asked = hits + (seconds.low <= truth <= seconds.high), asked + 1
    assert hits / asked > 0.92


def test_of_one_class_no_sum_is_shown_and_a_model_is_marked() -> None:
    found = calibrated(runs_of(row_of(100, 99, 101), row_of(100, 99, 101))).answer
    (line,) = found.table("calibrate.classes").frame.iter_rows(named=True)
    assert (line["class"], line["results"], line["between_replicates"], line["covered"]) == ("gpu-large", 1, None, 1.0)
    assert (found.headline.code, found.outcome) == ("calibrate.modelled", None)


@pytest.mark.parametrize(("far", "bad"), [(0.0, []), (3.0, ["gpu-large"])])
def test_classes_whose_intervals_do_not_hold_are_named(far: float, bad: list[str]) -> None:
    runs = runs_of(*(row_of(100 + far * n, 99 + far * n, 101 + far * n) for n in range(2)))
    found = calibrated(runs).answer
    assert found.headline.facts["classes"] == bad
    assert found.table("calibrate.classes").frame["bad"].to_list() == [bool(bad)]


REFUSED = {
    "one run": (lambda run: [run], "1 run is too few"),
    "another host": (lambda run: [run, replace(run, header={**run.header, "host": "b"})], "different machines"),
    "other devices": (lambda run: [run, replace(run, header={**run.header, "node": made.node(2).to_json()})], "machin"),
    "other suites": (
        lambda run: [run, replace(run, header={**run.header, "plan": {**run.header["plan"], "suites": ["host"]}})],
        "different suites",
    ),
}


@pytest.mark.parametrize(("spoiled", "complaint"), REFUSED.values(), ids=REFUSED)
def test_runs_that_cannot_be_held_against_one_another_are_refused(spoiled: Any, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint) as refused:
        calibrate(spoiled(made.run(found=[row_of(100, 99, 101)])))
    assert refused.value.exit_code == 2


def test_runs_by_two_clocks_are_refused() -> None:
    run = RunFile.read(recorded.PAIR)
    batch = replace(run, rows=tuple(replace(row, case={**row.case, "clock": "batch"}) for row in run.rows))
    with pytest.raises(LinkscopeError, match="clocks batch and device"):
        calibrate([run, batch])


def test_of_a_case_with_several_results_the_one_that_varies_most_counts() -> None:
    runs = []
    for factor in (0.9, 1.0, 1.1):
        row = made.under_load(4)
        first, *others = row.flows
        assert first.gbps is not None
        rate = replace(first.gbps, **{name: factor * getattr(first.gbps, name) for name in ("median", "low", "high")})
        runs.append(made.run(found=[replace(row, flows=(replace(first, gbps=rate), *others))]))
    (deviation,) = calibrate(runs).runs.values()
    assert deviation > 0.03


def test_a_class_of_which_one_case_in_twenty_is_disjoint_is_too_narrow() -> None:
    """Each interval of the others covers, so that 95% are covered."""
    runs = []
    for far in (0.0, 10.0):
        rows = [made.ok(plan_case(number), [[1e-3] * 6]) for number in range(20)]
        rates = [Stats(9, rate, rate - 1, rate + 1, *[rate] * 6) for rate in (*[100.0] * 19, 100.0 + far)]
        flows = [replace(row.flows[0], gbps=rate) for row, rate in zip(rows, rates, strict=True)]
        runs.append(made.run(found=[replace(row, flows=(one,)) for row, one in zip(rows, flows, strict=True)]))
    found = calibrated(runs).answer
    assert found.headline.facts["covered"] == pytest.approx(0.95)
    assert found.headline.facts["classes"] == ["gpu-large"]
