"""The command calibrate: the turns that it takes, a line for each, and the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli.app import AsJson, Machine, app, err, out
from linkscope.cli.run_options import Clock, Devices, EngineName, Methods, Sizes, given
from linkscope.errors import LinkscopeError
from linkscope.messages.numbers import count, duration

if TYPE_CHECKING:
    from linkscope.answers.answer import Answer
    from linkscope.launch.job import Job, Request
    from linkscope.launch.run import Listener
    from linkscope.plan.planned_case import PlannedCase
    from linkscope.results.calibration import NodeNoise
    from linkscope.results.run_file import RunFile


@app.command()
def calibrate(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="[SUITE]...", help="Suites; with --from run files or folders of them.")
    ] = None,
    turns: Annotated[int | None, typer.Option(help="How many runs, 2 to 99; else 10.", show_default=False)] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run files; goes on with what is there.")
    ] = None,
    devices: Devices = None,
    methods: Methods = None,
    sizes: Sizes = None,
    precision: Annotated[str | None, typer.Option(help="Stop at this 95% interval around the median.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time of each run: 60s; 60 without a unit is seconds.")] = None,
    rounds: Annotated[str | None, typer.Option(help="Rounds of each run: 3, or 3:6.")] = None,
    clock: Clock = None,
    machine: Machine = None,
    engine: EngineName = None,
    files: Annotated[bool, typer.Option("--from", help="Measure nothing: take the runs that are named.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Every result.")] = False,
    as_json: AsJson = False,
) -> int:
    """Repeat a run and show how well its intervals hold from run to run. Exit code 1 if a case failed, 3 if a run was
    cut short.
    """
    from linkscope.cli.answering import printed
    from linkscope.launch.job import Request

    asked = {"devices": devices, "methods": methods, "sizes": sizes, "budget": budget, "clock": clock}
    options = given(asked | {"machine": machine, "engine": engine, "precision": precision, "rounds": rounds})
    if files:
        if options or turns is not None or output is not None:
            raise LinkscopeError("--from measures nothing: leave out all options but --json and --full")
        return printed(_of_files(suites or ()), out(), "json" if as_json else "text", full)
    request = Request(suites=tuple(suites or ("default",)), **options) if suites or options else None
    found, refused = _measured(request, turns, output)
    printed(found, out(), "json" if as_json else "text", full)
    if refused:
        raise refused[0]
    return 1 if any(run.failed for run in found.runs) else 0


def _of_files(names: Sequence[str]) -> Answer:
    from linkscope.answers.calibrate import answer
    from linkscope.figures.run import Run
    from linkscope.messages.catalog import problem
    from linkscope.results.run_files import named

    runs = [Run.of(path) for path in named(map(Path, names))]
    if not runs:
        raise problem("calibrate.no-run")
    return answer(*runs)


def _measured(request: Request | None, turns: int | None, output: Path | None) -> tuple[Answer, list[LinkscopeError]]:
    """Take the turns and keep what they show of the node; return why that was not possible, if so."""
    from linkscope.answers.calibrate import calibration
    from linkscope.cli.measuring import command_line
    from linkscope.figures.run import Run
    from linkscope.launch.calibrate import TURNS, default_folder
    from linkscope.launch.calibrate import turns as taken
    from linkscope.results.calibration import keep

    number = TURNS if turns is None else turns
    lines = _TurnLines(number)
    files = taken(request, number, output or default_folder(), lines.listener(), command_line)
    refused: list[LinkscopeError] = []

    def keep_or_refuse(noise: NodeNoise) -> Path | None:
        try:
            return keep(noise)
        except LinkscopeError as error:
            refused.append(error)
            return None

    return calibration([Run.of(lines.ended(run)) for run in files], keep_or_refuse).answer, refused


class _TurnLines:
    """One line before the turns and one after each, but for a turn that was complete already."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._console = err()
        self._turn = 0
        self._began: float | None = None

    def listener(self) -> Listener:
        """Return what a run tells where it begins and what it notes."""
        from linkscope.launch.run import Listener

        return Listener(on_job=self._begin, on_note=self._say)

    def ended(self, run: RunFile) -> RunFile:
        """Say how a turn ended, and return its run."""
        self._turn += 1
        if self._began is not None:
            took, self._began = time.monotonic() - self._began, None
            failed = len(run.with_status("failed"))
            cases = f"{len(run.with_status('ok'))} ok{f', {failed} failed' if failed else ''}"
            self._say(f"[{self._turn}/{self._turns}] {run.path}  {cases}  {duration(took)}")
        return run

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._began = time.monotonic()
        if self._turn == 0:
            each = duration(job.estimate(pending).likely_s)
            self._say(f"{self._turns} turns of {count(len(pending), 'case')} on {job.node.name}, each about {each}")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
