"""Export: the results of runs loaded into one frame, written as CSV and Parquet."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import polars
import pytest
from recorded import DIRECT, PAIR, PAIR_AGAIN

import linkscope
from linkscope.cli.main import main
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import SCHEMA
from linkscope.results.member_time import PARTS

TURNS = PAIR.parent
OF_RUN = ["run", "node", "host", "started", "command"]


def test_runs_load_into_one_frame(tmp_path: Path) -> None:
    frame = linkscope.load(str(TURNS / "h200x2-*.jsonl"))
    assert frame.columns == [*OF_RUN, *SCHEMA]
    assert frame["run"].unique(maintain_order=True).to_list() == [str(PAIR), str(PAIR_AGAIN)]
    assert frame["started"][0] == datetime(2026, 11, 23, 9, 21, 40, tzinfo=timezone.utc)
    assert linkscope.load(TURNS).equals(frame)
    for nothing in ((), (tmp_path,)):
        with pytest.raises(LinkscopeError) as refused:
            linkscope.load(*nothing)
        assert refused.value.code == "export.no-runs"
    with pytest.raises(LinkscopeError) as refused:
        linkscope.load(tmp_path / "*.jsonl")
    assert refused.value.code == "run-file.not-found"


@pytest.mark.parametrize(("ending", "read"), [(".csv", polars.read_csv), (".parquet", polars.read_parquet)])
def test_an_export_holds_what_the_frame_does(tmp_path: Path, ending: str, read: type[polars.DataFrame]) -> None:
    linkscope.export(PAIR, DIRECT, output=tmp_path / f"a{ending}")
    found, own = read(tmp_path / f"a{ending}"), polars.concat([linkscope.frame(PAIR), linkscope.frame(DIRECT)])
    of_parts = [f"{part}_s" for part in PARTS] if ending == ".csv" else ["parts_s"]
    assert sorted(found.columns) == sorted({*OF_RUN, *SCHEMA, *of_parts} - ({"parts_s"} - set(of_parts)))
    assert found["command"].unique(maintain_order=True).to_list()[0] == "linkscope run default"
    for column in ("value", "seconds_high", "bytes", "peak_gbps", "of_peak", "bound_by", "unit", "likeness", "x"):
        assert found[column].to_list() == own[column].to_list()
    values = own["replicate_values"]
    if ending == ".csv":
        values = values.cast(polars.List(polars.String)).list.join(" ")
    assert found["replicate_values"].to_list() == values.to_list()


def test_every_column_is_documented() -> None:
    table = (Path(__file__).parents[2] / "docs" / "python.md").read_text().partition("## Columns")[2]
    named = [name for line in table.splitlines() if line.startswith("| `") for name in line.split("|")[1].split(",")]
    assert sorted(name.strip(" `") for name in named) == sorted([*OF_RUN, *SCHEMA])


def test_runs_are_exported_into_one_file_and_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output in (str(tmp_path / "a.csv"), "-"):
        capsys.readouterr()
        with pytest.raises(SystemExit, match=r"^0$"):
            main(["export", str(PAIR), str(PAIR_AGAIN), "-o", output])
    assert capsys.readouterr().out == (tmp_path / "a.csv").read_text()
    linkscope.export(linkscope.read(PAIR), str(PAIR_AGAIN), output=tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize(
    ("runs", "output", "code"),
    [((), "a.csv", "nothing"), ((PAIR,), "a.xlsx", "other-ending"), ((PAIR,), "none/a.csv", "")],
)
def test_what_cannot_be_exported_is_refused(tmp_path: Path, runs: tuple[Path, ...], output: str, code: str) -> None:
    with pytest.raises(LinkscopeError) as refused:
        linkscope.export(*runs, output=tmp_path / output)
    assert refused.value.code == (f"export.{code}" if code else "run-file.unwritable")
