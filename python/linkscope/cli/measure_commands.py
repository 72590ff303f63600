"""The commands that measure: run, check, reproduce."""

from __future__ import annotations

from typing import Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import app, err, out
from linkscope.cli.run_options import (
    Clock,
    FormatName,
    Keyword,
    Methods,
    RunOptions,
    Sizes,
    given,
    one_keyword,
    with_run_options,
)


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
    """Measure this machine, or run a machine model. Exit code 1: a case failed."""
    from linkscope.cli import measuring
    from linkscope.launch.job import Request

    words = {"methods": methods, "sizes": sizes, "clock": clock, "keyword": one_keyword(keyword)}
    named = options.named | given(words)
    launching = options.launching(interface)
    request = Request(suites=tuple(suites or ("default",)), launching=launching, **named)
    own = options.resume and not suites and not named
    return measuring.carry_out(None if own else request, launching, options, out(), err(), form)
