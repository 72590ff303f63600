"""One entry of a list: a name, what it is, and what else is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ListEntry:
    """``text``: what it is, one sentence; ``brief``: the same in a few words, for its line. ``under``: the heading that
    it stands under. ``columns``: more cells of its line. ``note``: what entries of a list share and is told once, for
    example why they are not available. ``data``: more of it in JSON.
    """

    name: str
    text: str
    under: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    brief: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        note = {"note": self.note} if self.note else {}
        under = {"under": self.under} if self.under else {}
        return {"name": self.name, "text": self.text, **under, **note, **self.data}
