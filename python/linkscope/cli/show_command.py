"""The command show: a run on one screen."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, out
from linkscope.cli.run_options import FormatName


@app.command()
def show(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every test, result and interval.")] = False,
    table: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only tests with this word in their title or method.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Only results of this device, such as gpu:0.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="of-peak", help="One list of all results, furthest below peak first.")
    ] = None,
    form: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Print how fast a run was, by movement and method, on one screen. Longer output goes to $PAGER."""
    from linkscope.cli.answering import answer
    from linkscope.messages.catalog import problem

    if form is None:
        asked = {"table": table, "where": where, "sort": sort}
        return answer("show", run_file, out=out(), form="json" if as_json else "text", full=full, **asked)
    if as_json or full or (table, where, sort) != (None, None, None):
        raise problem("show.format-alone")
    from linkscope.codecs.peer.formats import printed
    from linkscope.results.run_file import RunFile

    typer.echo(printed(RunFile.read(run_file), form), nl=False)
    return 0
