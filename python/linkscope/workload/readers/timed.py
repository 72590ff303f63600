"""TimedCall: one collective or message that a trace has timed, for who reads traces as results."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TimedCall:
    """Hold a call's time. ``kind``: as ``workload/ring.py`` calls it, or "send" and "receive". ``size``: bytes of the
    whole vector. ``ranks``: how many its group has; ``members``: their numbers, where the trace says them. ``element``:
    the type's name in the trace. ``hosts``: of the group, 0 where not said. ``on_host``: a clock of the host timed it.
    """

    kind: str
    size: int
    seconds: float
    ranks: int
    members: tuple[int, ...] = ()
    element: str = ""
    hosts: int = 0
    on_host: bool = False
