"""The page of all commands and options, of the declarations that help texts and the manual page are made of."""

from __future__ import annotations

from typing import Any

import typer
from tools.site.markdown import block, cell, escaped, table

from linkscope.cli.main import app
from linkscope.cli.man_page import declared_commands, metavar

_INTRODUCTION = "Every command and option. `linkscope COMMAND -h` and `linkscope man` say the same."


def page() -> str:
    """A section for each command: its usage, what it does, its arguments and options."""
    context: Any = typer.main.get_command(app).make_context("linkscope", ["list"], resilient_parsing=True)
    lines = ["# Commands", "", _INTRODUCTION, "", escaped(context.command.epilog), ""]
    for path, command in declared_commands(context):
        usage = [metavar(one) for one in command.params if one.param_type_name == "argument"]
        lines += [f"## {' '.join(path)}", "", *block(" ".join(("linkscope", *path, *usage, "[OPTION]...")))]
        lines += [*(escaped(line) for line in (command.help or "").splitlines()), ""]
        lines += table(("argument, option", "meaning"), [_row(one) for one in command.params if one.help])
    return "\n".join(lines)


def _row(parameter: Any) -> tuple[str, str]:
    names = (metavar(parameter),) if parameter.param_type_name == "argument" else parameter.opts
    spelled = ", ".join(f"`{name}`" for name in (*names, *parameter.secondary_opts))
    return spelled.replace("|", "\\|"), cell(parameter.help)
