"""The program: all commands, and how each ends. Whatever they do is done elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from linkscope import __version__
from linkscope.cli import (
    analyze_command,
    calibrate_command,
    choose_command,
    compare_command,
    export_command,
    help_command,
    import_command,
    measure_commands,
    node_commands,
    report_command,
    run_file_commands,
    shell_commands,
    show_command,
    topology_command,
    workload_commands,
)
from linkscope.cli.app import app
from linkscope.cli.command_panels import arrange
from linkscope.cli.completing import VARIABLE
from linkscope.cli.other_options import instead, of_extra
from linkscope.cli.standard_streams import outlive_readers
from linkscope.errors import LinkscopeError

__all__ = ["app", "main"]

COMMANDS = (
    *(
        measure_commands,
        calibrate_command,
        node_commands,
        topology_command,
        run_file_commands,
        choose_command,
        compare_command,
        report_command,
    ),
    *(analyze_command, show_command, export_command, import_command, help_command),
    *(workload_commands, shell_commands),
)
"""Modules whose import adds commands to the application."""
arrange(app)
INTERNAL_ERROR = 70
"""Exit code, as sysexits.h has it: neither an answer nor bad input."""


@app.callback(invoke_without_command=True)
def version(show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show_version:
        typer.echo(f"linkscope {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command and leaves with its exit code. Whatever goes wrong is one line on standard error."""
    outlive_readers()
    if VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    if os.environ.get("LINKSCOPE_DEBUG") == "1":
        sys.exit(app(arguments, prog_name="linkscope", standalone_mode=False))
    try:
        code = app(arguments, prog_name="linkscope", standalone_mode=False)
        sys.stdout.flush()
    except LinkscopeError as error:
        _leave(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _leave("interrupted", 130)
    except OSError as error:
        _close_stdout()
        _leave(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2)
    except MemoryError:
        _leave("this process is out of memory: free some, or read a smaller run", 2)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error of the argument parser
            complaint = error.format_message().replace("Value error, ", "").rstrip(".")
            if not complaint:  # only the help was asked for, and is printed
                sys.exit(0)
            context = getattr(error, "ctx", None)
            hint = instead(str(getattr(error, "option_name", "")))
            hint = hint or of_extra(complaint, getattr(context, "command", None))
            complaint = f"{complaint.partition(' (Possible')[0]}: {hint}" if hint else complaint
            asked = getattr(context, "command_path", "linkscope")
            _leave(f"{complaint}; see `{asked} -h`", 2)
        _leave(
            f"internal error, please report it: {type(error).__name__}: {error} (LINKSCOPE_DEBUG=1 shows where)",
            INTERNAL_ERROR,
        )
    sys.exit(code if isinstance(code, int) else 0)


def _leave(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"linkscope: {' '.join(message.split())}\n")
    sys.exit(code)


def _close_stdout() -> None:
    """So that the interpreter does not try again at exit what has just failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
