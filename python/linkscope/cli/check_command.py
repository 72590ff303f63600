"""The command check: does this node keep the limits of healthy ones?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli.app import AsJson, app, err, out
from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
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
    budget: Annotated[str | None, typer.Option(help="Time of the whole run: 30s.")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file to write, with suites.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    prometheus: Annotated[Path | None, typer.Option(help="Write metrics to this file, for the node exporter.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Every result and limit.")] = False,
    as_json: AsJson = False,
) -> int:
    """Does this node keep the limits of healthy ones? Exit code 0: passed, 1: failed, 3: no verdict."""
    from linkscope.answers.questions import ask
    from linkscope.cli.answering import printed
    from linkscope.documents.whole_file import write_whole
    from linkscope.render import render
    from linkscope.results.limits import load_limits

    if (limits is None) == (make_limits is None):
        raise LinkscopeError("name --limits FILE or --make-limits FILE; without good runs: linkscope explain RUN")
    if make_limits is not None:
        return _make(make_limits, what or [])
    assert limits is not None
    known = load_limits(limits)  # before anything is measured
    found = ask("check", _run_of(what or [], budget, output), limits=known)
    for path, form in ((junit, "junit"), (prometheus, "prometheus")):
        if path is not None:
            write_whole(path, render(found, form))
    return printed(found, out(), "json" if as_json else "text", full)


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


def _run_of(what: Sequence[str], budget: str | None, output: Path | None) -> RunFile | Path:
    """Return the run file that ``what`` names, or the run of the suites that it names."""
    files = [name for name in what if Path(name).suffix == ".jsonl" or (Path(name).is_file() and not _is_suite(name))]
    if files and (len(what) > 1 or budget is not None or output is not None):
        raise LinkscopeError("name one run file alone, or suites to measure; --budget and -o are of suites")
    if files:
        return Path(files[0])
    from linkscope.cli.measuring import command_line
    from linkscope.cli.progress import progress
    from linkscope.launch.job import Request
    from linkscope.launch.run import default_output
    from linkscope.launch.run import run as measure

    request = Request(suites=tuple(what) or ("default",), budget=budget)
    with progress(err()) as listener:
        return measure(request, output or default_output(), listener, command_line(request, output))


def _is_suite(name: str) -> bool:
    return Path(name).suffix in (".yaml", ".yml")
