"""A/B: the same cases under two settings or more, in turns: fresh processes for each turn, the order shuffled.

A round has a turn of every side. The orders of two rounds that follow each other are mirrored, so that what drifts
steadily falls on all sides alike. Each side has a run file of its own, whose replicates are the rounds.
"""

from __future__ import annotations

import math
import os
import platform
import random
import shlex
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from linkscope.documents.durations import parse_duration
from linkscope.errors import LinkscopeError
from linkscope.launch.ab_jobs import NO_TIME, jobs_of
from linkscope.launch.ab_sides import Side
from linkscope.launch.fitting import MOST_ROUNDS
from linkscope.launch.job import Job, Request
from linkscope.launch.launcher import inside
from linkscope.launch.process.scratch import sweep_abandoned
from linkscope.launch.rounds import Rounds
from linkscope.launch.run import INTERRUPTED, RUNS, Listener, RunUnderWay, stop_requested
from linkscope.launch.scheduler import JobScheduler
from linkscope.launch.supervisor import outcome
from linkscope.launch.worker import InterruptedRunError
from linkscope.messages.catalog import problem
from linkscope.plan.budget import RoundLimits, limits
from linkscope.plan.planned_case import PlannedCase
from linkscope.results.noise_class import noise_class
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.run_writer import RunWriter
from linkscope.statistics.paired import FEWEST_ROUNDS, THRESHOLD, Difference, paired
from linkscope.statistics.variance import SAME, UNCLEAR

Json = dict[str, Any]
Narrow = Callable[["Comparison"], Sequence[PlannedCase]]

BUDGET_S = 120.0
"""Seconds of a comparison where no budget is named."""
_CONFIRMED_ROUNDS = 14
"""Rounds after which a result that differs is not measured again."""
_LEAST_S = 1e-3
"""Seconds below which the start of processes is not estimated."""
_SURE = 0.95
"""Share of the time that is left into which rounds must fit for which cases are dropped, so that it is done once."""


def default_folder() -> Path:
    """Return runs/ab-HOST-TIME-PROCESS for a comparison that this process starts now."""
    return RUNS / f"ab-{platform.node()}-{datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}"


@dataclass(frozen=True)
class Turns:
    """Hold one side's settings, job and run file."""

    side: Side
    job: Job
    writer: RunWriter
    run: RunUnderWay


class _AllTurns(Rounds):
    """Merge the rounds of all sides. A launch shape that one side tuned holds for all."""

    def take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            known = self._rows[row.id]
            known[len(known)] = row


@dataclass
class Comparison:
    """A comparison under way. ``cases``: those that further rounds visit. ``logs``: by case and side, the logarithm of
    the speed in each round. ``threshold``: relative differences of less are none."""

    turns: Sequence[Turns]
    deadline: float
    cases: list[PlannedCase]
    threshold: float = THRESHOLD
    round: int = 0
    logs: dict[str, dict[str, dict[int, float]]] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    took_s: dict[str, list[float]] = field(default_factory=dict)
    """Seconds of the visits of each case."""
    starts: list[float] = field(default_factory=list)
    """Seconds that a turn took beyond its visits, over the estimate, of each turn."""

    @property
    def job(self) -> Job:
        """Return the job of the base side."""
        return self.turns[0].job

    def take(self, side: str, row: Row) -> None:
        """Know a row of a side."""
        self.took_s.setdefault(row.id, []).append(row.elapsed_s)
        if (speed := _speed(row)) is not None:
            self.logs.setdefault(row.id, {}).setdefault(side, {})[row.replicate] = math.log(speed)
            self.classes.setdefault(row.id, noise_class(row.case).key)

    def differences(self) -> dict[tuple[str, str], Difference]:
        """Return how each case differs from the base side, by id and side."""
        changes: dict[tuple[str, str], list[float]] = {}
        base = self.turns[0].side.name
        for case_id, sides in self.logs.items():
            for side in sides.keys() - {base}:
                rounds = sides[side].keys() & sides.get(base, {}).keys()
                changes[case_id, side] = [sides[side][one] - sides[base][one] for one in sorted(rounds)]
        return paired(changes, {key: self.classes[key[0]] for key in changes}, threshold=self.threshold)

    def limited(self, case: Json) -> Json:
        """Return a case that comes in addition, with its limits of time."""
        return {**case, **limits(case, self.job.options)}

    def left_s(self) -> float:
        """Return how many seconds are left."""
        return self.deadline - time.monotonic()

    def visit_s(self, case: PlannedCase) -> float:
        """Return the seconds that a round's visits of a case take under all sides."""
        took_s = self.took_s.get(case.id)
        return len(self.turns) * (median(took_s) if took_s else self.job.visit_s(case))

    def starts_s(self, cases: Sequence[PlannedCase]) -> float:
        """Return the seconds that a round takes under all sides beyond its visits: processes start and end."""
        ratio = median(self.starts) if self.starts else 1.0
        return len(self.turns) * ratio * self.job.options.costs.starts_s([case.case for case in cases])

    def take_turn(self, cases: Sequence[PlannedCase], seconds: float) -> None:
        """Know how long a turn took that has visited these cases."""
        visits_s = sum(self.took_s[case.id][-1] for case in cases if case.id in self.took_s)
        estimate_s = self.job.options.costs.starts_s([case.case for case in cases])
        self.starts.append(max(seconds - visits_s, 0.0) / max(estimate_s, _LEAST_S))


