"""The command import: another tool's output as a run file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import app, err


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Output of another tool.", show_default=False)],
    named: Annotated[
        str | None, typer.Option("--from", help="Its format (`list importers`); default: recognised from FILE.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file; else runs/FILE.jsonl.")] = None,
    beside: Annotated[
        Path | None, typer.Option(help="A run of the same node: its devices, links and the ids of its cases.")
    ] = None,
    machine: Annotated[str | None, typer.Option(help="A machine model in place of a run (`list machines`).")] = None,
    processes: Annotated[
        int | None, typer.Option(min=2, max=1024, help="Number of processes, where FILE lacks it (OSU's collectives).")
    ] = None,
    nvls: Annotated[
        str | None,
        typer.Option(
            metavar="on|off", help="Whether NCCL could reduce in the GPU switch, which nccl-tests does not say."
        ),
    ] = None,
) -> int:
    """Make a run file of what another tool printed (`list importers`); explain, show, compare take it as it is."""
    from linkscope.cli import importing

    wanted = importing.wanted(named, beside, machine, processes, nvls)
    return importing.take(file, output, wanted, ["linkscope", "import", file.name], err())
