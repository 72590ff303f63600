"""A whole run on a disk that fills up: what was measured stays, and the run is completed once there is room."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from linkscope.answers.check import limits_of
from linkscope.cli.main import main
from linkscope.figures.run import Run
from linkscope.results.run_file import RunFile

TURNS = sorted(str(path) for path in (Path(__file__).parents[1] / "fixtures" / "turns").glob("h200x2-*.jsonl"))
SMALL = 200_000
"""Bytes a file may have: enough for a plan of the cases below, not for their rows."""
ASKED = ("run", "sweep", "--machine", "h200x4", "--methods", "copy-engine", "--sizes", "1K:1M:4x")


def linkscope(folder: Path, *arguments: str, largest_file: int = resource.RLIM_INFINITY) -> tuple[int, str]:
    """Exit code and last line on standard error of a process of its own."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))

    command = [sys.executable, "-m", "linkscope", *arguments]
    uncut_modules = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        command, cwd=folder, env=uncut_modules, preexec_fn=limit, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stderr.strip().splitlines()[-1]


def test_a_run_that_fills_the_disk_ends_in_one_line_and_is_completed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, complaint = linkscope(tmp_path, *ASKED, "-o", "a.jsonl", largest_file=SMALL)
    assert code == 2
    assert complaint.startswith("linkscope: cannot write a.jsonl: ")
    assert "--resume" in complaint
    cut = RunFile.read(tmp_path / "a.jsonl")
    assert cut.findings == ()
    assert 0 < len(cut.rows) < len(cut.plan_ids)

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["run", "--resume", "-o", "a.jsonl"])
    assert not left.value.code
    whole = RunFile.read(tmp_path / "a.jsonl")
    assert [row.id for row in whole.rows] == list(whole.plan_ids)
    assert [row.raw for row in whole.rows[: len(cut.rows)]] == [row.raw for row in cut.rows]


@pytest.mark.parametrize(
    "asked",
    [
        ("report", "a.jsonl"),
        ("export", "a.jsonl"),
        ("choose", "a.jsonl", "--export", "json"),
        ("topology", "--machine", "h200x4", "--svg"),
    ],
)
def test_a_page_that_cannot_be_written_whole_stays_as_it_was(
    tmp_path: Path, asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(TURNS[0], tmp_path / "a.jsonl")
    page = tmp_path / "page.csv"
    page.write_text("old")
    command = (*asked, page.name) if "--svg" in asked else (*asked, "-o", page.name)
    code, complaint = linkscope(tmp_path, *command, largest_file=1000)
    assert (code, page.name in complaint) == (2, True)
    assert page.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "page.csv"]
    page.chmod(0o640)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(command)
    assert not left.value.code
    assert (page.read_text() != "old", page.stat().st_mode & 0o777) == (True, 0o640)


def test_limits_and_what_check_writes_are_whole_or_not_there(tmp_path: Path) -> None:
    making = ("check", "--make-limits", "limits.yaml", *TURNS)
    code, complaint = linkscope(tmp_path, *making, largest_file=1000)
    assert (code, "cannot write limits.yaml" in complaint) == (2, True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "limits.yaml").write_text(limits_of([Run.of(path) for path in TURNS], "2026-01-01").text())
    for form, name in (("junit", "old.xml"), ("prometheus", "old.prom")):
        (tmp_path / name).write_text("old")
        asked = ("check", TURNS[0], "--limits", "limits.yaml", "--write", f"{form}={name}")
        code, complaint = linkscope(tmp_path, *asked, largest_file=1000)
        assert (code, f"cannot write {name}" in complaint) == (2, True)
        assert (tmp_path / name).read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 3
