"""RankProcess: one process of a group: how far it has come, what becomes of it, and a hold on it where it runs here."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.launch.group.control import Hello, name

Json = dict[str, Any]

_STOPPED = "T"
_STATES = {_STOPPED: "it is stopped", "t": "it is being traced", "D": "it is stuck in the kernel", "Z": "it is dead"}


@dataclass(frozen=True)
class StepFailure:
    """Say why a process could not do its part of a step of the case, in which others may wait for it, and since when
    that is known, by time.monotonic().
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
        """Return the process that said ``hello`` and should be running that ``engine``."""
        return RankProcess(hello, _hold(hello, engine))

    @property
    def is_here(self) -> bool:
        """Return whether it runs on this host, under the number that it named."""
        return self.pidfd is not None

    @property
    def fell(self) -> float:
        """When it was first known that it would not go on."""
        moments = [moment for moment in (self.complained, self.left) if moment is not None]
        return min(moments, default=float("inf"))

    def trouble(self) -> str | None:
        """Return what the kernel says of a process of this host that cannot go on."""
        return _STATES.get(self._state())

    def is_stopped(self) -> bool:
        """Return whether it runs on this host and has been sent SIGSTOP or the like: it does nothing by itself."""
        return self._state() == _STOPPED

    def _state(self) -> str:
        """The kernel's letter; empty where it is gone or elsewhere."""
        if not self.is_here:
            return ""
        try:
            stat = Path(f"/proc/{self.hello.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return stat.rpartition(")")[2].split()[0]

    def kill(self) -> None:
        """At once, where it runs here: one that is stopped hears nothing else."""
        if self.pidfd is not None:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def let_go(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None


def latest_case(processes: Iterable[RankProcess]) -> str | None:
    """The case that a group has come to, by the word of the first of ``processes`` (by rank) that has begun one."""
    return next((process.case for process in processes if process.case is not None), None)


def fallen(processes: Iterable[RankProcess]) -> list[RankProcess]:
    """Return those that left before they were done, in the order in which they did."""
    return sorted((one for one in processes if one.left is not None and not one.done), key=lambda one: one.fell)


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
