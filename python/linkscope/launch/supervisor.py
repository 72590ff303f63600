"""Supervisor: gets a row for every case out of engines that may crash or hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import Any

from linkscope.launch.explanation import Explanation
from linkscope.launch.worker import (
    CannotStartError,
    GarbageError,
    InterruptedRunError,
    RefusedPlanError,
    SilenceError,
    Worker,
)

Json = dict[str, Any]

START_TIMEOUT_S = 120.0
"""Longest silence of an engine outside a case: loading a driver on a node with many GPUs takes a while."""
DEFAULT_TIMEOUT_S = 60.0
"""A case's limit where the plan names none (schema/plan.schema.json)."""
MOST_BAD_STARTS = 3
"""Engines in a row that end before they begin a case; then the rest of the plan is given up."""


@dataclass
class CaseEvents:
    """Receive what the supervisor reports, and tell it to stop."""

    on_row: Callable[[Json], None]
    on_start: Callable[[str], None] = lambda case_id: None
    interrupted: Callable[[], bool] = lambda: False
    on_restart: Callable[[str], None] = lambda note: None
    """Told of a worker that ended while no case was under way, which no row tells of."""


class Refusal(Enum):
    """Name the meaning of an engine's refusal to begin."""

    ENDS_RUN = "the plan itself is wrong"
    FAILS_CASES = "what these cases alone are started with may be what it refuses"


@dataclass
class Supervisor:
    """Runs plans with workers that ``start`` starts, each with the plan it is given."""

    start: Callable[[Json], Worker]
    backend: str
    refusal: Refusal = Refusal.ENDS_RUN
    start_timeout_s: float = START_TIMEOUT_S

    def run(self, plan: Json, watch: CaseEvents) -> None:
        """Hands a row of every case of ``plan`` to ``watch``, in the order they end.

        A case that kills its worker or leaves it silent for longer than its ``timeout_s`` gets a failed row with
        the reason; the rest goes on in a fresh worker. Where none can be started, or one refuses to begin and
        ``refusal`` says that it is for these cases' sake, they all fail with what it said. Raises RefusedPlanError
        otherwise, and InterruptedRunError.
        """
        left = {case["id"]: case for case in plan["cases"]}
        bad_starts, trouble = 0, Explanation(())
        while left:
            if watch.interrupted():
                raise InterruptedRunError
            before = len(left)
            try:
                trouble = self._one_worker({**plan, "cases": list(left.values())}, left, watch)
            except CannotStartError as failure:
                before_that = (" (before that: ", *trouble.parts, ")") if trouble.parts else ()
                return self._give_up(left, failure.explanation.followed_by(*before_that), watch)
            except RefusedPlanError as refusal:
                if self.refusal is Refusal.ENDS_RUN:
                    raise
                return self._give_up(left, refusal.explanation, watch)
            bad_starts = bad_starts + 1 if len(left) == before else 0
            if bad_starts == MOST_BAD_STARTS:
                ended = Explanation((f"the engine ended {bad_starts} times before it began a case: ",))
                self._give_up(left, ended.followed_by(*trouble.parts), watch)
        return None

    def _one_worker(self, plan: Json, left: dict[str, Json], watch: CaseEvents) -> Explanation:
        """Takes what one worker gives, removing from ``left`` what has its row; how it ended."""
        worker_run = _WorkerRun(left, watch, self.start_timeout_s)
        with self.start(plan) as worker:
            try:
                worker_run.follow(worker)
                trouble = worker.ending()
            except (SilenceError, GarbageError) as error:
                trouble = error.explanation
        if worker_run.current is not None:
            watch.on_row(self._failed(left.pop(worker_run.current), trouble, worker_run.elapsed_s))
        elif left and worker_run.between_cases:
            watch.on_restart(f"between cases: {trouble}; {len(left)} more to measure: started again")
        return trouble

    def _give_up(self, left: dict[str, Json], trouble: Explanation, watch: CaseEvents) -> None:
        for case in left.values():
            watch.on_row(self._failed(case, trouble, 0.0))
        left.clear()

    def _failed(self, case: Json, trouble: Explanation, elapsed_s: float) -> Json:
        return outcome(case, "failed", str(trouble), self.backend, elapsed_s) | trouble.fields


class _WorkerRun:
    """One worker's work on the cases that are left: which case is under way, and since when."""

    def __init__(self, left: dict[str, Json], watch: CaseEvents, start_timeout_s: float) -> None:
        self.current: str | None = None
        self.between_cases = False
        """Whether its last case went well: an engine that knows that it cannot go on ends after a failed one."""
        self._left = left
        self._watch = watch
        self._start_timeout_s = start_timeout_s
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def silence_s(self) -> float:
        """Return how long the worker may be silent at this point."""
        if self.current is None:
            return self._start_timeout_s
        return float(self._left[self.current].get("timeout_s", DEFAULT_TIMEOUT_S))

    def follow(self, worker: Worker) -> None:
        """Takes records until there are no more. Raises what Worker.next_record raises."""
        while (record := worker.next_record(self.silence_s, self._watch.interrupted)) is not None:
            self._take(record)

    def _take(self, record: Json) -> None:
        case_id = record.get("id")
        if case_id not in self._left:
            return
        if record.get("record") == "start":
            self.current, self._began = case_id, time.monotonic()
            self._watch.on_start(case_id)
        elif record.get("record") == "row":
            self.current, self.between_cases = None, record.get("status") != "failed"
            self._watch.on_row({**record, "case": self._left.pop(case_id)})


def outcome(case: Json, status: str, reason: str, backend: str, elapsed_s: float = 0.0) -> Json:
    """A row (schema/result.schema.json) for a case that has no figures; ``status`` is skipped or failed."""
    return {
        "record": "row",
        "id": case["id"],
        "status": status,
        "reason": reason,
        "modelled": backend == "modelled",
        "backend": backend,
        "case": case,
        "started": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
        "elapsed_s": round(elapsed_s, 3),
    }
