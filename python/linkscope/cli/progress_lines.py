"""ProgressLines: how a run goes on where nobody watches: a line for each test, and a sign of life between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from linkscope.cli.row_tally import RowTally, tallies
from linkscope.launch.job import Job
from linkscope.launch.pace import Pace
from linkscope.launch.run import Listener
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, note
from linkscope.plan.budget import row_of
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

QUIET_S = 60.0
"""After so long without a line comes one that says how far the run is."""


class ProgressLines:
    """A line for each test when all its cases have been visited once, one for each later round, and one for the first
    failure of a test's cases for each reason. ``extent`` says what comes, ``now`` gives seconds.
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
        if self._job is None:
            return
        rounds = self._job.rounds.least
        if number == 0:
            self._tell([note("plan.first-round", rounds=rounds)] if rounds > 1 else [])
        elif number < rounds:
            facts = {"number": number + 1, "rounds": rounds, "cases": len(run), "left": self._left_s}
            self._tell([note("plan.round-until" if self._pace.has_deadline else "plan.round", **facts)])
        elif number == rounds or self._now() - self._said_at > QUIET_S:
            facts = {"number": number + 1, "cases": len(run), "left": self._left_s}
            self._tell([note("plan.further-round-until" if self._pace.has_deadline else "plan.further-round", **facts)])

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
            facts = {"number": self._number + 1, "done": self._done, "cases": self._cases, "left": self._left_s}
            self._tell([note("plan.alive-until" if self._pace.has_deadline else "plan.alive", **facts)])

    def _tell_failure(self, row: Json) -> None:
        reason = str(row.get("reason", "no reason given"))
        if row["status"] == "failed" and (row_of(row["case"]), reason) not in self._failures:
            self._failures.add((row_of(row["case"]), reason))
            self._tell([note("plan.failed", case=row["id"], reason=reason)])

    @property
    def _left_s(self) -> float:
        return self._pace.left_s(self._now())

    def _tell(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            self._say(sentence(finding))

    def _say(self, text: str) -> None:
        self._said_at = self._now()
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
