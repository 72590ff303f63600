"""The command explain: is a node as fast as it should be, and if not, why?"""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, out


@app.command()
def explain(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every problem, result and source.")] = False,
    as_json: AsJson = False,
) -> int:
    """Is this node as fast as it should be, and if not, why? Exit code 0: yes, 1: no, 3: no verdict."""
    from linkscope.cli.answering import answer

    return answer("explain", run_file, out=out(), form="json" if as_json else "text", full=full)
