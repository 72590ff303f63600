"""What commands print of every recorded run: no line is wider than the terminal, and a case is never called a row."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linkscope.analysis.excerpt import readable
from linkscope.cli.main import app

FIXTURES = Path(__file__).parents[1] / "fixtures"
RUNS = sorted(path for name in ("runs", "applications", "turns") for path in (FIXTURES / name).glob("*.jsonl"))
COMMANDS = (("show",), ("show", "--full"), ("explain",), ("explain", "--full"), ("choose",), ("analyze",))
SHORT = (("show",), ("explain",), ("choose",), ("analyze",))
ROW_OF_A_MATRIX = re.compile(r"row [-<>]+ column|row: (source|destination|executor)|\(row|suite row")
OF_A_MEASUREMENT = re.compile(r"\bmeasured and verified\b|± ?0\.01 %|1 % asked")


@cache
def printed(path: Path, command: tuple[str, ...], width: int) -> str:
    ended = CliRunner().invoke(app, [command[0], str(path), *command[1:]], env={"COLUMNS": str(width)})
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exception
    return ended.stdout


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_lines_fit_and_words_are_right(path: Path) -> None:
    modelled = readable(path).modelled
    for command in COMMANDS:
        for width in (80, 120) if command == ("show", "--full") else (80,):
            text = printed(path, command, width)
            assert text, command
            lines = [line for line in text.splitlines() if str(path) not in line]  # commands are not folded
            assert max(map(len, map(str.rstrip, lines))) <= width, command
            flat = ROW_OF_A_MATRIX.sub("", " ".join(text.split()))
            assert not re.search(r"\brows?\b", flat), command
            assert not (modelled and OF_A_MEASUREMENT.search(flat)), command


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_what_is_not_asked_for_in_full_fits_one_screen(path: Path) -> None:
    for command in SHORT:
        assert len(printed(path, command, 80).splitlines()) <= 40, command
