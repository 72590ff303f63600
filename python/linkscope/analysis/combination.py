"""Combination: by which interface, memory and settings a workload was carried out, and its name among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.results.row import Row

STAGED = "full"
"""The application copies through the host itself."""


@dataclass(frozen=True)
class Combination:
    """``memory``: of the messages' buffers; ``state``: of what they are packed from, "" where messages are all.
    ``settings``: variables that the engine was started with, "HSA_XNACK=0". ``order``: device of each rank.
    """

    interface: str
    staged: bool
    memory: str
    state: str
    settings: str
    order: tuple[str, ...]
    processes: int

    @staticmethod
    def of(row: Row) -> Combination:
        """Of a row whose labels have a workload."""
        label, flow = row.labels["workload"], row.case["flows"][0]
        members = flow.get("members", ())
        return Combination(
            interface=str(label["interface"]),
            staged=label.get("staging") == STAGED,
            memory=str(label.get("memory") or (members[0]["memory"] if members else "")),
            state=str(label.get("state") or ""),
            settings=" ".join(f"{name}={value}" for name, value in row.environment.items()),
            order=tuple(label.get("order") or (end["device"] for end in members)),
            processes=int(row.case.get("processes", 1)),
        )

    def name(self, others: Sequence[Combination]) -> str:
        """Such as "mpi staged, pinned" or "direct, device": interface and memory, and whatever else tells it from
        ``others``, itself among them."""

        def told(name: str) -> bool:
            return len({getattr(one, name) for one in others}) > 1

        alike = [one for one in others if one.interface == self.interface]
        words = [
            f"{self.interface}{' staged' if self.staged else ''}",
            self.memory,
            *([f"from {self.state}"] if self.state and told("state") else []),
            *([self.settings or "unchanged"] if told("settings") else []),
            *([_processes(self.processes)] if len({one.processes for one in alike}) > 1 else []),
            *([f"order {_numbers(self.order)}"] if told("order") else []),
        ]
        return ", ".join(words)


def _processes(count: int) -> str:
    return "one process" if count == 1 else "a process each"


def _numbers(order: Sequence[str]) -> str:
    """Of the devices: "0 2 1 3"; in full where they are of several kinds."""
    kinds = {device.partition(":")[0] for device in order}
    return " ".join(device.partition(":")[2] if len(kinds) == 1 else device for device in order)
