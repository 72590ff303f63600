"""WorkloadPoint: one value of each axis of a workload's row, and what all cases with so many ranks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkscope.machine.paths import Paths
from linkscope.plan.application import Deck
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.rank_places import RankPlaces
from linkscope.plan.suite_row import Variant
from linkscope.plan.workload_row import INTERFACES, WorkloadRow
from linkscope.workload.schedule import Schedule

Json = dict[str, Any]


@dataclass(frozen=True)
class WorkloadPoint:
    """``state`` is None where messages are packed from nothing; ``processes``: one, or each: one for every rank."""

    interface: str
    memory: str
    state: str | None
    staging: str
    processes: str
    variant: Variant

    @property
    def method(self) -> str:
        """Return the method that carries the schedule out."""
        return INTERFACES[self.interface]

    @property
    def memories(self) -> tuple[str, ...]:
        """All that it names."""
        return (self.memory,) if self.state is None else (self.memory, self.state)


@dataclass(frozen=True)
class WorkloadSetting:
    """Place a row's ranks and name their deck."""

    row: WorkloadRow
    paths: Paths
    catalog: EngineCatalog
    places: RankPlaces
    deck: Deck

    def by_mpi(self, point: WorkloadPoint) -> bool:
        """Return whether the ranks are MPI's."""
        return self.catalog.method(point.method).by_mpi

    def in_host_memory(self, memory: str) -> bool:
        """Return whether it lies there, so that nothing need be staged through it."""
        return self.catalog.memory(memory).lies_on == "host" or not self.places.on_gpus

    def is_baseline(self, point: WorkloadPoint) -> bool:
        """Return whether the row's baseline is this combination."""
        wanted = self.row.baseline
        if wanted is None or (point.interface, point.staging) != (wanted.interface, wanted.staging):
            return False
        there = [one for one in wanted.memories if one in self.row.memories and one in self.catalog.memories]
        usual_state = not self.row.states or point.state in (self.row.states[0], None)
        return point.memory == next(iter(there), None) and point.variant.name in (wanted.variant, "") and usual_state


@dataclass(frozen=True)
class Sent:
    """Hold what a case sends: the deck's schedule, or each of its messages alone. Cases share ``plan``, its JSON."""

    schedule: Schedule
    plan: Json
    alone: str = ""
    """Words of a title for messages alone."""
