"""Command panels: how `linkscope -h` groups the commands, each in its first sentence, so that all fit one screen."""

from __future__ import annotations

import inspect
import re

import typer

PANELS = {
    "Measure": ("run", "check", "ab", "calibrate", "rerun", "reproduce"),
    "Read a run": ("show", "explain", "choose", "analyze", "compare", "report", "export"),
    "What there is": ("list", "topology", "doctor", "help"),
    "Applications, other tools, your shell": ("app", "import", "completion", "man"),
}
"""Names of commands by the heading that they stand under."""


def arrange(application: typer.Typer) -> None:
    """Put the commands of ``application`` in the order of ``PANELS``, with their first sentence as short help."""
    order = {name: place for place, name in enumerate(name for names in PANELS.values() for name in names)}
    application.registered_commands.sort(key=lambda command: order.get(_name(command), len(order)))
    for command in application.registered_commands:
        command.short_help = _first_sentence(inspect.getdoc(command.callback) or "")
    for group in application.registered_groups:
        if group.typer_instance is not None:
            group.short_help = _first_sentence(str(group.typer_instance.info.help))
            arrange(group.typer_instance)


def _name(command: typer.models.CommandInfo) -> str:
    return str(command.name or getattr(command.callback, "__name__", "")).rstrip("_")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.?]) ", " ".join(text.split()), maxsplit=1)[0]
