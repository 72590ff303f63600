"""The command explain: is a node as fast as it should be, and if not, why?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, app, out


@app.command()
def explain(
    run_files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A run file, or what another tool printed (- for standard input); a topology may stand beside it.",
            show_default=False,
        ),
    ],
    full: Annotated[bool, typer.Option("--full", help="Every problem, result and source.")] = False,
    as_json: AsJson = False,
) -> int:
    """Is this node as fast as it should be, and if not, why? Exit code 0: yes, 1: no, 3: no verdict."""
    from linkscope.cli.answering import answer
    from linkscope.importers.opened import opened

    return answer("explain", opened(*run_files), out=out(), form="json" if as_json else "text", full=full)
