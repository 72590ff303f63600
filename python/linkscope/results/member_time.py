"""Member time: where the mean time of one transfer of a schedule went, by part and by phase, of one of its members."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from linkscope.results.stats import Number

PARTS = ("allocate", "pack", "copy", "send", "wait", "unpack", "collectives", "synchronise")
"""Parts of the time of one transfer, in a message's order."""


class MemberTime(Struct, frozen=True, gc=False):
    """Seconds of one transfer, the mean of all: ``parts_s`` by part, which add up to it; ``phases_s`` in the schedule's
    order, each of all times that the phase took place."""

    parts_s: dict[str, Number]
    phases_s: tuple[Number, ...]

    @property
    def seconds(self) -> float:
        """Return the mean seconds of one transfer."""
        return sum(self.parts_s.values())

    def share(self, part: str) -> float:
        """Return a part's share of the time, 0.12 for 12 %; 0 where the member did not do it."""
        return self.parts_s.get(part, 0.0) / self.seconds if self.seconds else 0.0

    @property
    def in_order(self) -> list[float]:
        """Seconds of each of ``PARTS``."""
        return [self.parts_s.get(name, 0.0) for name in PARTS]


def slowest(members: Sequence[MemberTime]) -> MemberTime | None:
    """The member that took longest; None where none says."""
    return max(members, key=lambda one: one.seconds, default=None)


def of_replicates(replicates: Sequence[Sequence[MemberTime]]) -> tuple[MemberTime, ...]:
    """Each member's means over the replicates, so that its parts still add up; nothing where these do not agree on the
    number of members or phases."""
    if len({(len(one), tuple(len(member.phases_s) for member in one)) for one in replicates}) != 1:
        return ()
    return tuple(_mean(member) for member in zip(*replicates, strict=True))


def _mean(times: Sequence[MemberTime]) -> MemberTime:
    names = dict.fromkeys(name for one in times for name in one.parts_s)
    phases = zip(*(one.phases_s for one in times), strict=True)
    return MemberTime(
        {name: fmean(one.parts_s.get(name, 0.0) for one in times) for name in names},
        tuple(fmean(phase) for phase in phases),
    )
