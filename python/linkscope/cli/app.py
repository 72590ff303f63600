"""The application that all commands belong to, and what they share: arguments, the terminal, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from linkscope.cli import completing
from linkscope.cli.command_panels import PANELS
from linkscope.errors import LinkscopeError
from linkscope.messages.near_names import unknown

if TYPE_CHECKING:
    from rich.console import Console


class Commands(TyperGroup):
    """The commands, by panel in the help, with a word for one who mistypes them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each panel's commands with their short help."""
        left = {name: str(getattr(self.get_command(ctx, name), "short_help", "")) for name in self.list_commands(ctx)}
        for heading, names in (*PANELS.items(), ("Commands", tuple(left))):
            if rows := [(name, left.pop(name)) for name in names if name in left]:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that ``args`` begin with. Raises LinkscopeError where there is none of that name."""
        if args and not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            from linkscope.plan.other_tools import meant_instead
            from linkscope.plan.suites import load_suite, suite_names

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
    epilog="Start with `linkscope run`, or without a GPU `linkscope run --machine h200x4`. "
    "Exit codes: 0 yes; 1 no (slow, worse, a limit broken, a case failed); 2 bad input; 3 no verdict; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes take 0.1 s and a third of the lines
)

Machine = Annotated[
    str | None,
    typer.Option(
        "--machine",
        help="A machine model in place of this machine (`list machines`).",
        autocompletion=completing.machines,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.", show_default=False)]


def out() -> Console:
    from linkscope.cli.console import PlainNames

    return PlainNames()


def err() -> Console:
    from linkscope.cli.console import PlainNames

    return PlainNames(stderr=True)


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=1, allow_nan=False))
