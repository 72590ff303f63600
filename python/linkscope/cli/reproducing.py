"""What `linkscope reproduce` does: reads runs of a study or measures what it needs, and lays both side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from linkscope.analysis.reproduce import Reproduction, reproduce
from linkscope.analysis.study import StudyFile, load_study
from linkscope.cli.measuring import command_line
from linkscope.cli.progress import progress
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request
from linkscope.launch.run import default_output
from linkscope.launch.run import run as measure
from linkscope.results.run_file import RunFile
from linkscope.results.run_files import named
from linkscope.whole_file import write_whole

BUDGET = "120s"
"""For what is measured, unless the user says otherwise."""


def found(name: str, runs: Sequence[Path], machine: str | None, budget: str | None, err: Console) -> Reproduction:
    """The study beside ``runs``; where none are named, beside a run of its suites that is made here and now."""
    study = load_study(name)
    if runs and (machine is not None or budget is not None):
        raise LinkscopeError("--machine and --budget are for measuring: leave them out where you name runs")
    return reproduce(
        study, [RunFile.read(path) for path in named(runs)] if runs else [_measured(study, machine, budget, err)]
    )


def _measured(study: StudyFile, machine: str | None, budget: str | None, err: Console) -> RunFile:
    limit = budget or (BUDGET if machine is None else None)
    request = Request(suites=tuple(study.suites), machine=machine, budget=limit)
    with progress(err) as listener:
        done = measure(request, default_output(machine), listener, command_line(request, None))
    again = f"`linkscope reproduce {study.name} {done.path}` shows this again"
    err.print(f"{done.path}: {again}", highlight=False, markup=False, soft_wrap=True)
    return done


def write(done: Reproduction, output: Path, err: Console) -> None:
    """A page or a table, as the name ends."""
    from linkscope.report.html_study import render_study
    from linkscope.report.study_csv import study_csv

    writers = {".html": render_study, ".csv": study_csv}
    if output.suffix not in writers:
        raise LinkscopeError(f"cannot write {output}: choose a name that ends in {' or '.join(writers)}")
    write_whole(output, writers[output.suffix](done))
    err.print(f"wrote {output}", highlight=False, markup=False)
