"""docs/it-got-slower.md: its screens are what the commands print, each command is one, and the page is short."""

from __future__ import annotations

import re
import shlex

import pytest
from screens import PAGE, renewed, screens
from typer.testing import CliRunner

from linkscope.cli.main import app

TEXT = PAGE.read_text()
TYPED = re.findall(r"^(?:\$ )?linkscope (.+)|`linkscope ([^`]+)`", TEXT, re.MULTILINE)
MOST_WORDS = 900


def test_its_screens_are_up_to_date() -> None:
    assert len(screens(TEXT)) == 4
    assert renewed(TEXT) == TEXT, "run: python tests/python/screens.py"


def test_it_is_short_and_says_when_to_stop() -> None:
    assert len(TEXT.split()) <= MOST_WORDS
    situations = TEXT.split("\n## ")[1:]
    assert len(situations) == 3
    assert all(one.count("**Stop**") == 1 for one in situations)


@pytest.mark.parametrize("words", sorted({one or other for one, other in TYPED}))
def test_each_command_has_the_options_that_it_names(words: str) -> None:
    name, *rest = shlex.split(words)
    shown = CliRunner().invoke(app, [name, "-h"], env={"COLUMNS": "200"}).stdout
    options = [word for word in rest if word.startswith("-")]
    assert "Usage:" in shown
    assert [one for one in options if not re.search(rf"(?<![\w-]){re.escape(one)}(?![\w-])", shown)] == []
