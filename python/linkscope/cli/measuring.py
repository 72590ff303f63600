"""What `linkscope run` prints around a run: the dry run, progress, the summary and the exit code."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import typer
from rich.console import Console

from linkscope.cli.progress import extent, progress
from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request, prepare
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.run import default_output, newest_output
from linkscope.launch.run import resume as resume_run
from linkscope.launch.run import run as start_run
from linkscope.report.peer_formats.formats import check_format, printed
from linkscope.results.run_file import RunFile


def measure(
    request: Request, output: Path | None, out: Console, err: Console, as_json: bool, form: str | None = None
) -> int:
    """Runs ``request`` and prints its summary, or its cases in another tool's ``form``; 1 where a case failed."""
    with progress(err) as listener:
        done = start_run(request, output or default_output(), listener, command_line(request, output))
    return _conclude(done, out, err, as_json, form)


def resume(
    output: Path | None,
    request: Request | None,
    launching: LaunchOptions,
    out: Console,
    err: Console,
    as_json: bool,
    form: str | None = None,
) -> int:
    """Completes ``output``, or the newest run file, and prints as ``measure`` does; 1 where a case failed.

    ``launching`` counts where it says anything.
    """
    chosen = launching if launching != LaunchOptions() else None
    with progress(err) as listener:
        done = resume_run(output or newest_output(), request, listener, chosen)
    return _conclude(done, out, err, as_json, form)


def check_form(form: str, request: Request | None, as_json: bool) -> None:
    """Raises LinkscopeError, before anything is measured, where ``form`` is unknown, or ``request`` (None: that of a
    run file) has no case for it. Started as the ranks of a job only the run itself can tell."""
    if as_json:
        raise LinkscopeError("--json and --format: choose one")
    known = request is not None and inside.place() is None
    check_format(form, [planned.case for planned in prepare(request).cases] if request and known else None)


def dry_run(request: Request, out: Console, as_json: bool, form: str | None = None) -> int:
    """Prints the plan as JSON, or the number of cases of each row and the time they take; of ranks the first does.

    Raises LinkscopeError where there is no case for ``form``.
    """
    place = inside.place()
    if place is not None and place.rank > 0:
        return 0
    job = prepare(request)
    if form is not None:
        check_format(form, [planned.case for planned in job.cases])
    if as_json:
        typer.echo(json.dumps(job.plan([case for case in job.cases if case.skip is None]), indent=1))
        return 0
    for note in job.notes:
        out.print(note, highlight=False, markup=False, soft_wrap=True)
    for (suite, name), count in Counter((case.case["suite"], case.case["name"]) for case in job.cases).items():
        out.print(f"{count:6}  {suite}/{name}", highlight=False)
    for reason, count in Counter(case.skip for case in job.cases if case.skip is not None).items():
        out.print(f"{count:6}  of these skipped: {reason}", highlight=False, markup=False)
    out.print(f"{len(job.cases):6}  {extent(job, job.cases)}", highlight=False, markup=False)
    return 0


def _conclude(done: RunFile, out: Console, err: Console, as_json: bool, form: str | None) -> int:
    from linkscope.report import terminal, workload_text

    workload = any("workload" in row.case.get("labels", {}) for row in done.rows)
    if workload and all(row.status == "skipped" for row in done.rows):
        reasons = dict.fromkeys(str(row.reason) for row in done.rows)
        raise LinkscopeError(f"nothing could run: {'; '.join(reasons)} ({done.path} says so)")
    if form is not None:
        typer.echo(printed(done, form), nl=False)
    elif as_json:
        typer.echo(json.dumps(done.to_json()))
    elif workload and all("workload" in row.case.get("labels", {}) for row in done.rows):
        workload_text.show(done.rows, done.node, out)
    else:
        terminal.show_summary(done, out)
    err.print(f"{done.path}: `linkscope show {done.path}` prints its tables", highlight=False, soft_wrap=True)
    return 1 if done.with_status("failed") else 0


def command_line(request: Request, output: Path | None) -> list[str]:
    """The command line that asks for the same again."""
    return request.command_line + (["-o", str(output)] if output is not None else [])
