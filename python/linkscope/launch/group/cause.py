"""ExitCause: how a process of a group ended, and who is to be named where several did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkscope.launch.explanation import Cause, Explanation, explained
from linkscope.launch.group.rank_process import RankProcess, StepFailure, fallen, latest_case
from linkscope.launch.launcher.launcher import ExitStatus

Json = dict[str, Any]

_REFUSED, _LOST = 2, 3
"""Exit codes of an engine that is given what it cannot work on, and of one that cannot go on (engine/run/main.cpp)."""
_DYING_S = 1.0
"""Longest time that the kernel takes to close what a killed process held, the latest opened first: the connections to
others, what a driver has to tear down, and at last the one to the supervisor.
"""


@dataclass(frozen=True)
class ExitCause:
    """Describe how a process ended: by its status (None: unknown), and by its own words, if any."""

    process: RankProcess
    ending: ExitStatus | None

    def __str__(self) -> str:
        return str(self.explanation)

    @property
    def explanation(self) -> Explanation:
        if self.is_killed or self._complaint is None:
            return explained("gone", [self._rank], f"{self.process.name} {self.ending}")
        said = Explanation.of(self._complaint, "it did not say why")
        of_another = self.is_late or any(self._rank in cause.ranks for cause in self.complaint_causes[:1])
        if of_another:
            return said
        if self.complaint_causes:
            return Explanation((f"{self.process.name}: ", *said.parts), self._rank)
        return replace(explained("failed", [self._rank], f"{self.process.name}: {said}"), teller=self._rank)

    @property
    def complaint_causes(self) -> tuple[Cause, ...]:
        """Return the causes that its own words name."""
        return Cause.of(self._complaint)

    @property
    def is_killed(self) -> bool:
        """Return whether it died of a signal: of no other's end, whose connections break."""
        return self.ending is not None and self.ending.status < 0

    @property
    def is_refusal(self) -> bool:
        said = self._complaint is not None and self._complaint.get("fault") == "bad-input"
        return said or (self.ending is not None and self.ending.status == _REFUSED)

    @property
    def is_lost(self) -> bool:
        """Return whether it may well have ended for another's sake."""
        return not self.is_refusal and (self.ending is None or self.ending.status in (0, _LOST))

    @property
    def is_bare(self) -> bool:
        """Return whether an exit code is all that is known."""
        return self._complaint is None and self.ending is not None and self.ending.status >= 0 and not self.ending.words

    @property
    def is_late(self) -> bool:
        """Return whether it waited in vain for another, which was there and may have been held up."""
        return bool(self.complaint_causes) and self.complaint_causes[-1].how == "late"

    @property
    def rank_order(self) -> int:
        """The least tells most: a signal, a refusal, a crash, what was said before leaving, a bare exit code."""
        return [self.is_killed, self.is_refusal, not self.is_lost, self._complaint is not None, True].index(True)

    @property
    def _complaint(self) -> Json | None:
        return self.process.complaint

    @property
    def _rank(self) -> int:
        return self.process.hello.rank

    def blames(self, rank: int) -> bool:
        """Return whether it ended for the sake of that one, by its own words."""
        return self.is_lost and blames(self.complaint_causes, rank)


def blames(causes: Sequence[Cause], rank: int) -> bool:
    return any(rank in cause.ranks for cause in causes)


def failed(processes: Sequence[RankProcess]) -> list[tuple[RankProcess, StepFailure]]:
    """Who of ``processes`` (by rank) could not do its part of the case under way, and why: the first first."""
    latest = latest_case(processes)
    found = [(one, one.failure) for one in processes if one.failure is not None and one.case == latest]
    return sorted(found, key=lambda item: item[1].moment)


def with_failures(
    processes: Sequence[RankProcess], explanation: Explanation, cause: ExitCause | None = None
) -> Explanation:
    """``explanation`` behind who of ``processes`` (by rank) first could not do its part of the step under way, unless
    it begins with that one: others may have waited in vain. Who failed after a process was gone may have done so for
    that one's sake and comes behind; where the ``cause`` is a signal, so does who failed little before that was seen.
    """
    failures = failed(processes)
    if not failures:
        return explanation
    gone = fallen(processes)
    end = gone[0].fell if gone else float("inf")
    killed = cause.process if cause is not None and cause.is_killed else None
    if killed is not None:
        end = min(end, killed.fell - _DYING_S)
    own = killed or next(iter(gone), None)
    early = [(one, failure) for one, failure in failures if failure.moment < end or one is own]
    first, failure = (early or failures)[0]
    told = explained("failed", [first.hello.rank], f"{first.name} failed: {failure.reason}")
    if not early:
        known = first.hello.rank in explanation.failed
        return explanation if known else explanation.followed_by("; ", *told.parts)
    firsts = {one.hello.rank for one, failure in early if failure.moment == early[0][1].moment}
    if explanation.begins_with({one.hello.rank for one, _ in early}, firsts):
        return explanation
    return told.followed_by("; ", *explanation.without(first.hello.rank).parts)
