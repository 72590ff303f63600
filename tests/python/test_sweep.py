"""A sweep in a line: its best figure, and the sizes that give half of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import modelled_run as made
import pytest

from linkscope.analysis.curves import CurveSet
from linkscope.analysis.headlines import best_by_method
from linkscope.analysis.overview import overview
from linkscope.analysis.rivals import set_apart
from linkscope.analysis.summary import table_summary
from linkscope.report import wording
from linkscope.report.summary_text import best_at, table_lines
from linkscope.report.sweep import sweep
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"

SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)


def rows(rates: Sequence[float], series: str = "gpu:0 > gpu:1") -> list[Row]:
    found = []
    for size, gbps in zip(SIZES, rates, strict=True):
        labels = {"show": "curve", "series": series, "x": size, "x_name": "bytes", "figure": "first"}
        case = made.case("By size", [made.flow("gpu:0", "gpu:1", size)], labels)
        found.append(made.ok(case, [made.steady(size / (gbps * 1e9))]))
    return found


def table(found: list[Row]) -> CurveSet:
    (only,) = overview(found, made.node(2)).tables
    assert isinstance(only, CurveSet)
    return only


def test_half_of_the_best_is_told_from_the_size_that_reaches_it() -> None:
    found = sweep(table(rows((1.0, 100.0, 370.0, 400.0))))
    assert found is not None
    assert found.half == (1 << 20, None)
    assert found.best.bytes == 1 << 24
    assert "400.0 GB/s, 89 % of peak" in found.words
    assert "half of it from 1 MiB" in found.words


def test_a_rate_that_falls_again_is_told_to_where_it_is_half() -> None:
    found = sweep(table(rows((1.0, 300.0, 400.0, 100.0))))
    assert found is not None
    assert found.half == (1 << 16, 1 << 20)


def test_no_half_is_told_where_every_size_reaches_it() -> None:
    found = sweep(table(rows((300.0, 300.0, 390.0, 400.0))))
    assert found is not None
    assert found.half is None


def test_the_best_of_several_series_is_named() -> None:
    found = sweep(table([*rows((1.0, 2.0, 3.0, 4.0), "slow"), *rows((1.0, 9.0, 30.0, 40.0), "quick")]))
    assert found is not None
    assert found.place == "quick at 16 MiB"


def timed(rates: Sequence[float], series: str, **parameters: str) -> list[Row]:
    found = rows(rates, series)
    for row in found:
        row.case["flows"][0]["parameters"] = parameters
    return found


SEND = (1.0, 9.0, 30.0, 40.0)
WINDOW = (5.0, 90.0, 300.0, 400.0)


@pytest.mark.parametrize(
    "parameters", [{"form": "in-kernel"}, {"call": "window"}, {"call": "both-ways"}], ids=lambda one: str(one)
)
def test_what_is_timed_otherwise_is_best_only_where_nothing_else_is(parameters: dict[str, str]) -> None:
    (word,) = parameters.values()
    other = timed(WINDOW, "pair, another", **parameters)
    found, alone = sweep(table([*rows(SEND, "pair, send"), *other])), sweep(table(other))
    assert found is not None
    assert alone is not None
    assert found.place == "send at 16 MiB"
    assert word in alone.words.replace("both ways", "both-ways")


def test_the_best_is_of_the_clock_that_most_are_timed_by() -> None:
    others = [*rows((2.0, 8.0, 30.0, 50.0), "pair, copy"), *rows(SEND, "pair, send")]
    for row in others:
        row.case["clock"] = "host"
    measured = [Row.from_json({**row.raw, "modelled": False}) for row in [*rows(WINDOW, "pair, graph"), *others]]
    found = sweep(table(measured))
    assert found is not None
    assert found.place == "copy at 16 MiB"


def test_a_figure_that_nobody_knows_is_no_best_one_where_another_is_known() -> None:
    known, vague = rows(SEND, "pair, send"), rows(WINDOW, "pair, vague")
    for number, row in enumerate(vague):
        size = SIZES[number]
        time = size / (WINDOW[number] * 1e9)
        samples = [time * factor for factor in (0.1, 0.1, 0.1, 1.0, 1.0, 10.0, 10.0, 10.0)]
        vague[number] = made.ok(row.case, [samples])
    found, alone = sweep(table([*known, *vague])), sweep(table(vague))
    assert found is not None
    assert alone is not None
    assert found.place == "send at 16 MiB"
    assert alone.best.headline is not None
    assert alone.best.headline.unknown


def test_an_unknown_figure_that_is_better_for_all_that_is_the_best() -> None:
    known, vague = rows((1.0, 1.0, 1.0, 1.0), "pair, send"), rows((400.0, 400.0, 400.0, 400.0), "pair, vague")
    for number, row in enumerate(vague):
        time = SIZES[number] / 400e9
        vague[number] = made.ok(row.case, [[time * factor for factor in (0.2, 0.2, 0.2, 1.0, 1.0, 5.0, 5.0, 5.0)]])
    found = sweep(table([*known, *vague]))
    assert found is not None
    assert found.best.headline is not None
    assert found.best.headline.unknown
    assert "vague" in found.best.series


def test_what_show_tells_of_a_table_is_what_its_sweep_tells() -> None:
    for name in ("packets", "default"):
        run = RunFile.read(RUNS / f"h200x4-{name}.jsonl")
        for one in overview(run.rows, run.node).tables:
            line, found = table_summary(one), sweep(one)
            if line is not None and found is not None:
                assert line.best == found.best
                assert set_apart(line.best.regime) == ""


def test_the_best_of_one_message_names_what_other_calls_reach_beyond_it() -> None:
    many = timed((5.0, 90.0, 300.0, 20.0), "pair, mpi", call="window")
    both = timed((0.1, 0.2, 0.3, 0.4), "pair, mpi", call="both-ways")
    line = table_summary(table([*rows(SEND, "pair, send"), *many, *both]))
    assert line is not None
    assert best_at(line).startswith("at 16 MiB")
    assert best_at(line).endswith("; window 300.0 GB/s by mpi"), "those both ways are slower"


def test_a_line_says_what_sets_its_figure_apart() -> None:
    line = table_summary(table(timed(WINDOW, "pair, mpi", call="window")))
    assert line is not None
    assert "window" in best_at(line)
    grid = table_lines([line], 120)
    assert "window" in str(next(iter(grid.columns[-1].cells)))


def test_of_tables_that_differ_by_method_a_window_is_not_the_best() -> None:
    lines = [table_summary(table(timed(WINDOW, "pair, mpi", call="window"))), table_summary(table(rows(SEND)))]
    found = [line for line in lines if line is not None]
    assert [line.best.regime for line in best_by_method(found)] == ["the model's clock"]
    assert [line.best.regime for line in best_by_method(found[:1])] == ["the model's clock, window"]


def test_a_curve_that_is_timed_like_no_other_is_named() -> None:
    both = [*rows((1.0, 2.0, 3.0, 4.0), "pair, slow"), *rows(SEND, "pair, quick")]
    assert wording.no_rivals(table(both)) == []
    third = timed(SEND, "pair, own form", form="in-kernel")
    assert wording.no_rivals(table([*both, *third])) == [wording.NO_RIVALS["in-kernel"]]
    assert wording.no_rivals(table(third)) == []
    other = timed(SEND, "pair, ping", call="ping-pong")
    (line,) = wording.no_rivals(table([*both, *other]))
    assert "ping (the model's clock, ping-pong)" in line


def test_a_matrix_of_one_size_is_no_sweep() -> None:
    (only,) = overview(made.pair_matrix(3, "Pairs", 390.0), made.node(3)).tables
    assert sweep(only) is None
