"""What `linkscope calibrate` prints around its turns: a line for each, the table, and where it is kept."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer
from rich.console import Console

from linkscope.analysis.calibration import by_case, calibrate
from linkscope.cli.measuring import command_line
from linkscope.errors import LinkscopeError
from linkscope.launch.calibrate import TURNS, default_folder, turns
from linkscope.launch.job import Job, Request
from linkscope.launch.run import Listener
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import calibration_text, wording
from linkscope.results.calibration import Calibration, keep, load
from linkscope.results.run_file import RunFile
from linkscope.results.run_files import read_all


def measure(
    request: Request | None, count: int | None, output: Path | None, out: Console, err: Console, as_json: bool
) -> int:
    """Takes the turns, prints their table and keeps it for the node, unless that is modelled; 1 where a case failed."""
    folder, number = output or default_folder(), TURNS if count is None else count
    lines = _TurnLines(number, err)
    runs = [lines.told(run) for run in turns(request, number, folder, lines.listener(), command_line)]
    found = calibrate(runs)
    _print(found, runs, out, as_json)
    if not found.why_not_kept:
        before = load(runs[0].node, lines.say) or ()
        path = keep(found)
        older = [f", instead of that of {one.made}" for one in before if one.suites == found.suites]
        lines.say(f"kept in {path}{''.join(older)}: {_what_it_does(found)}; `rm {shlex.quote(str(path))}` undoes it")
    elif not found.modelled:
        lines.say(f"not kept: {found.why_not_kept}")
    return 1 if any(run.with_status("failed") for run in runs) else 0


def _what_it_does(found: Calibration) -> str:
    """To the intervals of later runs, as the table's column has them."""
    everything = found.classes[-1]
    if everything.calibrated is None:
        return "later runs here widen their intervals by it"
    after, before = (wording.half_width(one.margin) for one in (everything.calibrated, everything.intervals))
    return f"later runs here will have intervals of {after} instead of {before} (of the figure in the middle)"


def compute(paths: Sequence[Path], out: Console, err: Console, as_json: bool) -> int:
    """Prints the table of runs that exist: files, or folders of them."""
    runs = read_all(paths)
    if not runs:
        raise LinkscopeError("no run file to calibrate by: name some behind --from, or a folder of them")
    for run in runs:
        for notice in run.notices:
            _say(notice, err)
        if run.missing:
            _say(f"{run.path} lacks {len(run.missing)} of {len(run.plan_ids)} cases", err)
    _print(calibrate(runs), runs, out, as_json)
    if not as_json:
        _say("nothing is kept for later runs: only `linkscope calibrate SUITE`, which measures, does that", err)
    return 0


class _TurnLines:
    """One line ahead of the turns, one behind each, which is the run's own where nothing was left to measure."""

    def __init__(self, count: int, console: Console) -> None:
        self._count = count
        self._console = console
        self._turn = 1
        self._announced = 0
        self._began: float | None = None

    def listener(self) -> Listener:
        return Listener(on_job=self._begin, on_note=self.say)

    def told(self, run: RunFile) -> RunFile:
        """Says how a turn ended, and passes it on."""
        turn, self._turn = self._turn, self._turn + 1
        if self._began is None:
            return run
        took, self._began = time.monotonic() - self._began, None
        failed = len(run.with_status("failed"))
        ended = f"{len(run.with_status('ok'))} ok" + (f", {failed} failed" if failed else "")
        self.say(f"[{turn}/{self._count}] {run.path}  {ended}  {wording.duration(took)}")
        return run

    def say(self, text: str) -> None:
        """Prints a line."""
        _say(text, self._console)

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._began = time.monotonic()
        if self._announced == 0:
            self._announced = len(pending)
            turn = wording.duration(job.estimate(pending).likely_s)
            self.say(f"{self._count} turns of {wording.cases_on(len(pending), job.node)}, each about {turn}")


def _say(text: str, console: Console) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def _print(found: Calibration, runs: Sequence[RunFile], out: Console, as_json: bool) -> None:
    if not as_json:
        calibration_text.show(found, out)
        return
    cases = {name: [asdict(noise) for noise in held] for name, held in by_case(runs).items()}
    typer.echo(json.dumps({**found.to_json(), "cases": cases}))
