"""Renderers: tables of every layout fit a terminal, and JSON has all of their rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars
import pytest
import recorded

from linkscope.answers.answer import Answer, Column, Kind, Table
from linkscope.answers.run_head import run_head
from linkscope.answers.tables import tables
from linkscope.figures.run import Run
from linkscope.messages import numbers
from linkscope.messages.finding import note
from linkscope.render import cells, render
from linkscope.render.terminal import cases as cases_of


def _answer(*shown: Table) -> Answer:
    return Answer("show", (run_head(Run.of(recorded.HEALTHY)),), note("run.imported", tool="x"), tables=shown)


def _matrix(count: int) -> Table:
    names = [f"gpu:{number}" for number in range(count)]
    frame = polars.DataFrame(
        [
            {"from": a, "to": b, "value": 396.3, "value_low": 395.9, "value_high": 396.7, "unit": "GB/s"}
            for a in names
            for b in names
        ]
    )
    columns = (Column("from"), Column("to"), Column("value", Kind.VALUE, interval=True))
    return Table("tables.matrix", frame, columns, "matrix", facts={"title": "t", "unit": "GB/s"})


def test_a_wide_matrix_is_split() -> None:
    lines = render(_answer(_matrix(16))).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("gpu:3 ") for line in lines) > 1


def test_a_full_matrix_has_margins() -> None:
    assert "396.3 ±0.1%" in render(_answer(_matrix(2)), full=True)
    assert "±" not in render(_answer(_matrix(2)))


def test_curves_have_a_column_each() -> None:
    curve = next(table for table in tables(Run.of(recorded.HEALTHY).results) if table.layout == "curve")
    names, rows = cells.matrix(curve)
    assert set(names) == set(curve.frame["series"])
    assert len(rows) == curve.frame["x"].n_unique()


def test_a_line_follows_its_group() -> None:
    frame = polars.DataFrame(
        {"what": ["load", "load"], "name": ["own", "peer"], "value": [[1.4e-7], [8.25e-7, 8.32e-7]], "unit": "s"}
    )
    table = Table(
        "tables.list", frame, (Column("what"), Column("name"), Column("value", Kind.VALUE)), "line", facts={"title": ""}
    )
    assert "load  own 140.0 ns, peer 825.0-832.0 ns" in render(_answer(table))


def test_json_has_the_rows_of_all_tables_with_one_key() -> None:
    answer = _answer(_matrix(2), replace(_matrix(2), detail=True))
    assert len(json.loads(render(answer, "json"))["tables"]["tables.matrix"]) == 8


@pytest.mark.parametrize(
    ("counts", "numbers"),
    [({"ok": 266}, ["266"]), ({"ok": 177, "failed": 89}, ["177", "266"]), ({"ok": 0, "failed": 9, "skipped": 3}, [])],
)
def test_a_head_counts_no_failed_case_as_verified(counts: dict[str, int], numbers: list[str]) -> None:
    head = run_head(Run.of(recorded.HEALTHY))
    assert re.findall(r"\d+", cases_of(replace(head, **counts))) == numbers


@pytest.mark.parametrize(("share", "said"), [(0.5, "+50%"), (11.0, "12x"), (99.0, "100x"), (65600.0, ">100x")])
def test_a_change_beyond_a_hundred_is_no_measure(share: float, said: str) -> None:
    assert numbers.change(share) == said
    assert numbers.change_range(share, share) == said
