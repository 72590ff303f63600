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
    """Write the figures of runs as one table, CSV or Parquet. A line per figure, units in the names of columns."""
    from linkscope.analysis.frames import export as write
    from linkscope.analysis.frames import exported
    from linkscope.results.run_files import open_all

    runs = open_all(run_files)
    if str(output) == "-":
        sys.stdout.write(exported(runs, ".csv").decode())
        return 0
    write(runs, output)
    err().print(f"wrote {output}", highlight=False)
    return 0
