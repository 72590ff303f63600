"""Progress of a run on standard error: a bar with the time left on a terminal, plain lines otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from linkscope.analysis.by_flow import by_flow
from linkscope.analysis.headline import Headline, headline
from linkscope.launch.job import Job
from linkscope.launch.run import Listener
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import wording
from linkscope.results.row import Row

Json = dict[str, Any]


@contextmanager
def progress(console: Console) -> Iterator[Listener]:
    """A listener that shows on ``console`` how the run goes on."""
    if not console.is_terminal:
        yield _Lines(console).listener()
        return
    columns = (
        TextColumn("{task.fields[done]}/{task.fields[cases]}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar).listener()


def extent(job: Job, cases: Sequence[PlannedCase]) -> str:
    """What follows the number of ``cases``: where, how often and how long they will be measured."""
    rounds = job.rounds.least
    each = f", each in {rounds} rounds" if rounds > 1 else ""
    return f"{wording.cases_on(job.node)}{each}, about {wording.duration(job.estimate_s(cases))}"


class _Bar:
    """Advances by each case's estimated share of the whole, so that the time left is honest for uneven cases."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None, done=0, cases=0)
        self._share: dict[str, float] = {}
        self._rounds = 1
        self._done = 0

    def listener(self) -> Listener:
        return Listener(self._begin, self._round, self._start, self._row, self._note)

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._share = {case.id: job.visit_s(case) for case in pending}
        self._rounds = job.rounds.least
        self._bar.update(self._task, total=self._rounds * sum(self._share.values()))

    def _round(self, number: int, cases: Sequence[PlannedCase]) -> None:
        if number >= self._rounds:
            more = sum(self._share.get(case.id, 0.0) for case in cases)
            self._bar.update(self._task, total=(self._bar.tasks[self._task].total or 0.0) + more)
        self._done = 0
        self._bar.update(self._task, done=0, cases=len(cases))

    def _start(self, case_id: str) -> None:
        self._bar.update(self._task, description=case_id)

    def _note(self, note: str) -> None:
        self._bar.console.print(note, highlight=False, markup=False)

    def _row(self, row: Json) -> None:
        self._done += 1
        self._bar.update(self._task, advance=self._share.get(row["id"], 0.0), done=self._done)
        if row["status"] == "failed":
            self._bar.console.print(_line(row), style="red", highlight=False, markup=False)


class _Lines:
    """A line per case of the first round and per failure of the others; one line for all cases of a suite's row in
    succession that are skipped for one reason.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._job: Job | None = None
        self._cases = 0
        self._number = 0
        self._done = 0
        self._skipped: list[Json] = []

    def listener(self) -> Listener:
        return Listener(on_job=self._begin, on_round=self._round, on_row=self._row, on_note=self._say)

    def _begin(self, job: Job, pending: Sequence[PlannedCase]) -> None:
        self._job, self._cases = job, len(pending)
        self._say(f"{len(pending)} {extent(job, pending)}")

    def _round(self, number: int, cases: Sequence[PlannedCase]) -> None:
        self._number, self._cases, self._done = number, len(cases), 0
        if number and self._job is not None:
            wide = "" if number < self._job.rounds.least else " whose figures are wide"
            self._say(f"round {number + 1}: {len(cases)} cases{wide}")

    def _row(self, row: Json) -> None:
        self._done += 1
        if self._number and row["status"] == "ok":
            return
        if self._skipped and _skip_of(row) != _skip_of(self._skipped[0]):
            self._tell_skipped(self._done - 1)
        if row["status"] == "skipped":
            self._skipped.append(row)
        else:
            self._say(f"[{self._done}/{self._cases}] {_line(row)}")
        if self._skipped and self._done == self._cases:
            self._tell_skipped(self._done)

    def _tell_skipped(self, last: int) -> None:
        rows, self._skipped = self._skipped, []
        first = last - len(rows) + 1
        if len(rows) == 1:
            self._say(f"[{last}/{self._cases}] {_line(rows[0])}")
            return
        case = rows[0]["case"]
        self._say(
            f"[{first}-{last}/{self._cases}] {case['suite']}/{case['name']}  {len(rows)} skipped: {_reason(rows[0])}"
        )

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


def _skip_of(row: Json) -> tuple[Any, ...]:
    """What rows that are told together have in common."""
    return row["status"], row["case"]["suite"], row["case"]["name"], _reason(row)


def _reason(row: Json) -> str:
    return str(row.get("reason", "no reason given"))


def _line(row: Json) -> str:
    figures = [figure for part in by_flow(Row.from_json(row)) if (figure := headline(part)) is not None]
    if not figures:
        return f"{row['id']}  {row['status']}: {_reason(row)}"
    medians = list(dict.fromkeys(wording.value(figure.value.median) for figure in figures))
    return f"{row['id']}  {', '.join(medians)} {figures[0].unit} {wording.margin(max(figures, key=_margin))}"


def _margin(figure: Headline) -> float:
    return figure.margin
