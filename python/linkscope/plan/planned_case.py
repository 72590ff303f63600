"""PlannedCase: a case of a plan, and why it cannot run where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class PlannedCase:
    """A case as the plan holds it; ``skip`` says why it cannot run, known before any engine is asked. ``left_out``: for
    lack of time alone, so that a later run may measure it."""

    case: Json
    skip: str | None = None
    left_out: bool = False

    @property
    def id(self) -> str:
        return str(self.case["id"])

    @property
    def environment(self) -> dict[str, str]:
        """Variables that its engine is started with."""
        return dict(self.case.get("environment", {}))
