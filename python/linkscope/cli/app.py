"""The application that all commands belong to, and what they share: arguments, the terminal, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

app = typer.Typer(
    name="linkscope",
    help="Measure how fast data moves inside a multi-GPU node, and how fast it could.",
    epilog="Exit codes: 0 done; 1 a case failed or a check found a problem; 2 bad input; 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Machine = Annotated[
    str | None, typer.Option("--machine", help="A described node instead of this machine: see `list machines`.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run file.", show_default=False)]


def out() -> Console:
    return Console()


def err() -> Console:
    return Console(stderr=True)


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=1, allow_nan=False))


def print_listing(entries: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(entries)
        return
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        typer.echo(f"{entry['name']:{width}}  {entry['text']}".rstrip())
        for parameter, meaning in entry.get("parameters", {}).items():
            typer.echo(f"{'':{width}}    {parameter}: {meaning}")
