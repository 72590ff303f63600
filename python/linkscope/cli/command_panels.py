"""Command panels: how `linkscope -h` groups the commands, each in its first sentence, so that all fit one screen."""

from __future__ import annotations

import inspect
import re

import typer

PANELS = {
    "Measure": ("run", "check", "calibrate", "reproduce"),
    "Read a run": ("show", "explain", "choose", "analyze", "compare", "report", "export"),
    "What there is": ("list", "topology", "doctor", "help"),
    "Applications, other tools, your shell": ("app", "import", "completion", "man"),
}
"""Names of commands by the heading that they stand under."""


def arrange(application: typer.Typer) -> None:
    """Put every command of ``application`` into its panel, in the order of ``PANELS``."""
    headings = {name: heading for heading, names in PANELS.items() for name in names}
    order = {name: place for place, name in enumerate(headings)}
    application.registered_commands.sort(key=lambda command: order.get(_name(command), len(order)))
    for command in application.registered_commands:
        command.rich_help_panel = headings.get(_name(command))
        command.short_help = _first_sentence(inspect.getdoc(command.callback) or "")
    for group in application.registered_groups:
        group.rich_help_panel = headings.get(str(group.name))
        group.short_help = _first_sentence(str(group.typer_instance.info.help if group.typer_instance else ""))


def _name(command: typer.models.CommandInfo) -> str:
    return str(command.name or getattr(command.callback, "__name__", "")).rstrip("_")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?]) ", " ".join(text.split()), maxsplit=1)[0]
