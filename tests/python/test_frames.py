"""Frames of figures: loaded from many runs, and written for spreadsheets and data frames."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import polars
import pytest

import linkscope
from linkscope.analysis.figures import SCHEMA, figures
from linkscope.analysis.frames import export
from linkscope.cli.main import main
from linkscope.errors import LinkscopeError
from linkscope.results.member_time import PARTS
from linkscope.results.run_file import RunFile

TURNS = Path(__file__).parents[1] / "fixtures" / "turns"


def test_runs_load_into_one_frame(tmp_path: Path) -> None:
    frame = linkscope.load(str(TURNS / "h200x2-*.jsonl"))
    assert frame.columns == ["run", "node", "host", "started", "command", *SCHEMA]
    assert frame["run"].n_unique() == len(list(TURNS.glob("h200x2-*.jsonl")))
    assert frame["started"][0] == datetime(2026, 11, 23, 9, 21, 40, tzinfo=timezone.utc)
    assert linkscope.load(TURNS).equals(frame)
    for nothing in ((), (tmp_path,)):
        with pytest.raises(LinkscopeError, match="no run files in"):
            linkscope.load(*nothing)
    with pytest.raises(LinkscopeError, match=r"cannot read .*\*\.jsonl: No such file"):
        linkscope.load(tmp_path / "*.jsonl")


@pytest.mark.parametrize(("ending", "read"), [(".csv", polars.read_csv), (".parquet", polars.read_parquet)])
def test_an_export_holds_what_the_frame_does(tmp_path: Path, ending: str, read: type[polars.DataFrame]) -> None:
    run = RunFile.read(TURNS / "h200x2-1.jsonl")
    export([run], tmp_path / f"a{ending}")
    found, own = read(tmp_path / f"a{ending}"), figures(run)
    parts = [f"{part}_s" for part in PARTS] if ending == ".csv" else ["parts_s"]
    of_run = ["run", "node", "host", "started", "command"]
    assert found.columns == [*of_run, *(name for name in SCHEMA if name != "parts_s"), *parts]
    assert found["command"].unique().to_list() == ["linkscope run default"]
    for column in ("gbps", "seconds_high", "bytes", "peak_gbps", "of_peak", "bound_by", "unit", "notes"):
        assert found[column].to_list() == own[column].to_list()


def test_every_column_is_documented(tmp_path: Path) -> None:
    columns = linkscope.load(TURNS / "h200x2-1.jsonl").columns
    table = (Path(__file__).parents[2] / "docs" / "python.md").read_text().partition("## Columns")[2]
    named = [name for line in table.splitlines() if line.startswith("| `") for name in line.split("|")[1].split(",")]
    assert sorted(name.strip(" `") for name in named) == sorted(columns)


def test_an_export_has_a_name_that_says_its_format(tmp_path: Path) -> None:
    with pytest.raises(LinkscopeError, match="choose a name that ends in"):
        export([RunFile.read(TURNS / "h200x2-1.jsonl")], tmp_path / "a.xlsx")


def test_runs_are_exported_into_one_file_and_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(TURNS / f"h200x2-{turn}.jsonl") for turn in (1, 2)]
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["export", *runs, "-o", str(tmp_path / "a.csv")])
    capsys.readouterr()
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["export", *runs, "-o", "-"])
    assert capsys.readouterr().out == (tmp_path / "a.csv").read_text()
    assert polars.read_csv(tmp_path / "a.csv")["run"].unique(maintain_order=True).to_list() == runs
    linkscope.export(linkscope.read(runs[0]), runs[1], output=tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()
    with pytest.raises(LinkscopeError, match="nothing to export"):
        export([], tmp_path / "none.csv")