def compared(
    request: Request,
    sides: Sequence[Side],
    folder: Path,
    listener: Listener | None = None,
    narrowing: Narrow = lambda comparison: (),
    threshold: float = THRESHOLD,
) -> list[RunFile]:
    """Measure what ``request`` asks for under each side in turns, and return the run files: ``folder``/a.jsonl and on.

    The budget is that of all sides together. ``narrowing`` says, after the first rounds and whenever all cases are
    known, which cases come in addition. Raises LinkscopeError for wrong input, where a side has loaded another library
    than asked for, and with exit code 130 when interrupted: what was measured is in the files.
    """
    told = listener or Listener()
    if inside.place() is not None:
        raise problem("ab.inside")
    if len(sides) < 2:
        raise problem("ab.too-few")
    if any(folder.glob("*.jsonl")):
        raise problem("ab.folder-exists", path=str(folder))
    deadline = time.monotonic() + (parse_duration(request.budget) if request.budget else BUDGET_S)
    jobs = jobs_of(replace(request, budget=None), sides, deadline)
    group = f"{platform.node()}-{uuid.uuid4().hex[:12]}"
    rounds = _AllTurns(jobs[0].cases, RoundLimits(1, MOST_ROUNDS), jobs[0].options.precision, seed=group)
    turns: list[Turns] = []
    comparison = Comparison(turns, deadline, [one for one in jobs[0].cases if one.skip is None], threshold)
    command = _command_line(request, sides)
    try:
        for side, job in zip(sides, jobs, strict=True):
            said = {"group": group, "side": side.name, "sides": [one.name for one in sides]}
            header = {**job.header(command), "interleaved": {**said, "settings": list(side.settings)}}
            writer = RunWriter.create(folder / f"{side.name}.jsonl", header)
            turns.append(_turns(side, job, writer, rounds, comparison, told))
        sweep_abandoned()
        for text in dict.fromkeys(text for one in jobs for text in one.notes):
            told.on_note(text)
        told.on_job(jobs[0], comparison.cases)
        with stop_requested() as stopped:
            _skip_unmeasured(turns)
            try:
                _measure(comparison, group, told, narrowing, stopped)
            except InterruptedRunError as interruption:
                if stopped():
                    raise _interrupted(comparison) from interruption
        for one in turns:
            _leave_out_rest(one, comparison)
            one.writer.append({"record": "state", "when": "finished", "state": one.job.state()})
    finally:
        for one in turns:
            one.writer.close()
    return [RunFile.read(one.writer.path) for one in turns]


def _turns(
    side: Side, job: Job, writer: RunWriter, rounds: Rounds, comparison: Comparison, listener: Listener
) -> Turns:
    def take(row: Json) -> None:
        comparison.take(side.name, Row.from_json(row))
        listener.on_row(row)

    scheduler = JobScheduler(job, None, writer.append, listener.on_note)
    return Turns(side, job, writer, RunUnderWay(job, rounds, writer, replace(listener, on_row=take), scheduler))


def _command_line(request: Request, sides: Sequence[Side]) -> list[str]:
    """Return the words that ask for the same again."""
    settings = [word for one in sides for setting in one.settings for word in (f"--{one.name}", setting)]
    return ["linkscope", "ab", *request.command_line[2:], *settings]


def _skip_unmeasured(turns: Sequence[Turns]) -> None:
    """Write the rows of cases that no side measures, or that this one cannot."""
    for one in turns:
        skipped = [case for case in one.job.cases if case.skip is not None]
        one.run.visit(0, skipped, lambda: False)


