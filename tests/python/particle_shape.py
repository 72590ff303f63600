"""ParticleShape: messages, bytes, rounds and shares of a particle exchange: recorded ones, and those of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import ceil, exp, log

from linkscope.workload.particles import HEADER, PARTICLE
from linkscope.workload.schedule import Schedule

_LEAD = 4
"""Rounds whose shares are told one by one; the decay is of those from the last of them on."""


@dataclass(frozen=True)
class ParticleShape:
    """Of one cycle. Messages and MB (10^6 bytes) are means over ranks. Percentiles are those of messages' particles, by
    nearest rank. ``decay``: by which factor a later round sends less, by a line through the logarithms."""

    messages_per_rank: float
    mb_per_rank: float
    p10: float
    p50: float
    p90: float
    largest: float
    rounds: float
    share_0: float
    share_1: float
    share_2: float
    share_3: float
    decay: float

    def beside(self, other: ParticleShape) -> list[tuple[str, float, float]]:
        """Name, own and other figure of every entry."""
        return [(one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]


RECORDED = {
    ("problem-1", 655_360): ParticleShape(58, 4.0, 4, 467, 1143, 1852, 20, 0.44, 0.26, 0.14, 0.07, 0.57),
    ("problem-1", 2_621_440): ParticleShape(61, 11.8, 3, 1057, 3617, 7027, 22.5, 0.44, 0.26, 0.14, 0.07, 0.57),
    ("problem-2", 212_960): ParticleShape(306, 9.9, 4, 260, 470, 969, 99, 0.061, 0.068, 0.067, 0.064, 0.91),
}
"""Of Quicksilver, steady cycles on 2 x 2 x 1 ranks, by deck and particles."""


def shape(schedule: Schedule) -> ParticleShape:
    """Of the schedule's first loop. Raises ValueError where it sends no particles."""
    rounds: list[list[int]] = [[]]
    for phase in schedule.loops[0].phases:
        rounds[-1] += [(one.size - HEADER) // PARTICLE for one in phase.messages]
        if phase.termination != "none":
            rounds.append([])
    rounds.pop()  # after the last test come the cycle's other collectives
    sent = sorted(count for one in rounds for count in one)
    if not sent:
        raise ValueError("no particles are sent")
    whole = sum(sent)
    shares = [sum(one) / whole for one in rounds]
    first, second, third, fourth = [*shares, *(0.0,) * _LEAD][:_LEAD]
    size = HEADER * len(sent) + PARTICLE * whole
    return ParticleShape(
        len(sent) / schedule.ranks,
        size / schedule.ranks / 1e6,
        _percentile(sent, 0.1),
        _percentile(sent, 0.5),
        _percentile(sent, 0.9),
        sent[-1],
        len(rounds),
        first,
        second,
        third,
        fourth,
        _decay(shares[_LEAD - 1 :]),
    )


def _percentile(ascending: Sequence[int], part: float) -> int:
    return ascending[max(0, ceil(part * len(ascending)) - 1)]


def _decay(shares: Sequence[float]) -> float:
    points = [(number, log(share)) for number, share in enumerate(shares) if share > 0]
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return exp(rise / sum((x - mean_x) ** 2 for x, _ in points))
