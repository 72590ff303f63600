"""WorkloadRow: a test that runs what an application sends (schema/suite.schema.json: workloads)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from linkscope.plan.application import Application
from linkscope.plan.suite_file import Interface
from linkscope.plan.suite_row import Variant

INTERFACES: dict[str, str] = {one: f"{one}-schedule" for one in get_args(Interface)}
"""The method that carries a schedule out by each interface."""
MOST_RANKS = 4096


@dataclass(frozen=True)
class Baseline:
    """The combination that others are compared with. ``memories``: the first of them that the row has there.
    ``variant``: empty where the row's environment does not vary."""

    interface: str
    memories: tuple[str, ...]
    staging: str = "none"
    variant: str = ""


@dataclass(frozen=True)
class WorkloadRow:
    """Every tuple is an axis; axes multiply.

    ``memories``: of the messages' buffers. ``states``: of what they are packed from; empty: device memory on GPUs, and
    pageable on NUMA nodes. ``counts``: ranks, a list or range (``max``: the CPUs); empty: as many as the application
    says, else a rank on each GPU, or on a node without GPUs one on each CPU, up to four. ``stagings``: of MPI.
    ``order``: the device of each rank; empty: the node's own order, round robin.
    """

    suite: str
    name: str
    title: str
    application: Application
    interfaces: tuple[str, ...]
    memories: tuple[str, ...]
    states: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    stagings: tuple[str, ...] = ("none",)
    processes: tuple[str, ...] = ("one",)
    variants: tuple[Variant, ...] = ()
    order: tuple[str, ...] = ()
    baseline: Baseline | None = None
    covers: tuple[str, ...] = ()
    point_budget_s: float | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the methods of its interfaces."""
        return tuple(INTERFACES[one] for one in self.interfaces)
