"""Worker: what carries out one plan (one engine, or a ProcessGroup of several), as the supervisor sees it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from linkscope.errors import LinkscopeError
from linkscope.launch.explanation import Explanation

Json = dict[str, Any]


SUPERVISORS_FIELDS = frozenset({"suite", "name", "labels", "timeout_s", "processes", "environment"})
"""Fields of a case (schema/plan.schema.json) that are not sent to engines, which reject them."""


def engine_plan(plan: Json) -> Json:
    """Return what an engine is given of ``plan`` (schema/plan.schema.json): all but what the supervisor alone reads."""
    kept = [{name: case[name] for name in case if name not in SUPERVISORS_FIELDS} for case in plan["cases"]]
    return {**plan, "cases": kept}


class WorkerError(LinkscopeError):
    """A worker cannot go on."""

    def __init__(self, explanation: Explanation | str) -> None:
        super().__init__(str(explanation))
        self.explanation = Explanation((explanation,)) if isinstance(explanation, str) else explanation


class SilenceError(WorkerError):
    """Nothing was heard for as long as was allowed, and of whom."""


class GarbageError(WorkerError):
    """A line that is not a JSON object: whose it is and how it begins."""


class InterruptedRunError(Exception):
    """The user or the system asked to stop; every row so far has been handed over."""


class RefusedPlanError(WorkerError):
    """The engine would not begin: its plan or an environment variable is wrong."""


class CannotStartError(WorkerError):
    """The processes did not come together, and trying again would not help."""


class Worker(Protocol):
    """Started with a plan; its records come one by one. Leaving it as a context ends every process it has."""

    def __enter__(self) -> Worker: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def next_record(self, silence_s: float, interrupted: Callable[[], bool]) -> Json | None:
        """The next record (schema/result.schema.json); None at the end of them all.

        Raises SilenceError after ``silence_s`` seconds without one, GarbageError for a line that is none,
        InterruptedRunError as soon as ``interrupted`` says so, CannotStartError.
        """

    def ending(self) -> Explanation:
        """Return how a worker that has no more records ended. Raises RefusedPlanError where it refused the plan."""
