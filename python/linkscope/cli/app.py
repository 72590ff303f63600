"""The application that all commands belong to, and what they share: arguments, the terminal, JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.segment import Segment
from typer.core import TyperGroup

from linkscope.cli import completing
from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped
from linkscope.near_names import unknown


class Commands(TyperGroup):
    """The commands, with a word for one who mistypes them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that ``args`` begin with. Raises LinkscopeError where there is none of that name."""
        from linkscope.plan.other_tools import meant_instead
        from linkscope.plan.suite import load_suite, suite_names

        if args and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            if args[0] in suite_names():
                raise LinkscopeError(f"{args[0]!r} is a suite: `linkscope run {args[0]}` measures it")
            if args[0].endswith(".jsonl"):
                raise LinkscopeError(f"{args[0]!r} is a run file: `linkscope show {args[0]}` prints it")
            instead = meant_instead(args[0], map(load_suite, suite_names()))
            raise instead or unknown("command", args[0], self.list_commands(ctx), f"{ctx.command_path} -h")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="linkscope",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measure how fast data moves inside a multi-GPU node, and how fast it could.",
    epilog="Start with `linkscope run` or, without a GPU, `linkscope run --machine h200x4`; then `linkscope show RUN`. "
    "Exit codes: 0 done; 1 a case failed or a check found a problem; 2 bad input, or explain and "
    "check cannot tell; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        help="A described node instead of this machine: see `list machines`.",
        autocompletion=completing.machines,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.", show_default=False)]


class PlainNames(Console):
    """A console that escapes the control characters of what it prints: names of files may hold any."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(_harmless(segment) for segment in buffer)


def _harmless(segment: Segment) -> Segment:
    if segment.control or segment.text.isprintable() or segment.text == "\n":
        return segment
    lines = (escaped(line) for line in segment.text.split("\n"))
    return Segment("\n".join(lines), segment.style)


def out() -> Console:
    return PlainNames()


def err() -> Console:
    return PlainNames(stderr=True)


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=1, allow_nan=False))
