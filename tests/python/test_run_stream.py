"""Streams of rows: what they give is what the whole file gives, for real runs and damaged ones."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest
from polars.testing import assert_frame_equal

from linkscope.analysis.figures import figures
from linkscope.analysis.figures_in_parts import figures_in_parts
from linkscope.analysis.folded_figures import folded_figures
from linkscope.analysis.line_figures import LineFigures, line_figures
from linkscope.errors import LinkscopeError
from linkscope.results.figure_class import FigureClass
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import RunStream, open_run, stream_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
CLASSES = [one.key for one in FigureClass]
RUNS = [*sorted((FIXTURES / "runs").glob("*.jsonl")), FIXTURES / "turns" / "h200x2-1.jsonl"]


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_figures_of_a_stream_are_those_of_the_file(path: Path) -> None:
    stream = stream_of(path)
    half = stream.size // 2
    parts = [line_figures(stream, 0, half), line_figures(stream, half, stream.size)]
    _assert_same(folded_figures(stream, parts), RunFile.read(path))


@pytest.mark.parametrize("status", ["failed", "skipped"])
@pytest.mark.parametrize("replicates", [1, 2])
def test_replicates_that_failed_count_in_a_stream_as_in_the_file(status: str, replicates: int, tmp_path: Path) -> None:
    path = tmp_path / "failed.jsonl"
    records = [json.loads(line) for line in RUNS[-1].read_text().splitlines()]
    of_one = [one for one in records if one.get("id") == records[1]["id"]]
    for one in of_one[:replicates]:
        one.pop("flows")
        one.pop("aggregate", None)
        one |= {"status": status, "reason": "planted"}
    records[0]["noise"] = {"between_runs": {"classes": dict.fromkeys(CLASSES, 0.02), "cases": {}}}
    records += [records[2], records[2] | {"replicate": 7}]  # the first takes the place of an earlier one
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    _assert_same(figures_in_parts(stream_of(path)).frame, RunFile.read(path))


def test_a_case_that_was_left_out_is_so_in_a_stream_as_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "left-out.jsonl"
    records = [json.loads(line) for line in RUNS[-1].read_text().splitlines()]
    case = records[1]["id"]
    for one in (one for one in records if one.get("id") == case):
        one.pop("flows")
        one.pop("aggregate", None)
        one |= {"status": "skipped", "reason": "planted", "left_out": True}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    frame = figures_in_parts(stream_of(path)).frame
    _assert_same(frame, RunFile.read(path))
    assert set(frame.filter("left_out")["id"]) == {case}


def test_two_speeds_of_a_flow_and_of_several_reach_the_intervals_of_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "modes.jsonl"
    records = [json.loads(line) for line in RUNS[-1].read_text().splitlines()]
    for one in records:
        for flow in one.get("flows", ()):
            own = flow["seconds"]["median"]
            flow["samples_s"] = [own, 2 * own] * 8
            flow["seconds"] |= {"max": 2 * own, "p95": 2 * own, "n": 16}
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    whole = RunFile.read(path)
    figures_ = figures_in_parts(stream_of(path)).frame
    _assert_same(figures_, whole)
    assert any("two modes" in note for row in whole.rows for note in row.notes)
    assert set(figures_["figure"].cast(polars.String)) >= {"first", "sum"}


def test_notes_of_replicates_are_told_once_in_a_stream_as_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    records = [json.loads(line) for line in RUNS[-1].read_text().splitlines()]
    for one in records:
        for flow in one.get("flows", ()):
            flow["notes"] = ["noted", f"only of {one['replicate']}", "few samples: the interval is their range"]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    whole = RunFile.read(path)
    _assert_same(figures_in_parts(stream_of(path)).frame, whole)
    assert "noted; only of 0; only of 1; only of 2" in figures(whole)["notes"].cast(polars.String).to_list()


def _assert_same(found: polars.DataFrame, whole: RunFile) -> None:
    """To the last digits: sums come in another order."""
    assert_frame_equal(found.drop("at"), figures(whole), rel_tol=1e-9, abs_tol=0, categorical_as_str=True)


def test_large_files_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_run(RUNS[-1]), RunFile)
    monkeypatch.setattr("linkscope.results.run_stream.LARGE", 0)
    assert isinstance(open_run(RUNS[-1]), RunStream)


def test_a_run_that_was_cut_short_is_read_to_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    whole = RUNS[-1].read_bytes()
    path.write_bytes(whole[: whole.rindex(b'{"record":"row"') + 50])
    stream, read = stream_of(path), RunFile.read(path)
    assert stream.notices == read.notices != ()
    _assert_same(figures_in_parts(stream).frame, read)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("which", [0, -1])
def test_a_damaged_row_is_named_in_whatever_part_it_is(
    count: int, which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscope.analysis.figures_in_parts.LEAST_BYTES", 1)
    path = tmp_path / "damaged.jsonl"
    lines = RUNS[-1].read_bytes().split(b"\n")
    number = [number for number, line in enumerate(lines) if b'"repeats":' in line][which]
    lines[number] = lines[number].replace(b'"operations":', b'"operations":-')
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(LinkscopeError, match=rf"line {number + 1}: flows\[0\].operations"):
        figures_in_parts(stream_of(path), count)


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"record":"odd"}', b'{"record":"row"}', b"\xff"])
def test_lines_that_are_no_records_are_refused_as_the_file_refuses_them(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    lines = RUNS[-1].read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:3], line, *lines[3:]]))
    with pytest.raises(LinkscopeError) as of_file:
        RunFile.read(path)
    with pytest.raises(LinkscopeError) as of_stream:
        figures_in_parts(stream_of(path))
    assert str(of_stream.value) == str(of_file.value)


def test_rows_are_found_by_their_places() -> None:
    stream, whole = stream_of(RUNS[-1]), RunFile.read(RUNS[-1])
    places = figures_in_parts(stream).frame.unique("id", maintain_order=True)["at"].to_list()
    assert list(stream.rows_at(places)) == list(whole.rows)


def test_parts_import_nothing_from_where_they_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own: list[tuple[int, int]] = []

    def counted(stream: RunStream, start: int, stop: int) -> LineFigures:
        own.append((start, stop))
        return line_figures(stream, start, stop)

    monkeypatch.setattr("linkscope.analysis.figures_in_parts.LEAST_BYTES", 1)
    monkeypatch.setattr("linkscope.analysis.figures_in_parts.line_figures", counted)
    (tmp_path / "polars.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    _assert_same(figures_in_parts(stream_of(RUNS[-1]), 2).frame, RunFile.read(RUNS[-1]))
    assert len(own) == 1
