"""ProgressLines: how a run goes on where nobody watches: a line for each row of a suite, and a sign of life between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from linkscope.cli.row_tally import RowTally, tallies
from linkscope.launch.job import Job
from linkscope.launch.pace import Pace
from linkscope.launch.run import Listener
from linkscope.plan.budget import row_of
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import wording

Json = dict[str, Any]

QUIET_S = 60.0
"""After so long without a line comes one that says how far the run is."""


class ProgressLines:
    """A line for each row of a suite when all its cases have been visited once, one for each later round, and one for
    the first failure of a row's cases for each reason. ``extent`` says what comes, ``now`` tells seconds.
    """

    def __init__(
        self,
        console: Console,
        extent: Callable[[Job, Sequence[PlannedCase]], str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._extent = extent
        self._now = now
        self._job: Job | None = None
        self._pace = Pace({}, {}, 0)
        self._tallies: dict[str, RowTally] = {}
        self._finished = self._number = self._cases = self._done = 0
        self._failures: set[tuple[str, str]] = set()
        self._said_at = now()

    def listener(self) -> Listener:
        return Listener(on_job=self._begin, on_round=self._round, on_row=self._row, on_note=self._say)

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._job, self._pace, self._tallies = job, job.pace(pending), tallies(pending)
        self._say(self._extent(job, pending))

    def _round(self, number: int, cases: Sequence[PlannedCase]) -> None:
        run = [case.id for case in cases if case.skip is None]
        self._number, self._cases, self._done = number, len(run), 0
        self._pace.begin_round(run)
        if not number and self._job is not None and self._job.rounds.least > 1:
            self._say("round 1: first figures; those of all rounds follow at the end")
        if number and self._job is not None:
            extra = number - self._job.rounds.least
            wide = "" if extra < 0 else " that more rounds may make narrower"
            if extra <= 0 or self._now() - self._said_at > QUIET_S:
                self._say(f"round {number + 1}: {wording.count(len(run), 'case')}{wide}, {self._left()}")

    def _row(self, row: Json) -> None:
        if row["status"] == "skipped":
            self._pace.drop(row["id"])
        else:
            self._done += 1
            self._pace.take(row["id"], float(row.get("elapsed_s", 0.0)))
        self._tell_failure(row)
        tally = self._tallies.get(row_of(row["case"]))
        if tally is not None and tally.take(row):
            self._finished += 1
            number = str(self._finished).rjust(len(str(len(self._tallies))))
            self._say(f"[{number}/{len(self._tallies)}] {tally.line}")
        elif self._now() - self._said_at > QUIET_S:
            self._say(f"round {self._number + 1}: {self._done} of {self._cases} cases, {self._left()}")

    def _tell_failure(self, row: Json) -> None:
        reason = str(row.get("reason", "no reason given"))
        if row["status"] == "failed" and (row_of(row["case"]), reason) not in self._failures:
            self._failures.add((row_of(row["case"]), reason))
            self._say(f"{row['id']} failed: {reason}")

    def _left(self) -> str:
        about = "at most" if self._pace.has_deadline else "about"
        return f"{about} {wording.duration(self._pace.left_s(self._now()))} left"

    def _say(self, text: str) -> None:
        self._said_at = self._now()
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
