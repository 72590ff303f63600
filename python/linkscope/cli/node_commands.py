"""The commands about this machine and what linkscope can do on it: list and doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import AsJson, app, out, print_json


@app.command("list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="suites, methods, memories, patterns, machines, studies, engines or importers.",
            autocompletion=completing.lists,
        ),
    ] = "suites",
    name: Annotated[
        str | None,
        typer.Argument(
            help="A name of that list; for machines also a file.yaml.",
            show_default=False,
            autocompletion=completing.listed_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List suites, methods, memories, machine models, studies and more; with NAME one of them."""
    from linkscope.cli import listing, listing_text
    from linkscope.cli.list_details import details

    if name is not None:
        one = listing.entry(what, name)
        more = details(what, one)
        if as_json:
            print_json({**one.to_json(), **more})
        else:
            typer.echo(listing_text.card(one, more, out().width))
        return 0
    found = listing.entries(what)
    if as_json:
        print_json([one.to_json() for one in found])
    else:
        typer.echo(listing_text.table(found, out().width, f"linkscope list {what}", listing.legend(what, found)))
    return 0


@app.command()
def doctor(
    peers: Annotated[bool, typer.Option("--peers", help="Show the route of each pair of GPUs, with rates.")] = False,
    run_file: Annotated[
        Path | None, typer.Option("--run", metavar="RUN", help="Rates for --peers; default the newest in runs/.")
    ] = None,
    handles: Annotated[
        bool, typer.Option("--handles", help="Try which memory another process can map, by which handle.")
    ] = False,
    nccl: Annotated[bool, typer.Option("--nccl", help="Run NCCL's own diagnostics (from 2.31 on).")] = False,
    full: Annotated[bool, typer.Option("--full", help="Every column of --peers.")] = False,
    as_json: AsJson = False,
) -> int:
    """Find what would spoil a measurement here. Exit code 1: results would be wrong or missing."""
    from linkscope.cli import doctor_questions
    from linkscope.cli.answering import printed
    from linkscope.cli.examination import examination
    from linkscope.messages.catalog import problem

    if peers + handles + nccl > 1 or (run_file is not None and not peers):
        raise problem("doctor.one-question")
    if peers:
        found = doctor_questions.peers_here(run_file)
    elif handles:
        found = doctor_questions.handles_here()
    else:
        found = doctor_questions.nccl_here() if nccl else examination()
    return printed(found, out(), "json" if as_json else "text", full)
