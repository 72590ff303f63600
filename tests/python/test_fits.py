"""Fits and saturation sizes: lines give back what they were drawn from, and switch where the protocol does."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import modelled_run as made
import polars
import pytest

import linkscope
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.fits import fits
from linkscope.answers.analyze.saturation import falls, saturation
from linkscope.figures.run import Run
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.statistics.crossing import crossing
from linkscope.statistics.hockney import Segment, Timing, hockney
from linkscope.statistics.interval import Interval

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
KIB, MIB = 1 << 10, 1 << 20
SIZES = [64 << power for power in range(0, 25, 2)]


def measured(time: Callable[[int], float], seed: int = 0, noise: float = 0.0) -> list[Timing]:
    """Times with as much noise as their intervals say."""
    rng = random.Random(seed)
    times = [(size, time(size) * (1 + rng.gauss(0, noise))) for size in SIZES]
    return [Timing(size, Interval(t, t * (1 - 1.96 * noise), t * (1 + 1.96 * noise))) for size, t in times]


def line(alpha: float, gbps: float) -> Callable[[int], float]:
    return lambda size: alpha + size / gbps * 1e-9


def rate(size: int, gbps: float, low: float, high: float) -> tuple[int, Interval]:
    return size, Interval(gbps, low, high)


def usable_of(run: RunFile) -> polars.DataFrame:
    return usable(Run(run))


def only(found: tuple[Segment, ...]) -> Segment:
    (segment,) = found
    assert segment.beta is not None
    assert segment.half is not None
    return segment


def test_a_line_gives_back_latency_bandwidth_and_half_size() -> None:
    found = only(hockney(measured(line(2.5e-6, 400))))
    assert found.alpha.value == pytest.approx(2.5e-6)
    assert found.beta.value == pytest.approx(400e9)  # type: ignore[union-attr]
    assert found.half.value == pytest.approx(2.5e-6 * 400e9)  # type: ignore[union-attr]
    assert found.misfit < 1e-9


def test_the_half_size_is_less_sure_than_latency_and_bandwidth_together() -> None:
    """A line that begins higher rises less: the errors of the two add up in their product."""
    found = only(hockney(measured(line(5e-6, 50), noise=0.02)))
    alpha, beta, half = found.alpha, found.beta, found.half
    assert beta is not None
    assert half is not None
    independent = math.hypot(alpha.high / alpha.value - 1, beta.value / beta.low - 1)
    assert math.log(half.high / half.value) > independent


@pytest.mark.parametrize("noise", [0.002, 0.02, 0.1])
def test_noise_makes_no_switch_and_intervals_hold_the_truth(noise: float) -> None:
    found = [hockney(measured(line(5e-6, 50), seed, noise)) for seed in range(100)]
    assert sum(len(segments) > 1 for segments in found) <= 4
    lines = [segments[0] for segments in found if len(segments) == 1]
    for truth, estimates in ((5e-6, [one.alpha for one in lines]), (50e9, [one.beta for one in lines])):
        held = sum(one is not None and one.low <= truth <= one.high for one in estimates)
        assert held >= 0.85 * len(lines)


def test_a_protocol_that_switches_has_a_line_on_either_side() -> None:
    eager, rendezvous = line(1e-6, 20), line(9e-6, 100)
    switch = 64 * KIB
    found = hockney(measured(lambda size: (eager if size <= switch else rendezvous)(size), noise=0.005))
    assert [(one.first, one.last) for one in found] == [(64, switch), (4 * switch, SIZES[-1])]
    assert found[0].alpha.low < 1e-6 < found[0].alpha.high
    assert found[1].alpha.low < 9e-6 < found[1].alpha.high
    assert found[1].beta is not None
    assert found[1].beta.low < 100e9 < found[1].beta.high


def test_what_does_not_grow_has_no_bandwidth() -> None:
    found = hockney(measured(lambda size: 3e-6, noise=0.01))
    assert [(one.beta, one.half) for one in found] == [(None, None)]


def test_frames_have_a_line_for_each_series_and_agree_on_the_half_size() -> None:
    found = usable_of(
        made.run(found=made.size_curves("by size", [("a", "gpu:0", "gpu:1", 396), ("b", "numa:0", "gpu:0", 55)]))
    )
    lines, sizes = fits(found), saturation(found)
    assert lines["segments"].to_list() == [1, 1]
    assert lines["path"].to_list() == sizes["path"].to_list() == ["gpu:0>gpu:1", "numa:0>gpu:0"]
    assert lines["alpha_seconds"].to_list() == pytest.approx([4e-6, 4e-6], rel=0.05)
    assert lines["beta_gbps"].to_list() == pytest.approx([396, 55], rel=0.02)
    for fitted, low, high in zip(lines["half_bytes"], sizes["half_bytes_low"], sizes["half_bytes_high"], strict=True):
        assert low <= fitted <= high
    assert sizes["rising"].to_list() == [False, False]


def test_saturation_lies_between_measured_sizes_and_holds_for_good() -> None:
    dips = [
        rate(KIB, 50, 49, 51),
        rate(4 * KIB, 95, 94, 96),
        rate(16 * KIB, 70, 69, 71),
        rate(64 * KIB, 100, 99, 101),
    ]
    found = crossing(dips, dips[-1][1].scaled(0.8))
    assert found is not None
    assert (found.low, found.high) == (16 * KIB, 64 * KIB)
    assert found.low < found.value < found.high
    assert crossing(dips, dips[-1][1].scaled(0.4)) is None


def test_rates_of_nothing_have_no_logarithm() -> None:
    none = [rate(1024, 0, 0, 0), rate(4096, 2, 0, 3)]
    assert crossing(none, Interval(1, 0, 1.5)) == Interval(4096, 1024, 4096)


def test_uncertain_rates_widen_where_saturation_may_lie() -> None:
    wide = [
        rate(KIB, 30, 10, 90),
        rate(4 * KIB, 60, 30, 95),
        rate(16 * KIB, 90, 60, 120),
        rate(64 * KIB, 100, 90, 110),
    ]
    found = crossing(wide, wide[-1][1].scaled(0.8))
    assert found is not None
    assert (found.low, found.high) == (KIB, 64 * KIB)


def test_a_rate_that_still_rises_has_lower_bounds_only() -> None:
    found = saturation(usable_of(made.run(found=made.size_curves("by size", [("a", "gpu:0", "gpu:1", 396)], sizes=11))))
    assert found["rising"].to_list() == [True]


def curve(rates: dict[int, float], device: str = "numa:0", processes: int = 1) -> list[Row]:
    """GB/s by size within the memory of a device, nothing done against caches."""
    found = []
    for size, gbps in rates.items():
        flow = made.flow(device, device, size, "memcpy", parameters={"threads": 1})
        case = {**made.case(f"memcpy/{size}", [flow], {"figure": "first"}, "host"), "cache": "warm"}
        found.append(made.ok({**case, "processes": processes}, [made.seconds(size, gbps, str(size), noise=0.003)]))
    return found


FALLING = {4 * KIB: 100.0, 16 * KIB: 160.0, 64 * KIB: 150.0, MIB: 40.0, 64 * MIB: 8.0}


def test_a_rate_that_falls_has_a_largest_instead_of_a_size_from_which_on_it_saturates() -> None:
    table = saturation(usable_of(made.run(found=curve(FALLING))))
    (fallen,) = table.to_dicts()
    assert (fallen["falling"], fallen["rising"]) == (True, False)
    assert (fallen["half_bytes"], fallen["share80_bytes"], fallen["share90_bytes"]) == (None, None, None)
    assert (fallen["best_bytes"], fallen["kept_bytes"]) == (16 * KIB, 64 * KIB)
    assert fallen["best_gbps"] == pytest.approx(160, rel=0.01)
    told = linkscope.analyze(made.run(found=curve(FALLING)), "saturation").findings[-1]
    assert (told.code, told.facts["best_bytes"]) == ("analyze.saturation-cached", 16 * KIB)


@pytest.mark.parametrize(
    ("device", "processes", "cached"), [("numa:0", 1, True), ("numa:0", 2, False), ("gpu:0", 1, False)]
)
def test_caches_serve_only_what_cpus_of_one_process_move(device: str, processes: int, cached: bool) -> None:
    table = saturation(usable_of(made.run(found=curve(FALLING, device, processes))))
    assert (table["falling"].to_list(), table["cached"].to_list()) == ([True], [cached])


def test_caches_serve_nothing_where_something_was_done_against_them() -> None:
    rows = [Row.from_json({**row.raw, "case": {**row.case, "cache": "rotated"}}) for row in curve(FALLING)]
    table = saturation(usable_of(made.run(found=rows)))
    assert (table["falling"].to_list(), table["cached"].to_list()) == ([True], [False])


def test_a_rate_that_falls_and_rises_again_still_rises_and_tells_both() -> None:
    rates = {KIB: 100.0, 4 * KIB: 20.0, 16 * KIB: 40.0, 64 * KIB: 80.0}
    table = saturation(usable_of(made.run(found=curve(rates, processes=2))))
    (found,) = table.to_dicts()
    assert (found["falling"], found["rising"]) == (False, True)
    assert (found["best_bytes"], found["kept_bytes"]) == (KIB, KIB)
    assert found["share90_bytes"] > 16 * KIB


def test_a_last_rate_that_may_be_as_high_as_any_does_not_fall() -> None:
    assert falls([rate(KIB, 100, 98, 102), rate(4 * KIB, 80, 78, 82)])
    assert not falls([rate(KIB, 100, 70, 140), rate(4 * KIB, 80, 60, 110)])
    assert not falls([rate(KIB, 100, 99.9, 100.1), rate(4 * KIB, 95, 94.9, 95.1)])


def timed(method: str, gbps: float, parameters: dict[str, str], processes: int) -> list[Row]:
    """Times of 1 us and more by size, without rates, on host memory."""
    found = []
    for size in [*SIZES[:7], MIB]:
        flow = made.flow("numa:0", "numa:0", size, method, parameters=parameters)
        case = {**made.case(f"{method}/{size}", [flow], {"figure": "latency"}, "host"), "processes": processes}
        low = line(1e-6, gbps)(size)
        last = [low, 9 * low, 81 * low] if size == MIB else [low]
        found.append(made.ok(case, [last * 3], latency=True))
    return found


def test_messages_there_and_back_have_a_line_and_no_rate_that_saturates() -> None:
    found = usable_of(made.run(found=timed("mpi", 10, {"call": "ping-pong"}, processes=2)))
    assert found["gbps"].null_count() == len(found)
    (fitted,) = fits(found).to_dicts()
    assert (fitted["alpha_seconds"], fitted["beta_gbps"]) == pytest.approx((1e-6, 10))
    assert fitted["last_bytes"] < MIB, "a time that nobody knows"
    assert saturation(found).is_empty()


def test_a_walk_through_memory_is_no_message() -> None:
    assert fits(usable_of(made.run(found=timed("pointer-chase", 10, {}, processes=1)))).is_empty()


def test_latency_is_that_of_small_transfers_alone() -> None:
    """A line through large ones has an intercept, which is nobody's latency."""
    large, small = (
        linkscope.analyze(RUNS / f"h200x4-{name}.jsonl", "fits").headline.code for name in ("direct", "packets")
    )
    assert (large, small) == ("analyze.fits-none", "analyze.fits-latency")
