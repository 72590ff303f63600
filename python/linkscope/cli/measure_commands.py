"""The commands that measure: run, check, reproduce."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import AsJson, app, err, out
from linkscope.cli.run_options import (
    Clock,
    FormatName,
    Keyword,
    Methods,
    RunOptions,
    Sizes,
    given,
    with_run_options,
)
from linkscope.errors import LinkscopeError


@app.command()
@with_run_options
def run(
    options: RunOptions,
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SUITE]...", help="Suites or suite files.", autocompletion=completing.suites),
    ] = None,
    methods: Methods = None,
    sizes: Sizes = None,
    keyword: Keyword = None,
    clock: Clock = None,
    interface: Annotated[str | None, typer.Option(help="Address of this host that the processes report to.")] = None,
    form: FormatName = None,
) -> int:
    """Measure this machine, or model a described one. Exit code 1 if a case failed."""
    from linkscope.cli import measuring
    from linkscope.launch.job import Request

    if keyword and len(keyword) > 1:
        raise LinkscopeError(
            f"-k stands there {len(keyword)} times: write -k {shlex.quote(' and '.join(keyword))}, or 'or' for either"
        )
    word = keyword[0] if keyword else None
    named = options.named | given({"methods": methods, "sizes": sizes, "clock": clock, "keyword": word})
    launching = options.launching(interface)
    request = Request(suites=tuple(suites or ("default",)), launching=launching, **named)
    own = options.resume and not suites and not named
    return measuring.carry_out(None if own else request, launching, options, out(), err(), form)


@app.command()
def check(
    what: Annotated[
        list[str] | None, typer.Argument(metavar="RUN | [SUITE]...", help="A run file, or suites to measure.")
    ] = None,
    limits: Annotated[Path | None, typer.Option("--limits", help="The limits file.")] = None,
    make_limits: Annotated[
        Path | None, typer.Option("--make-limits", help="Write this limits file from good runs, or folders of them.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time of the whole run of suites: 30s; 30 is seconds, too.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Run file of suites.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    prometheus: Annotated[Path | None, typer.Option(help="Write metrics to this file, for the node exporter.")] = None,
    as_json: AsJson = False,
) -> int:
    """Does this node keep the limits of healthy ones? Exit code 0 passed, 1 a limit is broken, 2 can't be checked."""
    from linkscope.cli import checking
    from linkscope.results.limits import load_limits

    if (limits is None) == (make_limits is None):
        raise LinkscopeError(
            "name --limits FILE to check against, or --make-limits FILE to write: one of them; without good runs "
            "`linkscope explain --strict RUN` holds one against known ones"
        )
    if make_limits is not None:
        return checking.make_limits(make_limits, what or [], err())
    assert limits is not None
    known = load_limits(limits)  # before anything is measured
    run = checking.run_of(what or [], budget, output, err())
    return checking.hold(run, known, junit, prometheus, out(), as_json)
