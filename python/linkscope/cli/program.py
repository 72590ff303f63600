"""The program: all commands. What they do is done elsewhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from linkscope.cli import (
    ab_command,
    analyze_command,
    calibrate_command,
    check_command,
    choose_command,
    compare_command,
    explain_command,
    export_command,
    help_command,
    import_command,
    measure_commands,
    node_commands,
    report_command,
    reproduce_command,
    rerun_command,
    shell_commands,
    show_command,
    topology_command,
    workload_commands,
)
from linkscope.cli.app import app
from linkscope.cli.command_panels import arrange
from linkscope.cli.completing import VARIABLE
from linkscope.cli.other_options import instead, of_extra
from linkscope.errors import LinkscopeError
from linkscope.version import __version__

__all__ = ["app", "run"]

COMMANDS = (
    *(
        measure_commands,
        check_command,
        calibrate_command,
        node_commands,
        topology_command,
        choose_command,
        compare_command,
        report_command,
        reproduce_command,
        rerun_command,
        ab_command,
    ),
    *(analyze_command, show_command, explain_command, export_command, import_command, help_command),
    *(workload_commands, shell_commands),
)
"""Modules whose import adds commands to the application."""
arrange(app)


@app.callback(invoke_without_command=True)
def version(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show_version:
        typer.echo(f"linkscope {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str] | None) -> int:
    """Carry out a command and return its exit code. Raises what the command does, and LinkscopeError for bad usage."""
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        code = app(arguments, prog_name="linkscope", standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        complaint = _complaint(error)
        if not complaint:  # only the help was asked for, and is printed
            return 0
        raise LinkscopeError(complaint) from error
    return code if isinstance(code, int) else 0


def _complaint(error: Exception) -> str:
    """Return what is wrong with the words of a command line, and what to type instead."""
    complaint: str = getattr(error, "format_message")().replace("Value error, ", "").rstrip(".")  # noqa: B009
    if not complaint:
        return ""
    context = getattr(error, "ctx", None)
    option = str(getattr(error, "option_name", ""))
    if hint := instead(option):
        return f"there is no option {option}; {hint}"
    if hint := of_extra(complaint, getattr(context, "command", None)):
        return hint
    return f"{complaint}; see `{getattr(context, 'command_path', 'linkscope')} -h`"
