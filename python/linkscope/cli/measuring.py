"""Output of `linkscope run` around a run: the dry run, progress, the summary and the exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from shutil import which

import typer
from rich.console import Console

from linkscope.cli.dry_run import dry_run
from linkscope.cli.progress import progress
from linkscope.cli.run_options import RunOptions
from linkscope.codecs.peer.formats import FORMATS, check_format, not_printed, printed
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request, prepare
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.run import default_output, newest_output
from linkscope.launch.run import resume as resume_run
from linkscope.launch.run import run as start_run
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, note
from linkscope.results.run_file import RunFile


def carry_out(
    request: Request | None,
    launching: LaunchOptions,
    options: RunOptions,
    out: Console,
    err: Console,
    form: str | None = None,
) -> int:
    """Measures ``request``, completes a run or only says what would run, as ``options`` ask; the exit code.

    None: what the run that is completed was asked for. ``launching`` counts there where it says anything. What came
    out is printed as the tool ``form`` does, where one is named.
    """
    if form is not None:
        _check_form(form, None if options.dry_run else request, options)
    if options.report and options.output is not None and options.output == options.output.with_suffix(".html"):
        raise LinkscopeError(f"--report would overwrite {options.output}: give the run file another ending")
    if options.dry_run:
        return dry_run(request or Request(launching=launching), out, options.as_json, form)
    if not options.resume and request is not None:
        with progress(err) as listener:
            words = command_line(request, options.output)
            done = start_run(request, options.output or default_output(request.machine), listener, words)
    else:
        chosen = launching if launching != LaunchOptions() else None
        with progress(err) as listener:
            done = resume_run(options.output or newest_output(), request, listener, chosen)
    return _conclude(done, options, out, err, form)


def _check_form(form: str, request: Request | None, options: RunOptions) -> None:
    """Raises LinkscopeError, before anything is measured, where ``form`` is unknown, or ``request`` (None: that of a
    run file) has no case for it. Started as the ranks of a job only the run itself can tell."""
    if options.as_json:
        raise LinkscopeError("--json and --format: choose one")
    known = request is not None and inside.place() is None
    check_format(form, [planned.case for planned in prepare(request).cases] if request and known else None)


def _conclude(done: RunFile, options: RunOptions, out: Console, err: Console, form: str | None) -> int:
    """Print what came out and where it is, and write the page where one is wanted; 1 where a case failed."""
    from linkscope.cli.answering import answer

    workloads = ["workload" in row.case.get("labels", {}) for row in done.rows]
    if any(workloads) and all(row.status == "skipped" for row in done.rows):
        reasons = dict.fromkeys(str(row.reason) for row in done.rows)
        raise LinkscopeError(f"nothing could run: {'; '.join(reasons)} ({done.path} says so)")
    if form is not None:
        typer.echo(printed(done, form), nl=False)
    elif options.as_json:
        typer.echo(json.dumps(done.to_json()))
    elif any(workloads) and all(workloads):
        answer("app", done, out=out)
    else:
        answer("show", done, out=out, program=_called())
    page = done.path.with_suffix(".html")
    if options.report:
        _write_page(done, page)
    for found in _written(done, page if options.report else None, form):
        err.print(sentence(found), highlight=False, markup=False, soft_wrap=True)
    return 1 if done.with_status("failed") else 0


def _write_page(done: RunFile, page: Path) -> None:
    from linkscope.figures.run import Run
    from linkscope.render.page import write_page

    write_page([Run.of(done)], page)


def _written(done: RunFile, page: Path | None, form: str | None) -> Iterator[Finding]:
    """Yield where the run is, and how many cases a table of the tool ``form`` leaves out."""
    if page is None:
        yield note("measuring.wrote", path=str(done.path))
    else:
        yield note("measuring.wrote-both", path=str(done.path), page=str(page))
    if form is not None and (left := not_printed(done, form)):
        yield note("measuring.not-in-format", cases=left, tool=FORMATS[form].tool)


def _called() -> str:
    """Return how a shell finds this program: by its name or, in an environment that is not active, by where it is."""
    beside = Path(sys.executable).parent / "linkscope"
    return "linkscope" if which("linkscope") or not beside.is_file() else quote(os.path.relpath(beside))


def command_line(request: Request, output: Path | None) -> list[str]:
    """The command line that asks for the same again."""
    return request.command_line + (["-o", str(output)] if output is not None else [])
