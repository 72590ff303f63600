"""Headline figures: sums sample by sample, the interval's rank, halves, latencies, and what a row lacks."""

from __future__ import annotations

import math
import random
from math import comb
from typing import Any

import modelled_run as made
import pytest
from msgspec.structs import asdict

from linkscope.analysis.cell import cells_of
from linkscope.analysis.headline import headline, shared_unit, time_unit
from linkscope.analysis.peak import peak
from linkscope.machine.paths import Paths
from linkscope.results.row import Row
from linkscope.results.stats import stats_of
from linkscope.statistics.ranks import interval_of_range, interval_rank, percentile

SIZE = 1_000_000


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
    row = two_flows([fast, slow] * 5, [slow, fast] * 5, "sum")
    figure = headline(row)
    assert figure is not None
    assert figure.value.median == pytest.approx(50.0)
    assert figure.value.high - figure.value.low == pytest.approx(0.0, abs=1e-9)
    assert figure.unit == "GB/s"
    assert "2 flows" in figure.what


def test_a_sum_without_samples_adds_the_flows_bounds() -> None:
    row = two_flows([SIZE / 30e9] * 8, [SIZE / 20e9] * 8, "sum")
    raw = {**row.raw, "flows": [{k: v for k, v in flow.items() if k != "samples_s"} for flow in row.raw["flows"]]}
    figure = headline(Row.from_json(raw))
    assert figure is not None
    assert figure.value.median == pytest.approx(50.0)
    assert "bounds added" in figure.what


def test_background_flows_are_not_summed() -> None:
    flows = [made.flow("gpu:0", "gpu:1", SIZE), made.flow("gpu:1", "gpu:0", SIZE, role="background")]
    row = made.ok(made.case("one", flows, {"figure": "sum"}), [[SIZE / 30e9] * 8, [SIZE / 20e9] * 8])
    figure = headline(row)
    assert figure is not None
    assert figure.value.median == pytest.approx(30.0)


def test_first_half_and_latency() -> None:
    times = [SIZE / 30e9] * 8
    first, half, latency = (headline(two_flows(times, times, figure)) for figure in ("first", "half", "latency"))
    assert first is not None
    assert half is not None
    assert latency is not None
    assert first.value.median == pytest.approx(30.0)
    assert half.value.median == pytest.approx(15.0)
    assert (latency.value.median, latency.unit) == (pytest.approx(SIZE / 30e9 * 1e6), "us")
    assert not latency.higher_is_better


def test_a_latency_method_reads_in_nanoseconds_whatever_figure_is_asked() -> None:
    row = made.ok(made.case("chase", [made.flow("gpu:0", "gpu:1", 64)], {"figure": "first"}), [[827e-9] * 8], True)
    figure = headline(row)
    assert figure is not None
    assert (figure.value.median, figure.unit) == (pytest.approx(827.0), "ns")


@pytest.mark.parametrize(
    ("seconds", "value", "unit"),
    [(827e-9, 827.0, "ns"), (9.99e-6, 9990.0, "ns"), (10e-6, 10.0, "us"), (9.9e-3, 9900.0, "us"), (0.01, 10.0, "ms")],
)
def test_a_time_reads_in_the_unit_that_suits_it(seconds: float, value: float, unit: str) -> None:
    row = made.ok(made.case("call", [made.flow("gpu:0", "gpu:1", 64, "launch")], {}), [[seconds] * 8], True)
    figure = headline(row)
    assert figure is not None
    assert (figure.value.median, figure.unit) == (pytest.approx(value), unit)
    assert figure.seconds == pytest.approx(seconds)


def test_a_table_has_one_unit_the_one_that_suits_most_of_it() -> None:
    rows = [
        made.ok(made.case(f"{number}", [made.flow("gpu:0", "gpu:1", 64, "register")], {}), [[seconds] * 8], True)
        for number, seconds in enumerate((2e-6, 30e-6, 40e-6, 20e-3))
    ]
    skipped = made.not_ok(made.case("none", [made.flow("gpu:0", "gpu:1")], {}), "skipped", "no reason")
    cells = cells_of([*rows, skipped], Paths(made.node(2)))
    figures = [entry.headline for entry in cells if entry.headline is not None]
    assert [figure.unit for figure in figures] == ["us"] * 4
    assert [figure.value.median for figure in figures] == pytest.approx([2.0, 30.0, 40.0, 20000.0])


