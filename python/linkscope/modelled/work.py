"""Work: what one flow of a case does on a machine model; NotModelledError: why it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.modelled.play import Lane

Json = dict[str, Any]


class NotModelledError(Exception):
    """The model cannot play a flow: its row is skipped, and says why."""


@dataclass(frozen=True)
class Work:
    """``lane``: one transfer, which has ``operations`` that wait for one another. ``payload``: bytes of one operation.

    ``members``: how many take part, all for equally long. ``touched_bytes``: read plus written, where users expect it.
    """

    lane: Lane
    payload: int
    bandwidth: bool
    measured: bool
    group: str = ""
    operations: int = 1
    members: int = 1
    touched_bytes: int = 0
    breakdown: tuple[Json, ...] = ()
    notes: tuple[str, ...] = ()
