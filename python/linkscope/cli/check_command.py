"""The command check: does this node keep the limits of healthy ones, or its own speed under load?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli.app import AsJson, Machine, app, err, out
from linkscope.cli.written_forms import Write, WrittenForms
from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
    from linkscope.launch.job import Request
    from linkscope.results.run_file import RunFile


@app.command()
def check(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="RUN | [SUITE]...", help="A run file, or suites to measure.")
    ] = None,
    limits: Annotated[Path | None, typer.Option("--limits", help="The limits file.")] = None,
    make_limits: Annotated[
        Path | None, typer.Option("--make-limits", help="Write this limits file from good runs, or folders of them.")
    ] = None,
    sustained: Annotated[
        str | None, typer.Option("--sustained", help="Load all paths for a time: 10m; no limits needed.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time of the whole run: 30s.")] = None,
    machine: Machine = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file to write, with suites.")] = None,
    write: Write = None,
    full: Annotated[bool, typer.Option("--full", help="Every result and limit.")] = False,
    as_json: AsJson = False,
) -> int:
    """Is this node within limits of healthy ones? Exit code 0: passed, 1: failed, 3: no verdict."""
    from linkscope.answers.questions import ask
    from linkscope.cli.answering import printed
    from linkscope.results.limits import load_limits

    forms = WrittenForms.of(write or ())  # before anything is measured
    if make_limits is not None:
        if limits is not None or sustained is not None:
            raise LinkscopeError("--make-limits takes good runs: leave out --limits and --sustained")
        return _make(make_limits, what or [])
    known = None if limits is None else load_limits(limits)
    if sustained is not None:
        if what or budget is not None:
            raise LinkscopeError("--sustained takes no run file, suite or --budget")
        run: RunFile | Path = _under_load(sustained, machine, output)
    else:
        run = _run_of(what or [], known is not None, budget, machine, output)
    found = ask("check", run, limits=known)
    try:
        return printed(found, out(), "json" if as_json else forms.printed or "text", full)
    finally:
        forms.write(found)


def _make(path: Path, names: Sequence[str]) -> int:
    """Write the limits that good runs suggest to ``path``, which must not exist."""
    from linkscope.answers.check import limits_of
    from linkscope.documents.whole_file import write_whole
    from linkscope.figures.run import Run
    from linkscope.results.run_files import named

    if path.exists():
        raise LinkscopeError(f"{path} exists: choose another name, or take it away")
    found = limits_of([Run.of(run) for run in named([Path(name) for name in names])], date.today().isoformat())
    write_whole(path, found.text())
    err().print(f"wrote {path}: {len(found.limits)} limits of {len(found.runs)} runs", highlight=False, markup=False)
    return 0


def _run_of(
    what: Sequence[str], limited: bool, budget: str | None, machine: str | None, output: Path | None
) -> RunFile | Path:
    """Return the run file that ``what`` names, or the run of the suites that it names, which are ``limited``."""
    files = [name for name in what if Path(name).suffix == ".jsonl" or (Path(name).is_file() and not _is_suite(name))]
    if files and (len(what) > 1 or budget is not None or machine is not None or output is not None):
        raise LinkscopeError("name one run file alone, or suites to measure; --budget, --machine and -o are of suites")
    if files:
        return Path(files[0])
    if not limited:
        raise LinkscopeError("name --limits FILE or --sustained 10m; without good runs: linkscope explain RUN")
    from linkscope.launch.job import Request

    return _measured(Request(suites=tuple(what) or ("default",), budget=budget, machine=machine), output)


def _under_load(time: str, machine: str | None, output: Path | None) -> RunFile:
    """Return a run under load for so long, or until Ctrl-C."""
    from linkscope.documents.durations import parse_duration
    from linkscope.launch.job import Request
    from linkscope.launch.run import INTERRUPTED, default_output
    from linkscope.plan.sustained import LEAST_S, MOST_S, SUITE
    from linkscope.results.run_file import RunFile

    if not LEAST_S <= parse_duration(time) <= MOST_S:
        raise LinkscopeError(f"--sustained {time}: from 10s to 24h; 10m is usual")
    path = output or default_output(machine)
    try:
        return _measured(Request(suites=(SUITE,), budget=time, machine=machine, sustained=True), path)
    except LinkscopeError as error:
        if error.exit_code != INTERRUPTED:
            raise
        return RunFile.read(path)


def _measured(request: Request, output: Path | None) -> RunFile:
    from linkscope.cli.measuring import command_line
    from linkscope.cli.progress import progress
    from linkscope.launch.run import default_output
    from linkscope.launch.run import run as measure

    with progress(err()) as listener:
        return measure(request, output or default_output(request.machine), listener, command_line(request, output))


def _is_suite(name: str) -> bool:
    return Path(name).suffix in (".yaml", ".yml")
