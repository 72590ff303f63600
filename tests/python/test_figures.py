"""Figures: the frame of a run holds what its tables hold."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from linkscope.analysis.figures import figures
from linkscope.analysis.overview import overview
from linkscope.results.run_file import RunFile

RUNS = sorted((Path(__file__).parents[1] / "fixtures" / "runs").glob("*.jsonl"))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_lines_are_the_cells_of_all_tables(path: Path) -> None:
    run = RunFile.read(path)
    frame = figures(run)
    cells = [cell for table in overview(run.rows, run.node).tables for cell in table.flat]
    assert frame.select(polars.struct("id", "place", "figure").n_unique()).item() == len(frame) == len(cells)
    rates = {cell.key: cell for cell in cells if cell.headline is not None and cell.headline.higher_is_better}
    times = {cell.key: cell for cell in cells if cell.headline is not None and not cell.headline.higher_is_better}
    assert rates or times
    for line in frame.iter_rows(named=True):
        key = (line["id"], *line["place"].split("|"), line["figure"])
        if key in rates:
            value, cell = rates[key].headline.value, rates[key]  # type: ignore[union-attr]
            assert (line["gbps"], line["gbps_low"], line["gbps_high"]) == (value.median, value.low, value.high)
            assert line["of_peak"] == pytest.approx(cell.share) if cell.share is not None else line["of_peak"] is None
        else:
            assert line["seconds"] == pytest.approx(times[key].headline.seconds)  # type: ignore[union-attr]
            moved = line["seconds"] * (line["gbps"] or 0) * 1e9
            assert line["gbps"] is None or moved == pytest.approx(line["bytes"], rel=0.1)
        assert line["bytes"] == (rates.get(key) or times[key]).bytes
