"""Supervisor: gets a row for every case out of engines that may crash or hang."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.process import EngineProcess, GarbageError, SilenceError

Json = dict[str, Any]

START_TIMEOUT_S = 120.0
"""Longest silence of an engine outside a case: loading a driver on a node with many GPUs takes a while."""
DEFAULT_TIMEOUT_S = 60.0
"""A case's limit where the plan names none (schema/plan.schema.json)."""
MOST_BAD_STARTS = 3
"""Engines in a row that end before they begin a case; then the rest of the plan is given up."""


class RefusedPlanError(LinkscopeError):
    """The engine would not begin: its plan or an environment variable is wrong."""


class InterruptedRunError(Exception):
    """The user or the system asked to stop; every row so far has been handed over."""


@dataclass
class Watch:
    """What the supervisor tells while it works, and how it is told to stop."""

    on_row: Callable[[Json], None]
    on_start: Callable[[str], None] = lambda case_id: None
    interrupted: Callable[[], bool] = lambda: False


@dataclass
class Supervisor:
    """Runs plans with one program. ``environment`` is added to this process's own for the engine."""

    program: Path
    backend: str
    environment: Mapping[str, str] = field(default_factory=dict)
    start_timeout_s: float = START_TIMEOUT_S

    def run(self, plan: Json, watch: Watch) -> None:
        """Hands a row of every case of ``plan`` to ``watch``, in the order they end.

        A case that kills its engine or leaves it silent for longer than its ``timeout_s`` gets a failed row with
        the reason; the rest goes on in a fresh engine. Where the engine refuses to begin (exit code 2) under an
        ``environment`` of its own, which may be what it refuses, the cases fail with what it said. Raises
        RefusedPlanError where it has no such environment, and InterruptedRunError.
        """
        left = {case["id"]: case for case in plan["cases"]}
        bad_starts = 0
        while left:
            before = len(left)
            try:
                trouble = self._one_engine({**plan, "cases": list(left.values())}, left, watch)
            except RefusedPlanError as refusal:
                if not self.environment:
                    raise
                self._give_up(left, str(refusal), watch)
                return
            bad_starts = bad_starts + 1 if len(left) == before else 0
            if bad_starts == MOST_BAD_STARTS:
                self._give_up(left, f"the engine ended {bad_starts} times before it began a case: {trouble}", watch)

    def _one_engine(self, plan: Json, left: dict[str, Json], watch: Watch) -> str:
        """Takes what one engine gives, removing from ``left`` what has its row; says how the engine ended."""
        stint = _Stint(left, watch, self.start_timeout_s)
        with EngineProcess(self.program, plan, {**os.environ, **self.environment}) as engine:
            try:
                stint.follow(engine)
                trouble = _ending(engine)
            except SilenceError:
                trouble = f"the engine hung: no sign of life for {stint.silence_s:g} s; it was killed"
            except GarbageError as garbage:
                trouble = f"the engine printed a line that is no record: {garbage}"
        if stint.current is not None:
            watch.on_row(self._failed(left.pop(stint.current), trouble, stint.elapsed_s))
        return trouble

    def _give_up(self, left: dict[str, Json], reason: str, watch: Watch) -> None:
        for case in left.values():
            watch.on_row(self._failed(case, reason, 0.0))
        left.clear()

    def _failed(self, case: Json, reason: str, elapsed_s: float) -> Json:
        return outcome(case, "failed", reason, self.backend, elapsed_s)


class _Stint:
    """One engine's work on the cases that are left: which case is under way, and since when."""

    def __init__(self, left: dict[str, Json], watch: Watch, start_timeout_s: float) -> None:
        self.current: str | None = None
        self._left = left
        self._watch = watch
        self._start_timeout_s = start_timeout_s
        self._began = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    @property
    def silence_s(self) -> float:
        """How long the engine may be silent at this point."""
        if self.current is None:
            return self._start_timeout_s
        return float(self._left[self.current].get("timeout_s", DEFAULT_TIMEOUT_S))

    def follow(self, engine: EngineProcess) -> None:
        """Takes records until the engine closes its output. Raises SilenceError, GarbageError, InterruptedRunError."""
        while True:
            record = engine.next_record(self.silence_s, self._watch.interrupted)
            if self._watch.interrupted():
                raise InterruptedRunError
            if record is None:
                return
            self._take(record)

    def _take(self, record: Json) -> None:
        case_id = record.get("id")
        if case_id not in self._left:
            return
        if record.get("record") == "start":
            self.current, self._began = case_id, time.monotonic()
            self._watch.on_start(case_id)
        elif record.get("record") == "row":
            del self._left[case_id]
            self.current = None
            self._watch.on_row(record)


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


def _ending(engine: EngineProcess) -> str:
    """How an engine that closed its output ended. Raises RefusedPlanError where it refused the plan."""
    code, words = engine.exit_code(), engine.last_words()
    if code == 2:
        raise RefusedPlanError(f"the engine refused the plan: {words or 'it did not say why'}")
    ended = f"the engine died of {_signal_name(-code)}" if code < 0 else f"the engine ended with exit code {code}"
    return f"{ended}: {words}" if words else ended


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
