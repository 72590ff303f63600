"""The command topology: devices, links and paths of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, Machine, app, err, out, print_json


@app.command()
def topology(
    machine: Machine = None,
    svg: Annotated[Path | None, typer.Option(help="Write a picture of the node to this file.")] = None,
    as_json: AsJson = False,
) -> int:
    """Show devices, links, peaks, hops and widest paths."""
    from linkscope import api
    from linkscope.report import topology_svg, topology_text
    from linkscope.whole_file import write_whole

    node = api.topology(machine)
    if svg is not None:
        write_whole(svg, topology_svg.draw(node))
        err().print(f"wrote {svg}", highlight=False)
    elif as_json:
        print_json(topology_text.to_json(node))
    else:
        topology_text.show(node, out())
    return 0
