"""Answering: what every command does that answers a question of runs: ask, print in a form, exit by the outcome."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console

from linkscope.answers.answer import Answer
from linkscope.answers.questions import ask
from linkscope.cli.paging import paged
from linkscope.render import render, terminal


def answer(question: str, *runs: Any, out: Console, form: str = "text", full: bool = False, **options: Any) -> int:
    """Print the answer to a question and return the exit code. Raises LinkscopeError."""
    return printed(ask(question, *runs, **options), out, form, full)


def printed(found: Answer, out: Console, form: str = "text", full: bool = False) -> int:
    """Print an answer and return its exit code."""
    if form == "text":
        with paged(out) as shown:
            terminal.show(found, shown, full)
    else:
        typer.echo(render(found, form), nl=False)
    return found.exit_code
