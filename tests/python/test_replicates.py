"""Replicates: folded into one figure with the interval between them, and the reason where it is wide."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
import recorded
from msgspec.structs import asdict, replace
from planted_faults import slow_pair

from linkscope.answers.questions import ask
from linkscope.errors import LinkscopeError
from linkscope.figures.values import quantities, value_of
from linkscope.results.remarks import remarks
from linkscope.results.replicates import across, folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.stats import Stats, stats_of
from linkscope.statistics.modes import two_modes

ONE_REPLICATE = "one-replicate"
GPU_PAIR = [made.flow("gpu:0", "gpu:1", 1 << 20)]


def replicate(number: int, times: list[float], **labels: Any) -> Row:
    """A replicate whose samples are ``times``, in seconds."""
    row = made.ok(made.case("copies", GPU_PAIR, {"figure": "first", **labels}), [times])
    return Row.from_json({**row.raw, "replicate": number, "modelled": False})


def codes(row: Row) -> list[str]:
    return [found.code.removeprefix("spread.") for found in remarks(row)]


def value(row: Row) -> Stats:
    found = value_of(row, quantities(row.case)[0])
    assert found is not None
    assert found.rate
    return found.stats


def broken(number: int, status: str = "failed") -> Row:
    row = made.not_ok(made.case("copies", GPU_PAIR, {"figure": "first"}), status, "lost")
    return Row.from_json({**row.raw, "replicate": number})


def test_the_figure_is_the_median_of_medians_and_the_interval_students() -> None:
    found = folded([replicate(n, [t] * 8) for n, t in enumerate((1.00e-4, 1.02e-4, 1.01e-4))])
    seconds = found.flows[0].seconds
    assert seconds.median == pytest.approx(1.01e-4)
    assert seconds.n == 24
    logs = [math.log(t) for t in (1.00e-4, 1.02e-4, 1.01e-4)]
    mean = sum(logs) / 3
    sd = math.sqrt(sum((log - mean) ** 2 for log in logs) / 2)
    assert seconds.high == pytest.approx(math.exp(mean + 4.303 * sd / math.sqrt(3)), rel=1e-9)
    assert seconds.low == pytest.approx(math.exp(mean - 4.303 * sd / math.sqrt(3)), rel=1e-9)
    rate = found.flows[0].gbps
    assert rate is not None
    assert rate.low == pytest.approx((1 << 20) * 1e-9 / seconds.high, rel=1e-6)


def test_of_an_even_number_of_replicates_too_the_rate_is_the_size_over_the_time() -> None:
    found = folded([replicate(n, [t] * 8) for n, t in enumerate((1e-4, 1e-4, 3e-4, 4e-4))]).flows[0]
    assert found.gbps is not None
    assert found.gbps.median == pytest.approx((1 << 20) * 1e-9 / found.seconds.median, rel=1e-6)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    draw = random.Random(7)
    hits = 0
    for _ in range(2000):
        medians = [math.exp(draw.gauss(0.0, 0.03)) for _ in range(3)]
        found = across([stats_of([one] * 6) for one in medians])
        hits += found.low <= 1.0 <= found.high
    assert 0.93 < hits / 2000 < 0.97


def test_parts_fold_by_the_median_that_times_fold_by() -> None:
    times = (1e-4, 4e-4)
    rows = [replicate(n, [t] * 8) for n, t in enumerate(times)]
    timed = [replace(row, flows=(replace(row.flows[0], parts_s=(t,)),)) for row, t in zip(rows, times, strict=True)]
    found = folded(timed).flows[0]
    assert found.parts_s == pytest.approx((2e-4,))
    assert found.parts_s[0] == pytest.approx(found.seconds.median)


def test_replicates_that_agree_are_no_surer_than_their_samples() -> None:
    found = folded([replicate(n, [0.99e-4, 1e-4, 1.01e-4] * 2) for n in range(4)])
    assert found.flows[0].seconds.high / found.flows[0].seconds.median == pytest.approx(math.exp(0.01 / 2), rel=1e-3)


def test_samples_that_lie_thousandfold_apart_leave_an_interval_that_is_a_number() -> None:
    held = across([replace(stats_of([1.0, 1.0]), high=5000.0)] * 2)
    assert held.low < 1 < held.high < math.inf


def test_one_replicate_keeps_its_own_interval_and_says_so() -> None:
    alone = replicate(0, [0.9e-4, 1e-4, 1.1e-4] * 4)
    assert folded([alone]) == alone
    assert codes(alone) == [ONE_REPLICATE]
    assert codes(Row.from_json({k: v for k, v in alone.raw.items() if k != "replicate"})) == []


def test_one_replicate_of_a_calibrated_node_holds_its_noise() -> None:
    alone = replicate(0, [0.99e-4, 1e-4, 1.01e-4] * 4)
    found = folded([alone], noise=0.03)
    assert found.flows[0].seconds.high == pytest.approx(1e-4 * math.exp(math.hypot(math.log(1.01), 0.03)))
    assert found.flows[0].seconds.median == alone.flows[0].seconds.median
    assert (found.measured, found.lines, found.noise) == ((alone,), (alone.raw,), 0.03)
    assert codes(found) == ["calibrated"], "its interval holds what runs and replicates vary by"


def test_what_the_machine_took_and_what_does_not_count_is_told_of_all_replicates() -> None:
    interference = {"waited_s": 3e-3, "apart_s": 1e-6, "switches": 2, "stolen_s": 0.04}
    lines = [
        Row.from_json({**replicate(0, [1e-4] * 8).raw, "discarded": {"load-ended": 2}, "interference": interference}),
        Row.from_json({**replicate(1, [1e-4] * 8).raw, "discarded": {"load-ended": 1, "run-queue": 5}}),
    ]
    found = {one.code.removeprefix("spread."): one.facts for one in remarks(folded(lines))}
    assert found["load-ended"]["starts"] == 3
    assert found["run-queue"]["starts"] == 5
    assert found["switches"] == {"switches": 2, "waited": 3e-3}
    assert found["steal"]["stolen"] == 0.04


def test_a_replicate_that_fails_costs_that_replicate_and_two_the_case() -> None:
    good = [replicate(n, [1e-4] * 8) for n in range(2)]
    found = folded([good[0], broken(1), replace(good[1], round=2)])
    assert found.status == "ok"
    (lost,) = remarks(found)
    assert lost.facts == {"number": 2, "replicates": 3, "status": "failed", "reason": "lost"}
    assert codes(folded([good[0], broken(1)])) == ["lost", ONE_REPLICATE]
    assert folded([broken(0), broken(1), good[0]]).status == "failed"
    assert folded([broken(0)]).status == "failed"
    assert folded([broken(0, "skipped")]).status == "skipped"


def test_two_modes_are_named_and_the_interval_reaches_over_both() -> None:
    times = ([1e-6] * 8, [1e-6] * 8, [3e-6] * 8, [3e-6] * 8, [1e-6] * 8)
    found = folded([replicate(n, held) for n, held in enumerate(times)])
    (modes,) = remarks(found)
    assert (modes.code, modes.facts) == ("spread.two-modes", {"fast": 1e-6, "slow": 3e-6})
    assert found.flows[0].seconds.low <= 1e-6
    assert found.flows[0].seconds.high >= 3e-6


def test_two_modes_of_a_single_replicate_are_named_and_reached() -> None:
    row = folded([replicate(0, [1e-6] * 20 + [3e-6] * 8)])
    assert codes(row) == ["two-modes", ONE_REPLICATE]
    assert row.flows[0].seconds.high >= 3e-6


@pytest.mark.parametrize("figure", ["sum", "aggregate"])
def test_two_modes_of_a_flow_reach_into_the_figure_of_all(figure: str) -> None:
    size = 1 << 20
    flows = [made.flow("gpu:0", "gpu:1", size), made.flow("gpu:1", "gpu:0", size)]
    plan = made.case("both", flows, {"figure": figure})
    rows = [
        Row.from_json(
            {
                **made.ok(plan, [[1e-4] * 8, [t] * 8]).raw,
                "replicate": n,
                "aggregate": {"gbps": asdict(stats_of([2 * size * 1e-9 / t] * 8)), "overlap": 1.0},
            }
        )
        for n, t in enumerate((1e-4, 1e-4, 2e-4, 1e-4, 2e-4, 1e-4, 1e-4))
    ]
    found = value(folded(rows))
    assert found.low <= 1.5 * size * 1e-9 / 1e-4 * (1 + 1e-9)


def test_one_broad_group_or_a_few_outliers_are_no_modes() -> None:
    draw = random.Random(3)
    assert two_modes([[math.exp(draw.gauss(0, 0.3)) for _ in range(200)]]) is None
    assert two_modes([[1.0] * 95 + [9.0] * 5]) is None
    assert two_modes([[1.0, 2.0] * 3]) is None, "too few samples"
    assert two_modes([[1.0] * 20, [1.1] * 20] * 2) is None, "too near"
    assert two_modes([[1.0] * 20, [1.2] * 20] * 2) == (1.0, 1.2)
    assert two_modes([[1.0] * 20 + [2.0] * 20]) == (1.0, pytest.approx(2.0))


def test_one_replicate_apart_is_no_mode_however_many_samples_it_has() -> None:
    assert two_modes([[1.0] * 20, [1.0] * 20, [2.0] * 500]) is None
    assert two_modes([[1.0] * 20, [1.0] * 20, [2.0] * 500, [2.0] * 20]) == (1.0, pytest.approx(2.0))


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("deviation", [0.05, 0.2])
def test_replicates_of_one_mode_are_seldom_called_two(deviation: float, count: int) -> None:
    draw = random.Random(5)
    runs = [
        [[math.exp(middle + draw.gauss(0, 0.005)) for _ in range(12)] for middle in middles]
        for middles in ([draw.gauss(0, deviation) for _ in range(count)] for _ in range(100))
    ]
    assert sum(two_modes(run) is not None for run in runs) <= 2


def test_a_drift_is_told_beside_two_modes() -> None:
    found = folded([replicate(n, [t * 1e-4] * 8) for n, t in enumerate((1.0, 1.01, 1.5, 1.51))])
    assert codes(found) == ["two-modes", "slower"]


def test_few_samples_are_no_remark_where_the_interval_is_that_between_replicates() -> None:
    note = "only 3 samples: the interval is their range, its confidence below 95 %"
    rows = [replicate(n, [1e-4] * 3) for n in range(3)]
    few = [replace(row, flows=(replace(row.flows[0], notes=(note, "tuned")),)) for row in rows]
    assert folded(few).notes == ("tuned",)
    assert note in folded(few[:1]).notes
    assert note not in folded(few[:1], noise=0.03).notes


@pytest.mark.parametrize(
    ("medians", "reason"),
    [
        ((1.00, 1.03, 1.06, 1.09), "slower"),
        ((1.09, 1.06, 1.03, 1.00), "faster"),
        ((1.00, 1.09, 1.03, 1.06), "visits"),
        ((1.00, 1.001, 1.002, 1.003), None),
    ],
)
def test_a_row_says_why_it_is_wide(medians: tuple[float, ...], reason: str | None) -> None:
    found = folded([replicate(n, [t * 1e-4] * 8) for n, t in enumerate(medians)])
    assert codes(found) == ([reason] if reason else [])
    assert not reason or [one.facts["share"] for one in remarks(found)] == [pytest.approx(0.09)]


def test_a_sum_of_flows_is_folded_from_each_replicates_sum() -> None:
    flows = [made.flow("gpu:0", "gpu:1", 1 << 20), made.flow("gpu:1", "gpu:0", 1 << 20)]
    plan = made.case("both", flows, {"figure": "sum"})
    rows = [
        Row.from_json({**made.ok(plan, [[t] * 8, [t] * 8]).raw, "replicate": n})
        for n, t in enumerate((1.00e-4, 1.02e-4, 1.01e-4))
    ]
    found = value(folded(rows))
    assert found.median == pytest.approx(2 * (1 << 20) * 1e-9 / 1.01e-4, rel=1e-6)
    assert found.low < found.median < found.high


def test_a_run_file_folds_rows_of_one_case_and_the_last_of_one_number_counts(tmp_path: Path) -> None:
    run = made.run(2, [replicate(0, [1e-4] * 8)])
    lines = [replicate(0, [9e-4] * 8), replicate(1, [1.02e-4] * 8), replicate(0, [1e-4] * 8), replicate(2, [1e-4] * 8)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (run.header, *(row.raw for row in lines))))
    (row,) = RunFile.read(path).rows
    assert [one.replicate for one in row.replicates] == [0, 1, 2]
    assert row.flows[0].seconds.median == pytest.approx(1e-4)
    assert row.flows[0].seconds.high < 1.1e-4


def test_a_case_with_one_replicate_takes_its_own_width_of_the_noise(tmp_path: Path) -> None:
    rows = [replicate(n, [1e-4] * 8) for n in range(2)]
    known = {
        "between_runs": {"classes": {"gpu": 0.1}, "cases": {}},
        "one_replicate": {"classes": {"gpu": 0.3}, "cases": {}},
    }
    header = {**made.run(2, rows).header, "noise": known}
    path = tmp_path / "a.jsonl"
    margins = []
    for taken in (rows, rows[:1], [rows[0], broken(1)]):
        path.write_text("".join(json.dumps(line) + "\n" for line in (header, *(row.raw for row in taken))))
        (row,) = RunFile.read(path).rows
        margins.append(row.flows[0].seconds.high / row.flows[0].seconds.median)
    assert margins == pytest.approx([math.exp(0.1), math.exp(0.3), math.exp(0.3)], rel=1e-3)


def test_calibrated_noise_widens_the_interval_of_its_class(tmp_path: Path) -> None:
    rows = [replicate(n, [1e-4] * 8) for n in range(3)]
    header = made.run(2, rows).header

    def margin(noise: Any) -> float:
        path = tmp_path / "a.jsonl"
        head = {**header, "noise": {"calibrated": "2026-01-01", "turns": 10, "between_runs": noise}}
        path.write_text("".join(json.dumps(line) + "\n" for line in (head, *(row.raw for row in rows))))
        (row,) = RunFile.read(path).rows
        return row.flows[0].seconds.high / row.flows[0].seconds.median - 1

    class_of = {"gpu": 0.1}
    usual = margin({})
    assert 0 < usual < 0.01
    assert margin({"classes": class_of, "cases": {}}) == pytest.approx(math.exp(0.1) - 1, rel=0.01)
    assert margin({"classes": class_of, "cases": {rows[0].id: 0.3}}) == pytest.approx(math.exp(0.3) - 1, rel=0.01)
    for silent in ({"classes": {"cpu": 0.1}, "cases": {}}, {"classes": class_of}, class_of):
        assert margin(silent) == pytest.approx(usual)
    for wrong in ({"gpu": "much"}, {"gpu": -1}, {"gpu": 1e9}, []):
        with pytest.raises(LinkscopeError, match=r"line 1: noise.between_runs.classes"):
            margin({"classes": wrong, "cases": {}})
    for odd in ([], 7, {"classes": class_of, "cases": []}):
        with pytest.raises(LinkscopeError, match=r"line 1: noise.between_runs"):
            margin(odd)


def test_what_the_machine_took_from_slow_results_is_told_behind_the_first_screen() -> None:
    faulty = slow_pair("gpu:2", "gpu:0")(recorded.healthy())

    def disturbed(row: Row) -> Row:
        if row.replicates:
            return folded([disturbed(one) for one in row.replicates], row.noise)
        return Row.from_json({**row.raw, "discarded": {"load-ended": 2}})

    answer = ask("explain", dataclasses.replace(faulty, rows=tuple(map(disturbed, faulty.rows))))
    results = [name for one in answer.findings for name in one.results]
    (told,) = (one for one in answer.details if one.code == "spread.load-ended")
    assert told.facts["starts"] == 2 * sum(len(row.measured) for row in faulty.rows if row.id in set(results))
    assert not any(one.code.startswith("spread.") for one in (*answer.findings, *ask("explain", faulty).details))
