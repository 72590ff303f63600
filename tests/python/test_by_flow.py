"""Cases in which every measured flow has a figure of its own."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import pytest

from linkscope.answers.questions import ask
from linkscope.cli.row_result import results_of, span
from linkscope.figures.run import Run
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


def _results(row: Row) -> list[dict[str, Any]]:
    return Run(made.run(found=[row])).results.to_dicts()


def test_each_measured_flow_has_its_place_and_its_own_result() -> None:
    lines = _results(_row())
    assert [(line["place"], line["value"]) for line in lines] == [("numa:0|gpu:0", 37.0), ("numa:0|gpu:1", 41.0)]
    assert [line["executor"] for line in lines] == ["gpu:0", "gpu:1"]


def test_a_failed_case_fails_in_each_of_its_places() -> None:
    assert [(line["status"], line["reason"]) for line in _results(_row("failed"))] == [("failed", "no such luck")] * 2


def test_a_case_with_one_result_stays_whole() -> None:
    row = _row()
    row.case["labels"].pop("cells")
    assert len(_results(row)) == 1


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_case_counts_once_however_many_results_it_would_have(status: str) -> None:
    answer = ask("show", made.run(found=[made.under_load(), made.under_load(3, status, "GPU to host")]))
    assert (answer.run.cases, answer.run.ok, getattr(answer.run, status)) == (2, 1, 1)
    assert answer.table("show.reasons").frame["cases"].to_list() == [1]


def test_a_line_of_progress_spans_every_result_of_a_case() -> None:
    told = span(results_of(made.under_load(3).raw))
    assert [float(end) for end in told.removesuffix(" GB/s").split("-")] == [
        pytest.approx(40.0, rel=0.01),
        pytest.approx(42.0, rel=0.01),
    ]


def test_results_tell_under_which_load_a_flow_was_timed() -> None:
    assert {line["load"] for line in _results(made.under_load())} == {"sustained"}
