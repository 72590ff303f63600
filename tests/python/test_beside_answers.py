"""Small copies behind large ones, and computation beside communication: analyze on runs with known answers."""

from __future__ import annotations

from typing import Any

import pytest
from modelled_run import MIB, case, flow, ok, run, steady

from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.questions import ask
from linkscope.figures.run import Run
from linkscope.results.row import Row

Json = dict[str, Any]
SMALL = flow("numa:0", "gpu:0", 4096, executor="gpu:0", parameters={"arrival": 1000, "priority": "normal"})
LARGE = flow("numa:0", "gpu:0", 128 * MIB, executor="gpu:0")
PIECES = {**LARGE, "parameters": {"piece": MIB, "between": "kernel"}, "role": "background"}
COPY = flow("gpu:0", "gpu:1", 64 * MIB)
PRODUCT: Json = {"method": "matrix-product", "executor": "gpu:0", "bytes": 1, "parameters": {"n": 4096, "sms": 112}}


def asked(question: str, rows: list[Row]) -> Answer:
    return ask(f"analyze/{question}", run(found=rows))


def row(name: str, flows: list[Json], samples: list[list[float]], figure: str = "latency") -> Row:
    return ok(case(name, flows, {"show": "list", "figure": figure, "row": "", "column": "gpu:0"}), samples)


def queue(samples: int) -> list[Row]:
    waits = [10e-6 + 1e-6 * number for number in range(samples)]
    return [
        row("small", [SMALL], [steady(4e-6)]),
        row("large", [LARGE], [steady(2e-3)], "first"),
        row("behind", [SMALL, PIECES], [waits, steady(2.5e-3, samples)]),
    ]


def test_a_small_copy_waits_behind_a_large_one_that_loses_rate() -> None:
    found = asked("queueing", queue(201))
    line = found.tables[0].frame.row(0, named=True)
    assert line["alone_s"] == pytest.approx(4e-6, rel=1e-3)
    assert line["behind_s"] == pytest.approx(110e-6)
    assert (line["p99_s"], line["max_s"]) == (pytest.approx(208e-6), pytest.approx(210e-6))
    assert line["lost"] == pytest.approx(0.2, rel=1e-3)
    assert (line["piece"], line["separator"], line["priority"], line["clear"]) == (MIB, "kernel", "normal", True)
    assert found.headline.code == "analyze.queueing-waits"


def test_a_large_copy_that_was_alone_at_another_size_alone_has_no_loss() -> None:
    small, _, behind = queue(201)
    other = row("large", [{**LARGE, "bytes": 64 * MIB}], [steady(2e-3)], "first")
    assert asked("queueing", [small, other, behind]).tables[0].frame["lost"].to_list() == [None]


def test_few_samples_have_no_99th_percentile() -> None:
    assert asked("queueing", queue(199)).tables[0].frame["p99_s"].to_list() == [None]


def test_two_hundred_samples_have_a_99th_percentile() -> None:
    line = asked("queueing", queue(200)).tables[0].frame.row(0, named=True)
    assert line["samples"] == 200
    assert line["p99_s"] == pytest.approx(207e-6, rel=0.01)


def test_without_the_small_copy_alone_there_is_no_answer() -> None:
    assert asked("queueing", queue(201)[1:]).outcome is Outcome.UNTESTED


def together(copy_s: float, product_s: float) -> list[Row]:
    return [
        row("copy", [COPY], [steady(200e-6)]),
        row("product", [PRODUCT], [steady(200e-6)]),
        row("both", [COPY, {**PRODUCT, "bytes": 64 * MIB, "role": "alongside"}], [steady(copy_s), steady(product_s)]),
    ]


def test_two_that_do_not_disturb_each_other_take_half_of_the_sum() -> None:
    line = asked("overlap", together(200e-6, 200e-6)).tables[0].frame.row(0, named=True)
    assert line["overlap"] == pytest.approx(0.5, rel=1e-3)
    assert (line["slowed"], line["compute_slowed"]) == (pytest.approx(1, rel=1e-3), pytest.approx(1, rel=1e-3))
    assert (line["compute"], line["sms"], line["clear"]) == ("matrix-product", 112, True)


@pytest.mark.parametrize("beside", [False, True])
def test_a_copy_that_was_alone_at_another_size_alone_has_no_overlap(beside: bool) -> None:
    other = flow("gpu:1", "gpu:0", 64 * MIB, role="alongside") if beside else {**PRODUCT, "role": "alongside"}
    alone = flow("gpu:1", "gpu:0", 16 * MIB) if beside else PRODUCT
    rows = [
        row("copy", [COPY if beside else {**COPY, "bytes": 16 * MIB}], [steady(200e-6)]),
        row("other", [alone], [steady(50e-6)]),
        row("both", [COPY, other], [steady(200e-6), steady(200e-6)]),
    ]
    assert asked("overlap", rows).outcome is Outcome.UNTESTED


def test_the_one_that_ends_last_decides() -> None:
    found = asked("overlap", together(300e-6, 400e-6))
    line = found.tables[0].frame.row(0, named=True)
    assert line["overlap"] == pytest.approx(1, rel=1e-3)
    assert (line["slowed"], line["compute_slowed"]) == (pytest.approx(1.5, rel=1e-3), pytest.approx(2, rel=1e-3))
    assert line["clear"] is False
    assert found.headline.code == "analyze.overlap-found"


def test_of_computation_on_several_gpus_the_slowest_counts() -> None:
    other = {**PRODUCT, "executor": "gpu:1"}
    beside = [{**one, "bytes": 64 * MIB, "role": "alongside"} for one in (PRODUCT, other)]
    rows = [
        row("copy", [COPY], [steady(200e-6)]),
        row("product", [PRODUCT], [steady(200e-6)]),
        row("product", [other], [steady(100e-6)]),
        row("both", [COPY, *beside], [steady(200e-6), steady(220e-6), steady(300e-6)]),
    ]
    line = asked("overlap", rows).tables[0].frame.row(0, named=True)
    assert line["overlap"] == pytest.approx(300 / 400, rel=1e-3)
    assert (line["compute_slowed"], line["compute_alone_s"]) == pytest.approx((3, 200e-6), rel=1e-3)


def test_what_was_measured_alongside_has_no_figure_of_its_own() -> None:
    results = run(found=together(200e-6, 200e-6))
    frame = Run.of(results).results
    assert frame["method"].to_list() == ["copy-engine", "matrix-product", "copy-engine"]
    assert (frame["flows"].to_list(), frame["background"].to_list()) == ([1, 1, 1], [0, 0, 1])
