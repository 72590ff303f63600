"""The command report: runs as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import app, err


@app.command()
def report(
    run_files: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run files; several are set side by side.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="HTML file to write.")],
) -> int:
    """Write runs, side by side, as one self-contained HTML page."""
    from linkscope.figures.run import Run
    from linkscope.render.page import write_page
    from linkscope.results.run_files import named

    write_page([Run.of(path) for path in named(run_files)], output)
    err().print(f"wrote {output}", highlight=False)
    return 0
