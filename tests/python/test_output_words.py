"""What commands print of every recorded run: no line is wider than the terminal, and first screens have 24 lines."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkscope.cli.main import app

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = sorted(path for name in ("runs", "applications", "turns") for path in (FIXTURES / name).glob("*.jsonl"))
COMMANDS = (("show",), ("show", "--full"), ("explain",), ("explain", "--full"), ("choose",), ("analyze",))
SHORT = (("show",), ("explain",), ("choose",), ("analyze",))


@cache
def printed(name: str, command: tuple[str, ...], width: int) -> str:
    ended = CliRunner().invoke(app, [command[0], name, *command[1:]], env={"COLUMNS": str(width)})
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return ended.stdout


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_lines_fit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for command in COMMANDS:
        for width in (80, 120) if command == ("show", "--full") else (80,):
            text = printed(path.name, command, width)
            assert text, command
            lines = [line for line in text.splitlines() if path.name not in line]  # commands are not folded
            assert max(len(line.rstrip()) for line in lines) <= width, command


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_what_is_not_asked_for_in_full_fits_one_screen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    for command in SHORT:
        assert len(printed(path.name, command, 80).splitlines()) <= 24, command
