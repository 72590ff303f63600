"""The manual page, linkscope.1, made of the same declarations as the help texts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from linkscope.version import __version__


def man_page(context: Any) -> str:
    """The page in the macros of man(7), of the application that ``context`` is the top context of."""
    about = context.command
    commands = list(declared_commands(context))
    lines = [
        f'.TH LINKSCOPE 1 "" "linkscope {__version__}" "User Commands"',
        ".SH NAME",
        f"linkscope \\- {_escaped(about.help)}",
        ".SH SYNOPSIS",
        "\\fBlinkscope\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...",
        ".SH COMMANDS",
    ]
    for path, command in commands:
        usage = [metavar(one) for one in command.params if one.param_type_name == "argument"]
        lines += [f".SS {_escaped(' '.join((*path, *usage)))}", _escaped(command.help)]
        for parameter in command.params:
            lines += _parameter(parameter)
    return "\n".join([*lines, ".SH EXIT STATUS", _escaped(about.epilog), ""])


def declared_commands(context: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, below ``path``: its words and itself."""
    for name in context.command.list_commands(context):
        command = context.command.get_command(context, name)
        if hasattr(command, "list_commands"):
            inside = type(context)(command, info_name=name, parent=context)
            yield from declared_commands(inside, (*path, name))
        else:
            yield (*path, name), command


def _parameter(parameter: Any) -> list[str]:
    names = ", ".join((*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = metavar(parameter)
    text = _escaped(getattr(parameter, "help", None))
    return [".TP", f"\\fB{_escaped(names)}\\fR", text] if text else []


def metavar(argument: Any) -> str:
    """Return how an argument stands in a line of usage: in brackets where it may be left out."""
    name = str(argument.metavar or argument.name.upper())
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _escaped(text: str | None) -> str:
    """One paragraph in which nothing is taken for a macro."""
    plain = " ".join(textwrap.dedent(text or "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
