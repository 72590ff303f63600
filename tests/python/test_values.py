"""Values of results: sums sample by sample, the interval's rank, halves, latencies, and what a row lacks."""

from __future__ import annotations

import math
import random
from math import comb
from typing import Any

import modelled_run as made
import pytest
from msgspec.structs import asdict

from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.results.stats import stats_of
from linkscope.statistics.ranks import interval_of_range, interval_rank, percentile

SIZE = 1_000_000


def result(row: Row) -> dict[str, Any]:
    """Return the line of the frame of a row with one result."""
    (line,) = Run(made.run(2, [row])).results.to_dicts()
    return line


def two_flows(first: list[float], second: list[float], figure: str) -> Row:
    flows = [made.flow("gpu:0", "gpu:1", SIZE), made.flow("gpu:1", "gpu:0", SIZE)]
    return made.ok(made.case("both", flows, {"figure": figure}), [first, second])


@pytest.mark.parametrize("n", [6, 7, 8, 9, 17, 50, 101, 1500])
def test_the_interval_covers_the_median_with_at_least_95_percent_and_one_rank_more_would_not(n: int) -> None:
    def coverage(rank: int) -> float:
        return 1 - 2 * sum(comb(n, k) for k in range(rank)) / 2**n

    rank = interval_rank(n)
    assert coverage(rank) >= 0.95
    assert coverage(rank + 1) < 0.95


def test_too_few_samples_are_bounded_by_their_extremes() -> None:
    stats = stats_of([3.0, 1.0, 2.0])
    assert (stats.low, stats.median, stats.high) == (1.0, 2.0, 3.0)


def test_percentiles_interpolate_between_ranks() -> None:
    assert percentile([0.0, 10.0], 0.25) == 2.5
    assert percentile([7.0], 0.99) == 7.0


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        stats_of([])


def test_a_sum_is_formed_sample_by_sample() -> None:
    # When one flow is slow the other is fast: the sum never moves, though each flow alone varies by half.
    fast, slow = SIZE / 30e9, SIZE / 20e9
    line = result(two_flows([fast, slow] * 5, [slow, fast] * 5, "sum"))
    assert (line["value"], line["unit"]) == (pytest.approx(50.0), "GB/s")
    assert line["value_high"] - line["value_low"] == pytest.approx(0.0, abs=1e-9)


def test_a_sum_without_samples_adds_the_flows_bounds() -> None:
    row = two_flows([SIZE / 30e9] * 8, [SIZE / 20e9] * 8, "sum")
    raw = {**row.raw, "flows": [{k: v for k, v in flow.items() if k != "samples_s"} for flow in row.raw["flows"]]}
    assert result(Row.from_json(raw))["value"] == pytest.approx(50.0)


def test_background_flows_are_not_summed() -> None:
    flows = [made.flow("gpu:0", "gpu:1", SIZE), made.flow("gpu:1", "gpu:0", SIZE, role="background")]
    row = made.ok(made.case("one", flows, {"figure": "sum"}), [[SIZE / 30e9] * 8, [SIZE / 20e9] * 8])
    assert result(row)["value"] == pytest.approx(30.0)


def test_first_half_and_latency() -> None:
    times = [SIZE / 30e9] * 8
    first, half, latency = (result(two_flows(times, times, figure)) for figure in ("first", "half", "latency"))
    assert (first["value"], half["value"]) == (pytest.approx(30.0), pytest.approx(15.0))
    assert (latency["value"], latency["unit"]) == (pytest.approx(SIZE / 30e9), "s")


def test_a_latency_method_is_a_time_whatever_figure_is_asked() -> None:
    row = made.ok(made.case("chase", [made.flow("gpu:0", "gpu:1", 64)], {"figure": "first"}), [[827e-9] * 8], True)
    line = result(row)
    assert (line["value"], line["unit"]) == (pytest.approx(827e-9), "s")


def touching(flow: dict[str, Any], touched: int | None) -> Row:
    row = made.ok(made.case("stream", [flow], {"figure": "touched"}), [[SIZE / 30e9] * 8])
    figures = {**row.raw["flows"][0]} | ({} if touched is None else {"touched_bytes": touched})
    return Row.from_json({**row.raw, "flows": [figures]})


def test_touched_counts_every_byte_read_and_written() -> None:
    line = result(touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), 3 * SIZE))
    assert (line["value"], line["unit"], line["figure"]) == (pytest.approx(90.0), "GB/s", "touched")


def test_touched_of_several_flows_counts_all_of_them() -> None:
    flows = [made.flow(f"gpu:{gpu}", f"gpu:{gpu}", SIZE) for gpu in (0, 1)]
    row = made.ok(made.case("stream", flows, {"figure": "touched"}), [[SIZE / 30e9] * 8] * 2)
    results = [{**one, "touched_bytes": 2 * SIZE} for one in row.raw["flows"]]
    together = {**row.raw, "flows": results, "aggregate": {"gbps": asdict(stats_of([58.0] * 8)), "overlap": 1.0}}
    assert result(Row.from_json(together))["value"] == pytest.approx(116)


def test_touched_without_the_methods_word_on_it_is_no_result() -> None:
    assert result(touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), None))["value"] is None


def test_touched_spreads_over_the_operations_of_a_transfer() -> None:
    row = touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), 8 * SIZE)
    line = result(Row.from_json({**row.raw, "flows": [{**row.raw["flows"][0], "operations": 4}]}))
    assert line["value"] == pytest.approx(60.0)


def test_touched_is_compared_with_the_memorys_rate_at_home_and_with_the_link_elsewhere() -> None:
    def peak(destination: str, times: int) -> float | None:
        found: float | None = result(touching(made.flow("gpu:0", destination, SIZE, "stream"), times * SIZE))[
            "peak_gbps"
        ]
        return found

    assert peak("gpu:0", 3) == pytest.approx(4800.0)
    assert peak("gpu:1", 2) == pytest.approx(2 * made.LINK_GBPS)
    assert peak("gpu:1", 3) is None


def test_the_aggregate_is_the_engines_own() -> None:
    row = two_flows([SIZE / 30e9] * 8, [SIZE / 20e9] * 8, "aggregate")
    assert result(row)["value"] is None
    assert result(Row.from_json({**row.raw, "aggregate": {"gbps": asdict(stats_of([44.0] * 8))}}))["value"] == 44.0


def test_rows_that_are_not_ok_have_no_value() -> None:
    plan_case = made.case("pair", [made.flow("gpu:0", "gpu:1")], {})
    line = result(made.not_ok(plan_case, "skipped", "no peer access"))
    assert (line["value"], line["reason"]) == (None, "no peer access")


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_interval_of_few_samples_holds_their_middle_in_95_of_100(count: int) -> None:
    rng, held = random.Random(count), 0
    for _ in range(4000):
        samples = sorted(rng.lognormvariate(0, 0.1) for _ in range(count))
        middle = math.sqrt(samples[(count - 1) // 2] * samples[count // 2])
        low, high = interval_of_range(count, middle, samples[0], samples[-1])
        held += low <= 1 <= high
    assert 0.94 < held / 4000 < 0.96
    assert interval_of_range(6, 1.0, 0.9, 1.1) == (0.9, 1.1)
