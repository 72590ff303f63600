"""Launcher: a way to start processes, what it is told, and what it says of their ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from linkscope.launch.process.child import ShutdownDeadline, signal_name

RANK_VARIABLE = "LINKSCOPE_RANK"


@dataclass(frozen=True)
class LaunchSpec:
    """Describe what is started: ``engine`` (its command) with the argument join, so many times.

    ``environment``: the whole of it; ``exported``: names in it that every host must see. ``cpus``: by rank, for
    launchers that start the processes themselves. ``folder``: for what they print.
    """

    engine: tuple[str, ...]
    processes: int
    environment: Mapping[str, str]
    exported: tuple[str, ...]
    cpus: Mapping[int, Sequence[int]]
    folder: Path

    @property
    def command(self) -> list[str]:
        return [*self.engine, "join"]


@dataclass(frozen=True)
class ExitStatus:
    """Hold a process's exit code, or minus the signal that killed it, and its last words."""

    status: int
    words: str = ""

    def __str__(self) -> str:
        what = f"died of {signal_name(-self.status)}" if self.status < 0 else f"ended with exit code {self.status}"
        return f"{what}: {self.words}" if self.words else what


class StartedProcesses(Protocol):
    """Processes on their way."""

    def settle(self) -> None:
        """All have joined: what was there for them to come together can go."""

    def ended(self) -> bool:
        """Return whether none of them runs any more."""

    def absence(self) -> str | None:
        """Return why some of them cannot join any more, if so."""

    def ending(self, rank: int) -> ExitStatus | None:
        """Return how that one ended, where that is known."""

    def first_ending(self) -> ExitStatus | None:
        """Return how the one that ended first did, where it is known that one has and not which."""

    def overheard(self) -> str:
        """Return what an unknown program printed, as ``mpiexec printed: ...``; one line, empty where nothing was."""

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        """Ends what still runs, and waits for it."""


class Launcher(Protocol):
    """A way to start processes. ``notes``: what a user should know of how it does that. ``binds``: whether it gives
    each process CPUs of its own, which are left as they are.
    """

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def binds(self) -> bool: ...

    def spread(self, processes: int) -> tuple[str, ...]:
        """Return the arguments that give each host named by the user one of so many processes. Empty where the numbers
        differ, where there is one host, and where the user's arguments place the processes.
        """

    def start(self, launch_spec: LaunchSpec) -> StartedProcesses:
        """Raises LinkscopeError where nothing can be started."""
