"""The commands for the shell: completion, man. Both come from the declarations of all others."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import app
from linkscope.messages.near_names import unknown


@app.command()
def completion(
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", autocompletion=completing.shells)],
) -> int:
    """Print the completion script of a shell. Use: eval "$(linkscope completion bash)"."""
    if shell not in completing.shells():
        raise unknown("shell", shell, completing.shells())
    typer.echo(completing.script(shell))
    return 0


@app.command()
def man(context: typer.Context) -> int:
    """Print the manual page. Use: linkscope man > linkscope.1; man ./linkscope.1."""
    from linkscope.cli.man_page import man_page

    typer.echo(man_page(context.parent), nl=False)
    return 0
