"""The command topology: devices, links and paths of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, Machine, app, err, out, print_json


@app.command()
def topology(
    machine: Machine = None,
    full: Annotated[bool, typer.Option("--full", help="Every device and link, hops and peaks of all pairs.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Write a picture of the node to this file.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show devices, links, peaks, hops and widest paths."""
    from linkscope import api
    from linkscope.answers.topology import to_json
    from linkscope.answers.topology import topology as answer
    from linkscope.cli.answering import printed
    from linkscope.documents.whole_file import write_whole

    node = api.topology(machine)
    if as_json:
        print_json(to_json(node))
    elif svg is None:
        return printed(answer(node), out(), full=full)
    else:
        write_whole(svg, node.plot().svg)
        err().print(f"wrote {svg}", highlight=False)
    return 0
