"""The command rerun: cases of a run again, in many processes, and how often each has which speed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out
from linkscope.cli.run_options import Output

if TYPE_CHECKING:
    from linkscope.figures.run import Run
    from linkscope.results.run_file import RunFile

PROCESSES = 20
FEWEST = 6
"""Fewer show no more than a run does."""


@app.command()
def rerun(
    run_file: Annotated[Path, typer.Argument(metavar="RUN", help="A run file of this machine.", show_default=False)],
    keyword: Annotated[
        str | None,
        typer.Option("-k", "--keyword", help="Cases with this word in their id or title; default: two speeds."),
    ] = None,
    processes: Annotated[int, typer.Option(help="New processes for each case.")] = PROCESSES,
    output: Output = None,
    full: Annotated[bool, typer.Option("--full", help="Intervals, and what is known of the run.")] = False,
    as_json: AsJson = False,
) -> int:
    """Count in many processes how often a case is fast or slow. Exit code 1: a case failed."""
    from linkscope.answers.questions import ask
    from linkscope.cli.answering import printed
    from linkscope.cli.progress import progress
    from linkscope.figures.run import Run
    from linkscope.launch.again import rerun as measure
    from linkscope.launch.run import default_output
    from linkscope.messages.catalog import problem

    before = Run.of(run_file)
    if processes < FEWEST:
        raise problem("rerun.few", processes=processes, least=FEWEST)
    ids = _of_keyword(before.file, keyword) if keyword else _of_two_speeds(before)
    if not ids:
        raise problem("rerun.nothing", path=str(run_file))
    words = ["linkscope", "rerun", str(run_file), *(["-k", keyword] if keyword else []), "--processes", str(processes)]
    modelled = before.node.name if before.node.modelled else None
    with progress(err()) as listener:
        done = measure(before.file, ids, processes, output or default_output(modelled), listener, words)
    code = printed(ask("rerun", done), out(), "json" if as_json else "text", full)
    err().print(f"wrote {done.path}", highlight=False, markup=False, soft_wrap=True)
    return 1 if done.with_status("failed") else code


def _of_two_speeds(before: Run) -> list[str]:
    """Return the ids of the cases with a result that has two speeds."""
    return (
        before.results.filter(before.results["value_modes"].is_not_null())["id"].unique(maintain_order=True).to_list()
    )


def _of_keyword(before: RunFile, keyword: str) -> list[str]:
    """Return the ids of the cases that were measured and have the word. Raises LinkscopeError where none has."""
    from linkscope.plan.keyword import picked
    from linkscope.plan.planned_case import PlannedCase

    return [one.id for one in picked([PlannedCase(row.case) for row in before.with_status("ok")], keyword)]
