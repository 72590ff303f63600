"""The help that a newcomer sees first: every command stands under one heading, in one sentence."""

from __future__ import annotations

import typer.main
from typer.testing import CliRunner

from linkscope.cli.command_panels import PANELS
from linkscope.cli.main import app

WIDTH = 80


def test_every_command_stands_under_one_heading() -> None:
    named = [name for names in PANELS.values() for name in names]
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert sorted(named) == sorted(commands)
    assert all(command.short_help for command in commands.values())


def test_help_has_the_headings_and_fits_its_width() -> None:
    ended = CliRunner().invoke(app, ["-h"], env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH)})
    assert ended.exit_code == 0
    assert all(heading in ended.output for heading in PANELS)
    assert max(map(len, ended.output.splitlines())) <= WIDTH