def touching(flow: dict[str, Any], touched: int | None) -> Row:
    row = made.ok(made.case("stream", [flow], {"figure": "touched"}), [[SIZE / 30e9] * 8])
    figures = {**row.raw["flows"][0]} | ({} if touched is None else {"touched_bytes": touched})
    return Row.from_json({**row.raw, "flows": [figures]})


def test_touched_counts_every_byte_read_and_written() -> None:
    figure = headline(touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), 3 * SIZE))
    assert figure is not None
    assert (figure.value.median, figure.unit) == (pytest.approx(90.0), "GB/s")
    assert figure.what == "bytes read plus bytes written"


def test_touched_of_several_flows_counts_all_of_them() -> None:
    flows = [made.flow(f"gpu:{gpu}", f"gpu:{gpu}", SIZE) for gpu in (0, 1)]
    row = made.ok(made.case("stream", flows, {"figure": "touched"}), [[SIZE / 30e9] * 8] * 2)
    results = [{**one, "touched_bytes": 2 * SIZE} for one in row.raw["flows"]]
    together = {**row.raw, "flows": results, "aggregate": {"gbps": asdict(stats_of([58.0] * 8)), "overlap": 1.0}}
    found = headline(Row.from_json(together))
    assert found is not None
    assert found.value.median == pytest.approx(116)


def test_touched_without_the_methods_word_on_it_is_no_figure() -> None:
    assert headline(touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), None)) is None


def test_touched_spreads_over_the_operations_of_a_transfer() -> None:
    row = touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), 8 * SIZE)
    figure = headline(Row.from_json({**row.raw, "flows": [{**row.raw["flows"][0], "operations": 4}]}))
    assert figure is not None
    assert figure.value.median == pytest.approx(60.0)


def test_touched_is_compared_with_the_memorys_rate_at_home_and_with_the_link_elsewhere() -> None:
    paths = Paths(made.node(2))
    at_home = peak(touching(made.flow("gpu:0", "gpu:0", SIZE, "stream"), 3 * SIZE), paths)
    across = peak(touching(made.flow("gpu:0", "gpu:1", SIZE, "stream"), 2 * SIZE), paths)
    uneven = peak(touching(made.flow("gpu:0", "gpu:1", SIZE, "stream"), 3 * SIZE), paths)
    assert at_home is not None
    assert at_home.gbps == pytest.approx(4800.0)
    assert across is not None
    assert across.gbps == pytest.approx(2 * made.LINK_GBPS)
    assert uneven is None


def test_the_aggregate_is_the_engines_own() -> None:
    row = two_flows([SIZE / 30e9] * 8, [SIZE / 20e9] * 8, "aggregate")
    assert headline(row) is None
    with_aggregate = Row.from_json({**row.raw, "aggregate": {"gbps": asdict(stats_of([44.0] * 8))}})
    figure = headline(with_aggregate)
    assert figure is not None
    assert figure.value.median == 44.0


def test_rows_that_are_not_ok_have_no_headline() -> None:
    plan_case = made.case("pair", [made.flow("gpu:0", "gpu:1")], {})
    assert headline(made.not_ok(plan_case, "skipped", "no peer access")) is None


def test_the_margin_is_the_larger_side_of_the_interval() -> None:
    figure = headline(two_flows([SIZE / g / 1e9 for g in (30, 30, 30, 30, 30, 30, 30, 27)], [1.0] * 8, "first"))
    assert figure is not None
    assert figure.margin == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("median", "longest", "unit"),
    [(3e-7, 9e-6, "ns"), (3e-7, 2.6e-4, "us"), (3e-7, 0.2, "ms"), (2e-5, 2e-5, "us"), (3e-5, 0.09, "us")],
)
def test_the_unit_suits_most_figures_and_leaves_none_unreadably_long(median: float, longest: float, unit: str) -> None:
    assert time_unit(median, longest) == unit


@pytest.mark.parametrize(
    ("times", "unit"),
    [([6e-7, 7e-7, 2e-3, 1.6], "us"), ([5e-6, 2e-5, 3e-5], "us"), ([3e-3, 0.02, 0.2], "ms"), ([1e-7, 2e-7], "ns")],
)
def test_a_table_of_times_shares_a_unit_that_leaves_its_shortest_more_than_zeros(times: list[float], unit: str) -> None:
    assert shared_unit(times) == unit


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
