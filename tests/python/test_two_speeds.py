"""Two speeds: between processes, shown as both with how often each."""

from __future__ import annotations

import math
import random
from typing import Any

import modelled_run as made
import pytest

from linkscope.answers.compare import compare
from linkscope.answers.questions import ask
from linkscope.answers.speeds import two_speeds
from linkscope.figures.export import exported
from linkscope.figures.run import Run
from linkscope.render.cells import matrix
from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.statistics.modes import ProcessModes, process_modes

SLOW_S, FAST_S = 1.0e-5, 0.9e-5
CPUS = {"method": "memcpy", "executor": "numa:0", "bytes": 1 << 20}
CPUS |= {end: {"device": "numa:0", "memory": "pageable"} for end in ("source", "destination")}


def run_of(*times: float, flow: dict[str, Any] | None = None, **of_case: Any) -> Run:
    """A run of one matrix of copies between two GPUs, with a process for each time."""
    flow = flow or made.flow("gpu:0", "gpu:1", 1 << 20)
    case = made.case(
        "copies", [flow], {"title": "Copies", "show": "matrix", "row": "gpu:0", "column": "gpu:1"}, **of_case
    )
    rows = [
        Row.from_json({**made.ok(case, [[time] * 8]).raw, "replicate": number, "modelled": False})
        for number, time in enumerate(times)
    ]
    return Run.of(made.run(2, [folded(rows)]))


def test_the_largest_gap_divides_the_processes() -> None:
    assert process_modes([103.8, 90.7, 101.7], 0.004) == ProcessModes(90.7, math.sqrt(101.7 * 103.8), 1, 2)
    assert process_modes([90.7, 101.8], 0.004) is None, "two are no two speeds"
    assert process_modes([103.8, 90.7, 101.8], 0.02) is None, "samples scatter as far"
    assert process_modes([90.7, 97.0, 103.8], 0.004) is None, "no gap is wider than the groups"
    assert process_modes([100.0, 100.1, 102.0], 0.0001) is None, "too near"
    assert process_modes([90.7, 101.8, 103.8], 0.004, fewest=6) is None
    assert process_modes([0.0, 1.0, 1.0], 0.0) is None
    twice = [
        rng.gauss(90, 1) if rng.random() < 0.3 else rng.gauss(102, 1) for rng in [random.Random(2)] for _ in range(20)
    ]
    found = process_modes(twice, 0.004)
    assert found is not None
    assert (found.in_low, found.in_high) == (sum(one < 96 for one in twice), sum(one > 96 for one in twice))


@pytest.mark.parametrize("processes", [6, 7, 8, 9, 10, 12, 20])
def test_one_broad_group_is_seldom_two_speeds(processes: int) -> None:
    rng = random.Random(processes)
    found = [process_modes([rng.gauss(100, 8) for _ in range(processes)], 0.002) for _ in range(4000)]
    assert sum(one is not None for one in found) < 0.01 * 4000


def test_waits_of_three_processes_have_one_speed() -> None:
    waits = 7.2e-6, 7.3e-6, 8.5e-6
    assert run_of(*waits, clock="host").results["value_modes"].to_list() == [None]
    assert run_of(*[SLOW_S, FAST_S] * 3, clock="host").results["value_modes_in"].to_list() == [[3, 3]]


def test_a_result_has_both_speeds_and_how_often_each() -> None:
    run = run_of(SLOW_S, FAST_S, SLOW_S)
    (line,) = run.results.iter_rows(named=True)
    slow, fast = ((1 << 20) / time * 1e-9 for time in (SLOW_S, FAST_S))
    assert line["value_modes"] == pytest.approx([slow, fast])
    assert line["value_modes_in"] == [2, 1]
    assert line["value"] == pytest.approx(slow)
    (table,) = (one for one in ask("show", run).tables if one.key == "tables.matrix")
    assert matrix(table, full=True)[1][0][1][-1] == "104.9 (2/3), 116.5"
    found = two_speeds(run)
    assert found is not None
    assert (found.facts["count"], found.results) == (1, (line["id"],))
    text = exported([run]).decode().splitlines()
    assert text[1].split(",")[text[0].split(",").index("value_modes_in")] == "2 1"


def test_of_as_many_the_slower_counts_and_the_interval_reaches_both() -> None:
    (line,) = run_of(*[SLOW_S] * 10, *[FAST_S] * 10).results.iter_rows(named=True)
    slow, fast = ((1 << 20) / time * 1e-9 for time in (SLOW_S, FAST_S))
    assert line["value"] == line["gbps"] == pytest.approx(slow)
    assert line["seconds"] == pytest.approx(SLOW_S)
    assert line["value_low"] <= slow < fast <= line["value_high"] * (1 + 1e-9)
    assert line["seconds_low"] <= FAST_S * (1 + 1e-9) < SLOW_S <= line["seconds_high"]


def test_host_memory_needs_more_processes() -> None:
    assert run_of(SLOW_S, FAST_S, SLOW_S, flow=CPUS).results["value_modes"].to_list() == [None]
    assert run_of(*[SLOW_S, FAST_S] * 3, flow=CPUS).results["value_modes_in"].to_list() == [[3, 3]]


def test_a_comparison_has_the_speeds_of_each_side() -> None:
    one, other = run_of(SLOW_S, FAST_S, SLOW_S), run_of(*[SLOW_S] * 3)
    (line,) = compare([one, other], [other]).table("compare.results").frame.iter_rows(named=True)
    assert (line["base_modes_in"], line["new_modes_in"]) == ([5, 1], None)
    host = [run_of(SLOW_S, FAST_S, SLOW_S, flow=CPUS), run_of(*[SLOW_S, FAST_S] * 3, flow=CPUS)]
    (line,) = compare(host[:1], host[1:]).table("compare.results").frame.iter_rows(named=True)
    assert (line["base_modes_in"], line["new_modes_in"]) == (None, [3, 3]), "of host memory three are too few"


def test_processes_on_host_memory_that_agree_by_chance_prove_no_change() -> None:
    before, after = (run_of(*[time] * 3, flow=CPUS) for time in (SLOW_S, 1.03 * SLOW_S))
    (line,) = compare([before] * 2, [after] * 2).table("compare.results").frame.iter_rows(named=True)
    assert (line["speed"], line["verdict"]) == (pytest.approx(-0.03, abs=0.001), "unclear")
