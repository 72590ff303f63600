"""Finding: one thing that an answer says, as a code with its facts. messages/*.toml has the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

Facts = Mapping[str, Any]
"""Numbers, identifiers, lists of identifiers and intervals, by name. Shares are 0.05 for 5%, times are seconds."""


class Level(str, Enum):
    """Rank a finding: an error decides the outcome, a warning spoils results, a note informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """A code with its facts; it holds no sentence.

    ``code``: "explain.nvlinks-down", the section ``nvlinks-down`` of messages/explain.toml. ``where``: devices or paths
    that it is about. ``results``: ids of the cases that show it. ``source``: who says so, as a citation.
    """

    code: str
    level: Level = Level.NOTE
    facts: Facts = field(default_factory=dict)
    where: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    source: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict without the sentence."""
        return {**asdict(self), "level": self.level.value}


def error(code: str, **facts: Any) -> Finding:
    """Return a finding that decides the outcome."""
    return Finding(code, Level.ERROR, facts)


def warning(code: str, **facts: Any) -> Finding:
    """Return a finding about something that spoils results."""
    return Finding(code, Level.WARNING, facts)


def note(code: str, **facts: Any) -> Finding:
    """Return a finding that informs."""
    return Finding(code, Level.NOTE, facts)