def _measure(
    comparison: Comparison, group: str, listener: Listener, narrowing: Narrow, stopped: Callable[[], bool]
) -> None:
    """Take turns until all is known or the time is used up. Raises InterruptedRunError where a turn was cut short."""
    order = random.Random(group)
    sides = list(comparison.turns)
    skipped = {case.id for one in sides for case in one.job.cases if case.skip is not None}
    comparison.cases = [case for case in comparison.cases if case.id not in skipped]
    while (cases := _wanted(comparison, narrowing)) and comparison.round < MOST_ROUNDS:
        number = comparison.round
        if number % 2 == 0:
            order.shuffle(sides)
        shuffled = list(cases)
        random.Random(f"{group} {number}").shuffle(shuffled)
        listener.on_round(number, shuffled)
        for one in sides if number % 2 == 0 else reversed(sides):
            begun = time.monotonic()
            one.run.visit(number, shuffled, stopped)
            comparison.take_turn(shuffled, time.monotonic() - begun)
        comparison.round += 1
        if comparison.job.node.modelled:
            return


def _wanted(comparison: Comparison, narrowing: Narrow) -> list[PlannedCase]:
    """Return the cases of the next round: those of the first rounds until each has so many that it may differ, then
    those that are open and those that narrow a difference down. No round is begun that would be cut short, by what the
    turns so far took."""
    if comparison.round < FEWEST_ROUNDS:
        comparison.cases = _of_first_rounds(comparison)
        return comparison.cases
    comparison.cases.extend(narrowing(comparison))
    differences = comparison.differences()
    open_cases = [case for case in comparison.cases if _is_open(case, comparison, differences)]
    begun = {case_id: max(map(len, of_sides.values())) for case_id, of_sides in comparison.logs.items()}
    return _that_fit(comparison, open_cases, comparison.left_s(), lambda case: begun.get(case.id, 0))


def _of_first_rounds(comparison: Comparison) -> list[PlannedCase]:
    """Return all cases where as many rounds as a difference needs still fit, by what the turns so far took; else the
    shortest, of which these fit; where none is so short those of which one round fits."""
    cases, left_s = comparison.cases, comparison.left_s()
    share_s = left_s / (FEWEST_ROUNDS - comparison.round)
    if not comparison.round or comparison.starts_s(cases) + sum(map(comparison.visit_s, cases)) <= share_s:
        return cases
    fewer = _that_fit(comparison, cases, _SURE * share_s, comparison.visit_s)
    return fewer or _that_fit(comparison, cases, left_s, comparison.visit_s)


def _is_open(case: PlannedCase, comparison: Comparison, differences: dict[tuple[str, str], Difference]) -> bool:
    """Return whether a case has too few rounds, is unclear, or differs and has not been confirmed."""
    known = [differences.get((case.id, one.side.name)) for one in comparison.turns[1:]]
    if case.id in comparison.took_s and not any(known):
        return False
    for one in known:
        if one is None or one.rounds < FEWEST_ROUNDS or one.verdict == UNCLEAR:
            return True
        if one.verdict != SAME and one.rounds < _CONFIRMED_ROUNDS:
            return True
    return False


def _that_fit(
    comparison: Comparison, cases: Sequence[PlannedCase], left_s: float, rank: Callable[[PlannedCase], float]
) -> list[PlannedCase]:
    """Return the cases of a round that fits into so many seconds, those of the lowest rank first."""
    left = left_s - comparison.starts_s(cases)
    chosen: list[PlannedCase] = []
    for case in sorted(cases, key=rank):
        if comparison.visit_s(case) <= left:
            chosen.append(case)
            left -= comparison.visit_s(case)
    return chosen


def _leave_out_rest(turns: Turns, comparison: Comparison) -> None:
    """Say of every planned case without a row that there was no time for it."""
    for case in turns.job.cases:
        if case.skip is None and case.id not in comparison.took_s:
            row = outcome(case.case, "skipped", NO_TIME, turns.job.backend)
            turns.writer.append({**row, "left_out": True})


def _interrupted(comparison: Comparison) -> LinkscopeError:
    """Return the error that says where what was measured is."""
    paths = [str(one.writer.path) for one in comparison.turns]
    for one in comparison.turns:
        one.writer.append({"record": "state", "when": "interrupted"})
    error = problem("ab.interrupted", rounds=comparison.round, command=shlex.join(["linkscope", "compare", *paths]))
    return LinkscopeError(str(error), INTERRUPTED)


def _speed(row: Row) -> float | None:
    """Return a number that grows with the speed of a row: its rate, or one over its time; None where it has neither."""
    watched = row.watched
    if row.status != "ok" or watched is None or watched.median <= 0:
        return None
    return watched.median if row.aggregate is not None else 1 / watched.median
