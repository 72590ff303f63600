"""Folders that killed linkscopes leave among temporary files: removed by the next run, and nobody else's is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscope.launch.process.scratch import Scratch, sweep_abandoned

KEEPER = """
import sys
from linkscope.launch.process.scratch import Scratch
scratch = Scratch()
(scratch.path / "stderr").write_text("words")
print(scratch.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def keeper() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process and its folder."""
    command = [sys.executable, "-c", KEEPER]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.communicate()


def test_a_folder_goes_with_its_process_in_order(temporary: Path) -> None:
    with Scratch() as scratch:
        (scratch.path / "plan.json").write_text("{}")
        assert scratch.path.parent == temporary
        sweep_abandoned()
        assert (scratch.path / "plan.json").exists()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_process_that_lives_stays(keeper: tuple[subprocess.Popen[str], Path]) -> None:
    sweep_abandoned()
    assert (keeper[1] / "stderr").exists()


def test_the_folder_of_a_killed_process_is_removed(keeper: tuple[subprocess.Popen[str], Path]) -> None:
    process, folder = keeper
    process.kill()
    process.wait()
    assert folder.exists()
    sweep_abandoned()
    assert not folder.exists()


def test_the_folder_of_another_host_or_of_before_a_restart_stays(
    keeper: tuple[subprocess.Popen[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, folder = keeper
    process.kill()
    process.wait()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("linkscope.launch.process.shared_memory.boot", lambda: "another start of a kernel")
        sweep_abandoned()
    assert folder.exists()
    sweep_abandoned()
    assert not folder.exists()


def test_what_nobody_says_to_be_a_linkscope_s_stays(temporary: Path) -> None:
    kept = [temporary / name for name in ("linkscope-mine", "linkscope-notes", "other")]
    for folder in kept:
        folder.mkdir()
    (kept[0] / "results").write_text("dear")
    (temporary / "linkscope-file").write_text("dear")
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / "held").write_text("")
    (temporary / "linkscope-link").symlink_to(temporary / "elsewhere")
    before = sorted(temporary.rglob("*"))
    sweep_abandoned()
    assert sorted(temporary.rglob("*")) == before


def test_a_folder_whose_segments_are_in_use_stays_for_later(
    keeper: tuple[subprocess.Popen[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, folder = keeper
    process.kill()
    process.wait()
    monkeypatch.setattr("linkscope.launch.process.shared_memory.remove_noted", lambda noted: False)
    sweep_abandoned()
    assert folder.exists()
