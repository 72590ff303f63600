"""The command analyze: what engineers ask of a run, each question with its table."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli.app import AsJson, RunPath, app, out


@app.command()
def analyze(
    run_file: RunPath,
    questions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION]...",
            help="peaks, tiers, fits, saturation, anisotropy, numa, engines, scaling, threads, interference, "
            "collectives, layers, blocks, queueing, overlap; default: one line for each that the run can answer.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All lines of all tables, with intervals.")] = False,
    as_json: AsJson = False,
) -> int:
    """Answer what engineers ask of a run: peaks, latency and bandwidth, NUMA, threads, scaling and more."""
    from linkscope.cli.answering import answer

    form = "json" if as_json else "text"
    return answer("analyze", run_file, out=out(), form=form, full=full, questions=tuple(questions or ()))
