"""RankProcess: one process of a crew: how far it has come, what becomes of it, and a hold on it where it runs here."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.launch.group.control import Hello, name
from linkscope.launch.launcher.launchers import ExitStatus

Json = dict[str, Any]

_REFUSED, _LOST = 2, 3
"""Exit codes of an engine that is given what it cannot work on, and of one that cannot go on (engine/run/main.cpp)."""
_IMPATIENCE = re.compile(r"rank \d+( \(host [^)]*\))?(, rank \d+( \(host [^)]*\))?)* ha(s|ve) not come within ")
_DYING_S = 1.0
"""How long the kernel may take to close what a killed process held, the latest opened first: the connections to others,
what a driver has to tear down, and at last the one to the supervisor.
"""
_STATES = {"T": "it is stopped", "t": "it is being traced", "D": "it is stuck in the kernel", "Z": "it is dead"}


@dataclass(frozen=True)
class StepFailure:
    """Why a process could not do its part of a step of the case under way, in which others may be waiting for it; since
    when that is known, by time.monotonic().
    """

    reason: str
    moment: float


@dataclass
class RankProcess:
    """One process that has joined, and how far it has come."""

    hello: Hello
    pidfd: int | None
    case: str | None = None
    ended: str | None = None
    done: bool = False
    left: float | None = None
    complaint: Json | None = None
    complained: float | None = None
    failure: StepFailure | None = None

    @property
    def name(self) -> str:
        return name(self.hello.rank, self.hello.host)

    @staticmethod
    def of(hello: Hello, engine: Sequence[str]) -> RankProcess:
        """Of the process that said ``hello`` and should be running that ``engine``."""
        return RankProcess(hello, _hold(hello, engine))

    @property
    def is_here(self) -> bool:
        """Whether it runs on this host, under the number that it named."""
        return self.pidfd is not None

    @property
    def fell(self) -> float:
        """When it was first known that it would not go on."""
        moments = [moment for moment in (self.complained, self.left) if moment is not None]
        return min(moments, default=float("inf"))

    def trouble(self) -> str | None:
        """What the kernel says of a process of this host that cannot go on."""
        if not self.is_here:
            return None
        try:
            stat = Path(f"/proc/{self.hello.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return _STATES.get(stat.rpartition(")")[2].split()[0])

    def kill(self) -> None:
        """At once, where it runs here: one that is stopped hears nothing else."""
        if self.pidfd is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def let_go(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


@dataclass(frozen=True)
class ExitCause:
    """How a process ended, by its status and by its own words (an error record), of which one may be missing."""

    name: str
    ending: ExitStatus | None
    complaint: Json | None

    def __str__(self) -> str:
        if self.is_killed:
            return f"{self.name} {self.ending}"
        if self.complaint is not None:
            reason = str(self.complaint.get("reason", "it did not say why"))
            of_another = self.is_impatience or reason.startswith(self.name)
            return reason if of_another else f"{self.name}: {reason}"
        return f"{self.name} {self.ending}"

    @property
    def is_killed(self) -> bool:
        """Whether it died of a signal: of no other's end, whose connections break."""
        return self.ending is not None and self.ending.status < 0

    @property
    def is_refusal(self) -> bool:
        told = self.complaint is not None and self.complaint.get("fault") == "bad-input"
        return told or (self.ending is not None and self.ending.status == _REFUSED)

    @property
    def is_lost(self) -> bool:
        """Whether it may well have ended for another's sake."""
        return not self.is_refusal and (self.ending is None or self.ending.status in (0, _LOST))

    @property
    def is_bare(self) -> bool:
        """Whether an exit code is all that is known."""
        return self.complaint is None and self.ending is not None and self.ending.status >= 0 and not self.ending.words

    @property
    def is_impatience(self) -> bool:
        """Whether it waited for another in vain, by its own last words, not those that it quotes: that one was there,
        and may have been held up.
        """
        words = str(self.complaint.get("reason")) if self.complaint is not None else ""
        return _IMPATIENCE.match(words.rpartition("; ")[2]) is not None

    def blames(self, rank: int) -> bool:
        """Whether it ended for the sake of that one, by its own words."""
        words = str(self.complaint.get("reason", "")) if self.is_lost and self.complaint is not None else ""
        return mentions(words, rank)

    @property
    def launch_spec(self) -> int:
        """The least tells most: a signal, a refusal, a crash, what was said before leaving, a bare exit code."""
        return [self.is_killed, self.is_refusal, not self.is_lost, self.complaint is not None, True].index(True)


def latest_case(members: Iterable[RankProcess]) -> str | None:
    """The case that a crew has come to, by the word of the first of ``members`` (by rank) that has begun one."""
    return next((member.case for member in members if member.case is not None), None)


def failed(members: Sequence[RankProcess]) -> list[tuple[RankProcess, StepFailure]]:
    """Who of ``members`` (by rank) could not do its part of the case under way, and why: the first first."""
    latest = latest_case(members)
    found = [(one, one.failure) for one in members if one.failure is not None and one.case == latest]
    return sorted(found, key=lambda item: item[1].moment)


def fallen(members: Iterable[RankProcess]) -> list[RankProcess]:
    """Those that left before they were done, in the order in which they did."""
    return sorted((one for one in members if one.left is not None and not one.done), key=lambda one: one.fell)


def after_failures(members: Sequence[RankProcess], told: str, cause: ExitCause | None = None) -> str:
    """``told`` behind who of ``members`` (by rank) first could not do its part of the step under way, unless it begins
    with that one: the others may have waited in vain. Who failed after a process was gone may have done so for that
    one's sake and comes behind; where the ``cause`` is a signal, so does who failed little before that was seen.
    """
    gone = fallen(members)
    end = gone[0].fell if gone else float("inf")
    killed = next((one for one in gone if cause is not None and cause.is_killed and one.name == cause.name), None)
    if killed is not None:
        end = min(end, killed.fell - _DYING_S)
    own = killed or next(iter(gone), None)
    failures = failed(members)
    early = [(one, failure) for one, failure in failures if failure.moment < end or one is own]
    if not early:
        later = next((f"{one.name} failed: {failure.reason}" for one, failure in failures), None)
        return told if later is None or failures[0][1].reason in told else f"{told}; {later}"
    firsts = [one for one, failure in early if failure.moment == early[0][1].moment]
    begins = (*(f"{one.name}: " for one, _ in early), *(f"{one.name} failed: " for one in firsts))
    if told.startswith(begins):
        return told
    first = f"{early[0][0].name} failed: {early[0][1].reason}"
    return f"{first}; {told.replace(f'; {first}', '')}"


def mentions(words: str, rank: int) -> bool:
    """Whether they are about that one."""
    return re.search(rf"\brank {rank}\b", words) is not None


def _hold(hello: Hello, engine: Sequence[str]) -> int | None:
    """A pidfd of the process, which no other can slip into; None for one elsewhere."""
    if hello.host != platform.node():
        return None
    try:
        held = os.pidfd_open(hello.pid)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{hello.pid}/cmdline").read_text(errors="replace").split("\0")
        if "join" in command and Path(engine[-1]).name in (Path(word).name for word in command):
            return held
    os.close(held)  # another process namespace's number
    return None
