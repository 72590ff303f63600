"""The command calibrate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkscope.cli.app import AsJson, Machine, app, err, out
from linkscope.cli.run_options import Clock, Devices, EngineName, Methods, Sizes, given
from linkscope.errors import LinkscopeError


@app.command()
def calibrate(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE]...", help="Suites; with --from run files or folders of them.")
    ] = None,
    turns: Annotated[int | None, typer.Option(help="How many runs, 2 to 99; default 10.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run files; goes on with what is there.")
    ] = None,
    devices: Devices = None,
    methods: Methods = None,
    sizes: Sizes = None,
    precision: Annotated[str | None, typer.Option(help="As of `run`.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time of each run: 60s; 60 without a unit is seconds.")] = None,
    rounds: Annotated[str | None, typer.Option(help="Rounds of each run: 3, or 3:6.")] = None,
    clock: Clock = None,
    machine: Machine = None,
    engine: EngineName = None,
    files: Annotated[bool, typer.Option("--from", help="Measure nothing: take the runs that are named.")] = False,
    as_json: AsJson = False,
) -> int:
    """Repeat a run and show how well its intervals hold from run to run. Exit code 1 if a case failed."""
    from linkscope.cli import calibrating
    from linkscope.launch.job import Request

    asked = {"devices": devices, "methods": methods, "sizes": sizes, "budget": budget, "clock": clock}
    named = given(asked | {"machine": machine, "engine": engine, "precision": precision, "rounds": rounds})
    if files:
        if named or turns is not None or output is not None:
            raise LinkscopeError("--from measures nothing: leave out all options but --json")
        return calibrating.compute([Path(name) for name in suites or ()], out(), err(), as_json)
    request = Request(suites=tuple(suites or ("default",)), **named) if suites or named else None
    return calibrating.measure(request, turns, output, out(), err(), as_json)
