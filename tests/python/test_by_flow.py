"""Cases in which every measured flow has a figure of its own."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import pytest

from linkscope.analysis.by_flow import by_flow
from linkscope.analysis.figures import figures
from linkscope.analysis.headline import headline
from linkscope.analysis.overview import overview
from linkscope.cli.row_tally import figures as tally_figures
from linkscope.cli.row_tally import span
from linkscope.results.row import Row


def _flow(source: str, role: str = "measured") -> dict[str, Any]:
    ends = {"source": {"device": source, "memory": "device"}, "destination": {"device": "numa:0", "memory": "pinned"}}
    return {"method": "copy-engine", "executor": source, "bytes": 1_000_000, "role": role, **ends}


def _result(gbps: float) -> dict[str, Any]:
    names = ("median", "low", "high", "mean", "min", "p5", "p95", "p99", "max")
    stats = {"n": 8, **dict.fromkeys(names, gbps)}
    seconds = {"n": 8, **dict.fromkeys(names, 1e-3 / gbps)}
    return {"repeats": 1, "operations": 1, "seconds": seconds, "gbps": stats}


def _row(status: str = "ok") -> Row:
    cells = [{"row": "numa:0", "column": "gpu:0"}, {"row": "numa:0", "column": "gpu:1"}]
    labels = {"title": "t", "show": "matrix", "row": "", "column": "each of 2 flows", "figure": "first", "cells": cells}
    flows = [_flow("gpu:0"), _flow("gpu:9", "background"), _flow("gpu:1")]
    case = {"id": "s/r/x", "clock": "device", "flows": flows, "labels": labels}
    line: dict[str, Any] = {"id": "s/r/x", "status": status, "modelled": False, "case": case}
    if status == "ok":
        line["flows"] = [_result(37.0), _result(20.0), _result(41.0)]
    else:
        line["reason"] = "no such luck"
    return Row.from_json(line)


def test_each_measured_flow_has_its_place_and_its_own_figure() -> None:
    parts = by_flow(_row())
    assert [(part.labels["row"], part.labels["column"]) for part in parts] == [("numa:0", "gpu:0"), ("numa:0", "gpu:1")]
    figures = [headline(part) for part in parts]
    assert [figure.value.median for figure in figures if figure] == [37.0, 41.0]
    assert all(len(part.case["flows"]) == 3 for part in parts)
    assert parts[1].case["flows"][0]["executor"] == "gpu:1"


def test_a_failed_case_fails_in_each_of_its_places() -> None:
    assert [(part.status, part.reason) for part in by_flow(_row("failed"))] == [("failed", "no such luck")] * 2


def test_a_case_with_one_figure_stays_whole() -> None:
    row = _row()
    row.case["labels"].pop("cells")
    assert by_flow(row) == [row]


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_case_counts_once_however_many_figures_it_would_have(status: str) -> None:
    whole, broken = made.under_load(), made.under_load(3, status, "GPU to host")
    summary = overview([whole, broken], made.node()).summary
    assert (summary.rows, summary.ok, summary.figures) == (2, 1, 4)
    assert [group.count for group in (*summary.skipped, *summary.failed)] == [1]
    assert len(summary.imprecise) <= summary.figures


def test_a_line_of_progress_spans_every_figure_of_a_case() -> None:
    told = span([one.headline for one in tally_figures(made.under_load(3).raw)])
    assert [float(end) for end in told.removesuffix(" GB/s").split("–")] == [
        pytest.approx(40.0, rel=0.01),
        pytest.approx(42.0, rel=0.01),
    ]


def test_the_export_says_under_which_load_a_flow_was_timed() -> None:
    assert set(figures(made.run(4, [made.under_load()]))["load"]) == {"sustained"}
