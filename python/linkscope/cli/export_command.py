"""The command export: the results of runs as one CSV or Parquet table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import app, err


@app.command()
def export(
    run_files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...", help="Run files, or folders of them; all go into one file.", show_default=False
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write, .csv or .parquet; - prints CSV.", show_default=False)
    ],
) -> int:
    """Write the results of runs as one table, CSV or Parquet. A line per result, units in the names of columns."""
    from linkscope.figures.export import export as write
    from linkscope.figures.export import exported
    from linkscope.figures.run import Run
    from linkscope.results.run_files import named

    runs = map(Run.of, named(run_files))
    if str(output) == "-":
        sys.stdout.write(exported(runs).decode())
        return 0
    write(runs, output)
    err().print(f"wrote {output}", highlight=False)
    return 0
