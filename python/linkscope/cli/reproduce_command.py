"""The command reproduce: a published study beside this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import AsJson, Machine, app, err, out
from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
    from linkscope.answers.answer import Answer

BUDGET = "120s"
"""Time for what is measured, unless the user says otherwise."""


@app.command()
def reproduce(
    study: Annotated[
        str | None,
        typer.Argument(help="A study: --list names them.", show_default=False, autocompletion=completing.studies),
    ] = None,
    run_files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN]...", help="Runs of the study on one machine; default: measure now."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    machine: Machine = None,
    budget: Annotated[str | None, typer.Option(help="Time of the whole run; default 120s.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a page, .html, or all numbers, .csv.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All claims, tables and curves.")] = False,
    as_json: AsJson = False,
) -> int:
    """Compare a published study with this machine: its tables, curves and claims. Exit code 1: one does not hold."""
    from linkscope.answers.questions import ask
    from linkscope.cli import node_commands
    from linkscope.cli.answering import printed
    from linkscope.results.run_files import named
    from linkscope.results.study import load_study

    if listed:
        return node_commands.list_("studies", as_json=as_json)
    if study is None:
        raise LinkscopeError("name a study: `linkscope reproduce --list` lists them")
    suites = tuple(load_study(study).suites)
    if run_files and (machine is not None or budget is not None):
        raise LinkscopeError("--machine and --budget are for measuring: leave them out where you name runs")
    paths = named(run_files) if run_files else [_measured(suites, machine, budget)]
    found = ask("reproduce", *paths, study=study)
    if output is not None:
        _write(found, output)
    return printed(found, out(), "json" if as_json else "text", full)


def _measured(suites: tuple[str, ...], machine: str | None, budget: str | None) -> Path:
    """Measure the suites of a study and return the run file."""
    from linkscope.cli.measuring import command_line
    from linkscope.cli.progress import progress
    from linkscope.launch.job import Request
    from linkscope.launch.run import default_output
    from linkscope.launch.run import run as measure

    request = Request(suites=suites, machine=machine, budget=budget or (BUDGET if machine is None else None))
    with progress(err()) as listener:
        done = measure(request, default_output(machine), listener, command_line(request, None))
    err().print(f"wrote {done.path}", highlight=False, markup=False, soft_wrap=True)
    return done.path


def _write(found: Answer, output: Path) -> None:
    """Write all numbers of an answer as .csv, or its page as .html."""
    import polars

    from linkscope.documents.whole_file import write_whole
    from linkscope.render.data import frame_csv

    if output.suffix not in (".html", ".csv"):
        raise LinkscopeError(f"cannot write {output}: choose a name that ends in .html or .csv")
    if output.suffix == ".csv":
        frames = [table.frame for table in found.tables if table.key not in ("reproduce.differing", "reproduce.places")]
        write_whole(output, frame_csv(polars.concat(frames, how="diagonal_relaxed")))
    else:
        from linkscope.render.page import page_of

        write_whole(output, page_of(found))
    err().print(f"wrote {output}", highlight=False, markup=False)
