"""Progress of a run in a notebook: one line that changes, and at the end says how long it took."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from linkscope.launch.job import Job
from linkscope.launch.pace import Pace
from linkscope.launch.run import Listener
from linkscope.messages import numbers
from linkscope.plan.planned_case import PlannedCase

LEAST_S = 0.2
"""Between two changes of the line."""


@contextmanager
def progress_line() -> Iterator[Listener]:
    """A listener that shows a run in the notebook that this process is the kernel of; elsewhere it shows nothing."""
    if not in_notebook():
        yield Listener()
        return
    display = importlib.import_module("IPython.display").display
    handle = display({"text/plain": ""}, raw=True, display_id=True)
    line = ProgressLine(lambda text: handle.update({"text/plain": text}, raw=True))
    try:
        yield line.listener()
    finally:
        line.end()


def in_notebook() -> bool:
    """Return whether IPython runs here as a kernel, whose front end can change what it shows."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class ProgressLine:
    """Tells ``show`` what the line reads now. ``clock`` in seconds."""

    def __init__(self, show: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._show, self._clock = show, clock
        self._began = self._told = clock()
        self._pace = Pace({}, {}, 0)
        self._least_rounds, self._rounds, self._runs = 1, "", 0
        self._cases = self._done = self._failed = self._measured = 0

    def listener(self) -> Listener:
        return Listener(self._begin, self._round, self._start, self._row, self._note)

    def end(self) -> None:
        """Leaves what was done, and how long it took; nothing of a run that did not begin."""
        cut = self._done < self._cases
        done = f"{self._rounds}{self._done} of {self._cases} cases" if cut else numbers.count(self._measured, "case")
        failed = f", {self._failed} failed" if self._failed else ""
        self._show(f"{done} in {numbers.duration(self._clock() - self._began)}{failed}" if self._runs else "")

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._runs += 1
        self._least_rounds, self._pace = job.rounds.least, job.pace(pending)
        self._measured += len(pending)
        likely_s = job.estimate(pending).likely_s
        self._tell(f"{numbers.count(len(pending), 'case')}, about {numbers.duration(likely_s)}")

    def _round(self, number: int, cases: Sequence[PlannedCase]) -> None:
        self._pace.begin_round([case.id for case in cases if case.skip is None])
        self._cases, self._done = len(cases), 0
        self._rounds = f"round {number + 1}, " if number or self._least_rounds > 1 else ""

    def _start(self, case_id: str) -> None:
        now = self._clock()
        if now - self._told < LEAST_S:
            return
        left = numbers.duration(self._pace.left_s(now))
        self._tell(f"{self._rounds}{self._done} of {self._cases} cases, about {left} left: {case_id}")

    def _row(self, row: dict[str, Any]) -> None:
        self._done += 1
        self._failed += row["status"] == "failed"
        if row["status"] == "skipped":
            self._pace.drop(row["id"])
        else:
            self._pace.take(row["id"], float(row.get("elapsed_s", 0.0)))

    def _note(self, note: str) -> None:
        sys.stdout.write(f"{note}\n")

    def _tell(self, text: str) -> None:
        self._told = self._clock()
        self._show(f"run {self._runs}, {text}" if self._runs > 1 else text)
