"""Streams of rows: what they give is what the whole file gives, for real runs and damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from polars import DataFrame

from linkscope.analysis.figures import figures
from linkscope.analysis.figures_in_parts import figures_in_parts
from linkscope.errors import LinkscopeError
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import RunStream, open_run, stream_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = [*sorted((FIXTURES / "runs").glob("*.jsonl")), FIXTURES / "turns" / "h200x2-1.jsonl"]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_figures_of_a_stream_are_those_of_the_file(path: Path) -> None:
    stream = stream_of(path)
    assert stream is not None
    assert figures(stream).equals(figures(RunFile.read(path)))


def test_large_files_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_run(RUNS[-1]), RunFile)
    monkeypatch.setattr("linkscope.results.run_stream.LARGE", 0)
    assert isinstance(open_run(RUNS[-1]), RunStream)


def test_a_run_that_was_cut_short_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(RUNS[-1].read_bytes()[:-50])
    assert stream_of(path) is None


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    lines = RUNS[-1].read_bytes().split(b"\n")
    lines[5] = lines[5].replace(b'"repeats":', b'"repeats":-')
    path.write_bytes(b"\n".join(lines))
    stream = stream_of(path)
    assert stream is not None
    with pytest.raises(LinkscopeError, match=r"line 6: flows\[0\].repeats"):
        list(stream.rows)


def test_parts_are_the_whole_and_import_nothing_from_where_they_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: list[RunFile | RunStream] = []

    def counted(run: RunFile | RunStream) -> DataFrame:
        own.append(run)
        return figures(run)

    monkeypatch.setattr("linkscope.analysis.figures_in_parts.LEAST_CASES", 10)
    monkeypatch.setattr("linkscope.analysis.figures_in_parts.figures", counted)
    (tmp_path / "polars.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    stream = stream_of(RUNS[-1])
    assert stream is not None
    assert figures_in_parts(stream, 2).equals(figures(stream))
    assert len(own) == 1


def test_a_damaged_row_is_named_in_whatever_part_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.analysis.figures_in_parts.LEAST_CASES", 10)
    path = tmp_path / "damaged.jsonl"
    lines = RUNS[-1].read_bytes().split(b"\n")
    last = max(number for number, line in enumerate(lines) if b'"repeats":' in line)
    lines[last] = lines[last].replace(b'"repeats":', b'"repeats":-')
    path.write_bytes(b"\n".join(lines))
    stream = stream_of(path)
    assert stream is not None
    with pytest.raises(LinkscopeError, match=rf"line {last + 1}: flows\[0\].repeats"):
        figures_in_parts(stream, 2)
