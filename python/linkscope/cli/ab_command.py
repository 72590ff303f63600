"""The command ab: its sides, a line of what is measured and one for each look, and the answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkscope.cli import completing
from linkscope.cli.app import AsJson, Machine, app, err, out
from linkscope.cli.run_options import (
    Clock,
    Devices,
    EngineName,
    Hostfile,
    Hosts,
    Keyword,
    LauncherCommand,
    LauncherName,
    Methods,
    Sizes,
    given,
    one_keyword,
)

if TYPE_CHECKING:
    from linkscope.launch.ab_sides import Side
    from linkscope.launch.job import Job
    from linkscope.launch.run import Listener
    from linkscope.plan.planned_case import PlannedCase

_Setting = "NAME=VALUE, nccl=FILE, rccl=FILE, mpi=FILE, torch=PYTHON or as-is; may be repeated."

_TOLD_ROUNDS = 4
"""A line is printed before every fourth round."""


@app.command()
def ab(
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SUITE]...", help="Suites or suite files.", autocompletion=completing.suites),
    ] = None,
    a: Annotated[list[str] | None, typer.Option("--a", metavar="SETTING", help=f"Side A: {_Setting}")] = None,
    b: Annotated[list[str] | None, typer.Option("--b", metavar="SETTING", help="Side B.")] = None,
    c: Annotated[list[str] | None, typer.Option("--c", metavar="SETTING", help="Side C.")] = None,
    d: Annotated[list[str] | None, typer.Option("--d", metavar="SETTING", help="Side D.")] = None,
    budget: Annotated[str | None, typer.Option(help="Time of all sides together; default 2m.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the run files; default runs/ab-HOST-TIME-PID.")
    ] = None,
    devices: Devices = None,
    methods: Methods = None,
    sizes: Sizes = None,
    keyword: Keyword = None,
    clock: Clock = None,
    threshold: Annotated[str, typer.Option(help="Smallest change that counts.")] = "1%",
    machine: Machine = None,
    engine: EngineName = None,
    launcher: LauncherName = None,
    launcher_command: LauncherCommand = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    full: Annotated[bool, typer.Option("--full", help="Every result.")] = False,
    as_json: AsJson = False,
) -> int:
    """Measure two settings in turns: which is faster where? Exit code 0: no side is slower than A; 1: one is, or
    lost cases; 3: no verdict.
    """
    from linkscope.answers.ab import answer
    from linkscope.cli.answering import printed
    from linkscope.figures.run import Run
    from linkscope.launch.ab import compared, default_folder
    from linkscope.launch.ab_narrow import Narrowing
    from linkscope.launch.job import Request
    from linkscope.launch.launcher.launch_options import LaunchOptions
    from linkscope.launch.process.scratch import Scratch
    from linkscope.plan.select import parse_share

    least = parse_share("threshold", threshold, 0.0)
    words = {"devices": devices, "methods": methods, "sizes": sizes, "clock": clock, "budget": budget}
    words |= {"keyword": one_keyword(keyword), "machine": machine, "engine": engine}
    launching = LaunchOptions(launcher, launcher_command, hosts, hostfile)
    request = Request(suites=tuple(suites or ("default",)), launching=launching, **given(words))
    with ExitStack() as until_measured:
        sides = _sides({"a": a, "b": b, "c": c, "d": d}, lambda: until_measured.enter_context(Scratch()).path)
        listener = _listener(len(sides))
        found = compared(request, sides, output or default_folder(), listener, Narrowing(request), least)
    answered = answer(*map(Run.of, found), threshold=least)
    code = printed(answered, out(), "json" if as_json else "text", full)
    err().print(f"wrote {found[0].path.parent}", highlight=False, markup=False, soft_wrap=True)
    return code


def _sides(asked: dict[str, list[str] | None], scratch: Callable[[], Path]) -> list[Side]:
    """Return the sides in order. Raises LinkscopeError for fewer than two, and for a wrong setting."""
    from linkscope.launch.ab_sides import side_of
    from linkscope.messages.catalog import problem

    if not asked["a"] or not asked["b"]:
        raise problem("ab.too-few")
    return [side_of(name, words, scratch) for name, words in asked.items() if words]


def _listener(sides: int) -> Listener:
    """Return what says where the comparison stands: a line before it, and one for each few rounds."""
    from linkscope.launch.run import Listener
    from linkscope.messages.catalog import sentence
    from linkscope.messages.finding import note

    console = err()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    def begin(job: Job, cases: Sequence[PlannedCase]) -> None:
        left = max(job.deadline - time.monotonic(), 0.0)
        facts = {"cases": len(cases), "node": job.node.name, "sides": sides}
        modelled = job.node.modelled
        say(sentence(note("ab.begin-model", **facts) if modelled else note("ab.begin", seconds=left, **facts)))

    def tell_round(number: int, cases: Sequence[PlannedCase]) -> None:
        if number % _TOLD_ROUNDS == 0 and number:
            say(sentence(note("ab.round", round=number, cases=len(cases))))

    return Listener(on_job=begin, on_round=tell_round, on_note=say)
