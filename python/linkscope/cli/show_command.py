"""The command show: a run on one screen."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, err, out, print_json
from linkscope.cli.run_options import FormatName
from linkscope.errors import LinkscopeError


@app.command()
def show(
    run_file: RunPath,
    full: Annotated[bool, typer.Option("--full", help="Every table, figure and interval.")] = False,
    table: Annotated[
        str | None, typer.Option(metavar="WORD", help="Only tables with this word in their title or method.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="Only cases that involve it, such as gpu:0.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="of-peak", help="Figures in one list, the furthest below its peak first.")
    ] = None,
    form: FormatName = None,
    as_json: AsJson = False,
) -> int:
    """Print a run on one screen: verdict, headlines, what is odd. Longer output goes to $PAGER."""
    from linkscope.analysis.excerpt import readable
    from linkscope.cli import showing

    wanted = showing.ShowRequest(full, table, where, sort)
    if form is not None:
        if as_json or wanted != showing.ShowRequest():
            raise LinkscopeError("--format prints all that the tool would: leave out the other options")
        from linkscope.report.peer_formats.formats import printed
        from linkscope.results.run_file import RunFile

        typer.echo(printed(RunFile.read(run_file), form), nl=False)
        return 0
    found = readable(run_file)
    for notice in found.notices if as_json or wanted.narrow else ():
        err().print(notice, highlight=False, markup=False, soft_wrap=True)
    if as_json:
        print_json(showing.data(found, wanted))
    else:
        showing.show(found, wanted, out())
    return 0
