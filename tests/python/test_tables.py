"""Tables of tests: every result stands in one, with the layout of its test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars
import pytest
import recorded

from linkscope.answers.tables import tables
from linkscope.figures.run import Run
from linkscope.render import cells


@pytest.mark.parametrize("path", [recorded.HEALTHY, recorded.CPU, recorded.DIRECT], ids=lambda path: path.stem)
def test_every_result_stands_in_one_table(path: Path) -> None:
    results = Run.of(path).results
    found = list(tables(results))
    ids = Counter(name for table in found for name in table.frame["id"])
    assert ids == Counter(results["id"])
    assert {table.layout for table in found} == set(results["layout"])


def test_a_matrix_names_both_devices_in_one_order() -> None:
    found = next(tables(Run.of(recorded.HEALTHY).results))
    rows, columns, lines = cells.matrix_lines(found)
    assert rows == columns == [f"gpu:{number}" for number in range(4)]
    value = Run.of(recorded.HEALTHY).results.filter(polars.col("place") == "gpu:0|gpu:1")["value"][0]
    assert lines["gpu:0", "gpu:1"]["value"] == value


def test_tests_with_one_title_share_a_curve_unless_their_lines_would_fall_together() -> None:
    tests = (
        Run.of(recorded.HEALTHY).results.filter(layout="curve").group_by("row", "title", "figure", maintain_order=True)
    )
    first = next(test for _, test in tests if not test.select("series", "x").is_duplicated().any())
    other = first.with_columns(row=polars.lit("other"), series=polars.col("series") + " again")
    (shared,) = tables(polars.concat([first, other]))
    assert set(shared.frame["series"]) == {*first["series"], *other["series"]}
    assert len(list(tables(polars.concat([first, first.with_columns(row=polars.lit("other"))])))) == 2
