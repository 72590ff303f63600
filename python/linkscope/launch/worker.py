"""Worker: what carries out one plan (one engine, or a ProcessGroup of several), as the supervisor sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Protocol

from linkscope.errors import LinkscopeError

Json = dict[str, Any]


SUPERVISORS_FIELDS = frozenset({"suite", "name", "labels", "timeout_s", "processes", "environment"})
"""Fields of a case (schema/plan.schema.json) that no engine looks into."""


def engine_plan(plan: Json) -> Json:
    """What an engine is given of ``plan`` (schema/plan.schema.json): all but what the supervisor alone reads."""
    kept = [{name: case[name] for name in case if name not in SUPERVISORS_FIELDS} for case in plan["cases"]]
    return {**plan, "cases": kept}


class SilenceError(Exception):
    """Nothing was heard for as long as was allowed; ``fields``: of whom, as Worker.ending() says it."""

    def __init__(self, fields: Json) -> None:
        super().__init__(fields["reason"])
        self.fields = fields


class GarbageError(Exception):
    """A line that is not a JSON object; ``fields``: whose it is and how it begins, as Worker.ending() says it."""

    def __init__(self, fields: Json) -> None:
        super().__init__(fields["reason"])
        self.fields = fields


class InterruptedRunError(Exception):
    """The user or the system asked to stop; every row so far has been handed over."""


class RefusedPlanError(LinkscopeError):
    """The engine would not begin: its plan or an environment variable is wrong."""


class CannotStartError(LinkscopeError):
    """The processes did not come together, and trying again would not help; ``fields`` as Worker.ending() has them."""

    def __init__(self, reason: str, causes: Sequence[Json] = ()) -> None:
        super().__init__(reason)
        self.fields: Json = {"reason": reason, **({"causes": list(causes)} if causes else {})}


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

    def ending(self) -> Json:
        """How a worker that has no more records ended: the ``reason`` of a failed row, and its ``causes`` where several
        processes had a part in it (schema/result.schema.json). Raises RefusedPlanError where it refused the plan.
        """
