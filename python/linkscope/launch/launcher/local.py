"""Local: the launcher that starts the processes itself, on this host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.errors import LinkscopeError
from linkscope.launch.launcher.launcher import RANK_VARIABLE, ExitStatus, LaunchSpec
from linkscope.launch.process.child import Child, ShutdownDeadline, end_all


@dataclass(frozen=True)
class Local:
    """Starts them itself, on this host."""

    name: str = "local"
    notes: tuple[str, ...] = ()
    binds: bool = False

    def spread(self, processes: int) -> tuple[str, ...]:
        del processes
        return ()

    def start(self, launch_spec: LaunchSpec) -> ChildProcesses:
        children: list[Child] = []
        try:
            for rank in range(launch_spec.processes):
                environment = {**launch_spec.environment, RANK_VARIABLE: str(rank)}
                words = launch_spec.folder / f"rank-{rank}"
                children.append(Child(launch_spec.command, environment, words, cpus=launch_spec.cpus.get(rank, ())))
        except LinkscopeError:
            ChildProcesses(children).close()
            raise
        return ChildProcesses(children)


@dataclass(frozen=True)
class ChildProcesses:
    """Processes of this host, by rank from 0."""

    children: Sequence[Child]

    def settle(self) -> None:
        """Nothing was needed."""

    def ended(self) -> bool:
        return all(child.status() is not None for child in self.children)

    def absence(self) -> str | None:
        for rank, child in enumerate(self.children):
            if child.status() is not None:
                return f"rank {rank} {self.ending(rank)}"
        return None

    def ending(self, rank: int) -> ExitStatus | None:
        child = self.children[rank] if rank < len(self.children) else None
        status = child.status() if child is not None else None
        return None if child is None or status is None else ExitStatus(status, child.last_words())

    def first_ending(self) -> ExitStatus | None:
        return None

    def overheard(self) -> str:
        return ""  # each has its own words

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        end_all(self.children, shutdown)
