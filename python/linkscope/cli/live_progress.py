"""LiveProgress: how a run goes on for one who watches it: time left, the case under way, its matrix as it fills."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as Grid
from rich.text import Text

from linkscope.cli.live_matrix import LiveMatrix, matrices_of, matrix_key
from linkscope.cli.row_result import results_of, span
from linkscope.launch.job import Job
from linkscope.launch.pace import Pace
from linkscope.launch.run import Listener
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import note
from linkscope.messages.numbers import duration
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

REFRESHES = 2
"""A second: each takes time from what is measured."""
HOLD_S = 3.0
"""A matrix is shown at least for so long: cases come in random order."""
BAR = 20
LINES = 24
"""Lines of the terminal that a drawing fits."""


class LiveProgress:
    """``shown`` keeps it at the foot of the terminal, and takes it away. ``extent`` says what comes."""

    def __init__(
        self,
        console: Console,
        extent: Callable[[Job, Sequence[PlannedCase]], str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._extent = extent
        self._now = now
        self._lock = Lock()
        self._began = now()
        self._pace = Pace({}, {}, 0)
        self._least = self._number = self._cases = self._done = 0
        self._case = self._last = ""
        self._matrices: dict[tuple[str, str], LiveMatrix] = {}
        self._matrix: LiveMatrix | None = None
        self._chosen_at = -HOLD_S
        self._failures: set[str] = set()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the context lasts."""
        live = Live(
            get_renderable=self.picture,
            console=self._console,
            refresh_per_second=REFRESHES,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with live:
            yield

    def listener(self) -> Listener:
        return Listener(self._begin, self._round, self._start, self._row, self._say)

    def picture(self) -> RenderableType:
        """Return what is drawn now, in at most 24 lines."""
        with self._lock:
            if not self._cases:
                return Text("")
            width = self._console.width
            lines = (("now ", self._case), ("last", self._last))
            parts: list[RenderableType] = [self._head()]
            parts += [_cut(f"{word}  {what}") for word, what in lines if what]
            if self._matrix is not None:
                room = min(self._console.height, LINES) - len(parts) - 1
                parts += self._matrix.lines(width, room)
            return Group(*parts)

    def _head(self) -> RenderableType:
        now = self._now()
        left, spent = self._pace.left_s(now), now - self._began
        about = "at most" if self._pace.has_deadline else "about"
        grid = Grid.grid(padding=(0, 1))
        for _ in range(4):
            grid.add_column(no_wrap=True)
        more = f" of {self._least}" if self._number < self._least else ", uncertain results"
        grid.add_row(
            f"round {self._number + 1}{more}" if self._least > 1 else "",
            f"{self._done}/{self._cases}",
            ProgressBar(max(spent + left, 1.0), spent, width=BAR),
            f"{duration(spent)}, {about} {duration(left)} left",
        )
        return grid

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._say(self._extent(job, pending))
        with self._lock:
            self._pace, self._least, self._began = job.pace(pending), job.rounds.least, self._now()
            self._matrices = matrices_of([one.case for one in pending if one.skip is None])

    def _round(self, number: int, cases: Sequence[PlannedCase]) -> None:
        run = [case.id for case in cases if case.skip is None]
        with self._lock:
            self._number, self._cases, self._done = number, len(run), 0
            self._pace.begin_round(run)

    def _start(self, case_id: str) -> None:
        with self._lock:
            self._case = case_id

    def _row(self, row: Json) -> None:
        with self._lock:
            if row["status"] == "skipped":
                self._pace.drop(row["id"])
                return
            self._done += 1
            self._pace.take(row["id"], float(row.get("elapsed_s", 0.0)))
            self._last = f"{row['id']}  {span(results_of(row)) or row['status']}"
            matrix = self._matrices.get(matrix_key(row["case"]))
            if matrix is not None:
                matrix.take(row)
                if self._now() - self._chosen_at >= HOLD_S:
                    self._matrix, self._chosen_at = matrix, self._now()
        reason = str(row.get("reason", "no reason given"))
        if row["status"] == "failed" and reason not in self._failures:
            self._failures.add(reason)
            self._say(sentence(note("plan.failed", case=row["id"], reason=reason)))

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)


def _cut(line: str) -> Text:
    return Text(line, "dim", no_wrap=True, overflow="ellipsis")
