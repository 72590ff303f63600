"""Progress on standard error: a line for each test where it is no terminal, a small picture where it is."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import modelled_run as made
import pytest
from rich.console import Console

from linkscope.cli.live_progress import LINES, LiveProgress
from linkscope.cli.progress_lines import QUIET_S, ProgressLines
from linkscope.cli.row_result import RowResult, end_of_curve, results_of, span
from linkscope.launch.pace import PRIOR_S, Pace
from linkscope.launch.run import Listener
from linkscope.plan.budget import RoundLimits
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

NO_TORCH = "no torch"


def planned(name: str, size: int, **labels: str) -> PlannedCase:
    case = made.case(name, [made.flow("gpu:0", "gpu:1", size)], {"figure": "first", "title": f"All {name}", **labels})
    return PlannedCase({**case, "id": f"synthetic/{name}/{size}"})


def ended(one: PlannedCase, status: str = "ok", reason: str = NO_TORCH, elapsed_s: float = 2.0) -> Json:
    done = made.ok(one.case, [[1e-5] * 8]) if status == "ok" else made.not_ok(one.case, status, reason)
    return {**done.raw, "elapsed_s": elapsed_s}


def job(cases: Sequence[PlannedCase], rounds: RoundLimits) -> Any:
    def pace(pending: Sequence[PlannedCase]) -> Pace:
        return Pace({one.id: 1.0 for one in pending}, {one.id: one.case["name"] for one in pending}, rounds.least, 0.0)

    return SimpleNamespace(node=made.node(), rounds=rounds, pace=pace)


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def begun(cases: Sequence[PlannedCase], rounds: RoundLimits, clock: Clock, text: io.StringIO) -> Listener:
    """Of a job of these cases, about which a line is in ``text`` already."""
    listener = ProgressLines(Console(file=text, width=80), lambda job, pending: "begins", clock).listener()
    listener.on_job(job(cases, rounds), cases)
    return listener


def told(rows: Sequence[Json], cases: Sequence[PlannedCase], clock: Clock | None = None) -> list[str]:
    """What is printed of the first round, after the line about the job."""
    text = io.StringIO()
    clock = clock or Clock()
    listener = begun(cases, RoundLimits(), clock, text)
    listener.on_round(0, cases)
    for row in rows:
        listener.on_row(row)
        clock.seconds += 1
    return text.getvalue().splitlines()[1:]


def test_a_row_of_a_suite_is_one_line_when_its_last_case_has_been_visited() -> None:
    cases = [planned("copies", size) for size in (1 << 20, 2 << 20)] + [planned("reads", 1 << 20)]
    first, second = (ended(one) for one in cases[:2])
    assert told([first], cases) == []
    lines = told([first, second, ended(cases[2])], cases)
    assert [line.split()[0] for line in lines] == ["[1/2]", "[2/2]"]
    assert "copies" in lines[0]
    assert "2 cases" in lines[0]
    assert "104.9-209.7 GB/s" in lines[0]
    assert all(len(line) <= 80 for line in lines)


def test_what_cannot_run_is_no_line_of_its_own_and_a_failure_is_told_once_for_each_reason() -> None:
    cases = [planned("copies", size) for size in (1 << 20, 2 << 20, 4 << 20, 8 << 20)]
    statuses = ("skipped", "failed", "failed", "ok")
    lines = told([ended(one, status) for one, status in zip(cases, statuses, strict=True)], cases)
    assert len(lines) == 2
    assert lines[0] == f"{cases[1].id} failed: {NO_TORCH}"
    assert {"1 skipped", "2 failed"} <= set(lines[1].split("  "))


def test_a_long_silence_is_broken_by_how_far_the_run_is() -> None:
    cases = [planned("copies", size) for size in (1, 2, 3)]
    clock, text = Clock(), io.StringIO()
    listener = begun(cases, RoundLimits(3, 6), clock, text)
    listener.on_round(0, cases)
    listener.on_row(ended(cases[0]))
    clock.seconds = QUIET_S + 1
    listener.on_row(ended(cases[1]))
    assert "2 of 3 cases" in text.getvalue().splitlines()[-1]


def test_rounds_for_wide_figures_are_no_line_each() -> None:
    """A run with a budget goes on with them while it lasts: that may be dozens."""
    cases = [planned("copies", size) for size in (1, 2, 3)]
    clock, text = Clock(), io.StringIO()
    listener = begun(cases, RoundLimits(3, 40), clock, text)
    for number in range(40):
        clock.seconds += 2
        listener.on_round(number, cases[: 1 if number >= 3 else 3])
    rounds = [line.partition(":")[0][:7] for line in text.getvalue().splitlines() if line.startswith("round")]
    assert rounds[:4] == ["round 1", "round 2", "round 3", "round 4"]
    assert len(rounds) == 5  # and one when it has been quiet for long


@pytest.mark.parametrize("width", [80, 120])
def test_the_picture_fits_a_terminal_and_fills_its_matrix(width: int) -> None:
    drawn_on = io.StringIO()
    console = Console(file=drawn_on, width=width, height=LINES)
    ids = [f"gpu:{number}" for number in range(16)]
    cases = [
        planned("pairs", 1 + 16 * i + j, show="matrix", row=a, column=b)
        for i, a in enumerate(ids)
        for j, b in enumerate(ids)
    ]
    clock = Clock()
    live = LiveProgress(console, lambda job, pending: "begins", clock)
    listener = live.listener()
    listener.on_job(job(cases, RoundLimits(3, 6)), cases)
    listener.on_round(0, cases)
    listener.on_start(cases[0].id)
    clock.seconds = 10.0
    listener.on_row(ended(cases[0]))
    drawn_on.truncate(0)
    console.print(live.picture())
    lines = drawn_on.getvalue().splitlines()
    assert 10 < len(lines) <= LINES
    assert max(map(len, lines)) <= width
    assert any("1/256" in line for line in lines)
    assert any("1 of 256" in line for line in lines)


def test_a_span_is_told_slowest_first() -> None:
    found = [result for size in (1 << 20, 2 << 20) for result in results_of(ended(planned("copies", size)))]
    assert span(found) == "104.9-209.7 GB/s"
    assert span([]) == ""


def test_a_curve_shows_the_result_at_its_end() -> None:
    def found(figure: str, seconds: float, size: int, call: str = "send") -> list[RowResult]:
        flow = made.flow("gpu:0", "gpu:1", size)
        flow["parameters"] = {"call": call}
        case = made.case("copies", [flow], {"figure": figure, "x": size, "show": "curve"})
        return results_of(made.ok(case, [[seconds] * 8]).raw)

    in_a_cache = found("first", 1e-9, 1 << 20)
    rates = [*in_a_cache, *found("first", 1e-3, 1 << 30), *found("first", 2e-3, 1 << 30)]
    assert end_of_curve(rates) == "1074 GB/s at 1 GiB"
    times = [*found("latency", 2e-7, 1), *found("latency", 1e-7, 64), *found("latency", 5e-9, 1, "window")]
    assert end_of_curve(times) == "200.0 ns at 1 B"
    assert end_of_curve([]) == ""


def pace(rounds: int = 2, starts_s: float = 0.0, deadline: float = math.inf) -> Pace:
    return Pace({"a": 10.0, "b": 10.0, "c": 10.0}, {"a": "x", "b": "x", "c": "y"}, rounds, starts_s, deadline=deadline)


def test_time_left_begins_with_what_is_expected_starts_included() -> None:
    assert pace(starts_s=1.0).left_s(0.0) == pytest.approx(2 * 31.0)


def test_time_left_learns_from_what_visits_took_most_for_those_alike() -> None:
    run = pace(rounds=1)
    run.begin_round(["a", "b", "c"])
    run.take("a", 30.0)
    factor = (30.0 + PRIOR_S) / (10.0 + PRIOR_S)
    assert run.left_s(0.0) == pytest.approx(
        10.0 * factor + 10.0 * (30.0 + PRIOR_S * factor) / (10.0 + PRIOR_S), rel=0.2
    )
    run.take("c", 10.0)
    assert run.left_s(0.0) > 10.0 * 2, "b is like a, which took three times as long"


def test_time_left_ends_with_the_deadline_and_with_what_is_dropped() -> None:
    run = pace(rounds=1, deadline=25.0)
    assert run.left_s(20.0) == 5.0
    assert run.left_s(30.0) == 0.0
    run = pace(rounds=1)
    run.begin_round(["a", "b", "c"])
    for case_id in ("a", "b", "c"):
        run.drop(case_id)
    assert run.left_s(0.0) == 0.0


def test_time_left_has_what_a_run_does_beside_its_visits() -> None:
    run = pace(rounds=1)
    run.begin_round(["a", "b", "c"])
    run.take("a", 10.0)
    alone = run.left_s(10.0)
    assert run.left_s(20.0) == pytest.approx(alone * (20.0 + PRIOR_S) / (10.0 + PRIOR_S))


def test_a_round_that_nobody_expected_adds_its_cases() -> None:
    run = pace(rounds=1)
    run.begin_round(["a", "b", "c"])
    for case_id in ("a", "b", "c"):
        run.take(case_id, 10.0)
    assert run.left_s(0.0) == 0.0
    run.begin_round(["b"])
    assert run.left_s(0.0) == pytest.approx(10.0)
