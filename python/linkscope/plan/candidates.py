"""Candidates: what a pattern is laid over, and Slot and FlowLayout: what it lays."""

from __future__ import annotations

from dataclasses import dataclass

from linkscope.machine.node import Device, Node
from linkscope.machine.paths import Paths

KINDS = ("gpu", "numa", "nearest-numa", "peer-numa")
"""Devices that an end may be on; ``nearest-numa``: the NUMA node next to the GPU at the other end; ``peer-numa``: that
one, and where it shares a package with this GPU (an APU), the NUMA nodes next to the others too.
"""
BESIDE_GPU = ("nearest-numa", "peer-numa")
"""Kinds that the GPU at the other end decides."""


@dataclass(frozen=True)
class Slot:
    """One flow to be: bytes go from ``source`` to ``destination`` (device ids).

    ``reverse`` is true where the flow runs from the test's destination back to its source, so that each
    end keeps the memory the row gives it.
    """

    source: str
    destination: str
    role: str = "measured"
    reverse: bool = False

    def back(self, role: str | None = None) -> Slot:
        """The same flow the other way round."""
        return Slot(self.destination, self.source, role or self.role, not self.reverse)


@dataclass(frozen=True)
class FlowLayout:
    """The flows of one case, measured ones first, and where its figure stands in a table.

    ``places``: where every measured flow has a figure of its own, the (row, column) of each, in order; such a case
    is timed under sustained load. Empty: the case has one figure. ``members``: devices (ids) that take part in a
    collective, in its order, the root first; then there are no slots.
    """

    slots: tuple[Slot, ...]
    row: str
    column: str
    places: tuple[tuple[str, str], ...] = ()
    members: tuple[str, ...] = ()


PERMUTATIONS = 8
"""Layouts of a random pattern, unless a request sets their number."""


@dataclass(frozen=True)
class Candidates:
    """Hold the ends that a test allows among the selected devices; a pattern is laid over them.

    ``counts``: how many members a collective shall have; empty: the devices say it. ``hosts``: those, alike, whose GPUs
    members can be on. ``permutations``: how many layouts a random pattern has.
    """

    paths: Paths
    source_on: str
    destination_on: str
    selected: frozenset[str]
    counts: tuple[int, ...] = ()
    hosts: int = 1
    permutations: int = PERMUTATIONS

    def sources(self) -> tuple[Device, ...]:
        return self._candidates(self.source_on)

    def destinations(self) -> tuple[Device, ...]:
        return self._candidates(self.destination_on)

    def links(self) -> list[Slot]:
        """Every (source, destination) that the row allows, distinct devices, in order of their numbers."""
        return [slot for slot in self.ends() if slot.source != slot.destination]

    def same(self) -> list[Slot]:
        """Every device that can be both ends."""
        return [slot for slot in self.ends() if slot.source == slot.destination]

    def ends(self) -> list[Slot]:
        """Every (source, destination) that the row allows, a device to itself included."""
        if self.source_on in BESIDE_GPU:
            return [Slot(numa, gpu.id) for gpu in self.destinations() for numa in self._beside(gpu, self.source_on)]
        if self.destination_on in BESIDE_GPU:
            return [Slot(gpu.id, numa) for gpu in self.sources() for numa in self._beside(gpu, self.destination_on)]
        return [Slot(a.id, b.id) for a in self.sources() for b in self.destinations()]

    def _candidates(self, on: str) -> tuple[Device, ...]:
        kind = "numa" if on in BESIDE_GPU else on
        return tuple(d for d in self.paths.node.of_kind(kind) if d.id in self.selected and _has_memory(d))

    def _beside(self, gpu: Device, on: str) -> tuple[str, ...]:
        """The NUMA nodes that ``on`` means for a GPU, the nearest first."""
        node = self.paths.node
        nearest = nearest_numa(node, gpu.id)
        if on == "nearest-numa" or not _share_package(node, gpu.id, nearest):
            return (nearest,)
        return tuple(dict.fromkeys([nearest, *(nearest_numa(node, other.id) for other in self._candidates("gpu"))]))


def host_memories(node: Node) -> list[str]:
    """Return the ids of the NUMA nodes that have memory."""
    return [numa.id for numa in node.of_kind("numa") if _has_memory(numa)]


def nearest_numa(node: Node, device: str) -> str:
    """Return a GPU's own NUMA node, or the first one where the system does not say. A NUMA node's is itself.

    The node has one of ``host_memories``.
    """
    nodes = host_memories(node)
    own = device if device in nodes else f"numa:{node.device(device).numa}"
    return own if own in nodes else nodes[0]


def nearest_gpu(node: Node, device: str) -> str:
    """The first GPU next to a NUMA node; the first GPU where none is. A GPU's is itself."""
    gpus = node.of_kind("gpu")
    beside = [gpu.id for gpu in gpus if device in (gpu.id, f"numa:{gpu.numa}")]
    return beside[0] if beside else gpus[0].id


def _share_package(node: Node, gpu: str, numa: str) -> bool:
    return any(link.kind == "on-package" and {link.a, link.b} == {gpu, numa} for link in node.links)


def tier_of(paths: Paths, source: str, destination: str) -> str:
    """Speed class of the widest path; "unknown" where the topology shows none."""
    path = paths.between(source, destination)
    return path.tier if path is not None else "unknown"


def _has_memory(device: Device) -> bool:
    return device.memory_bytes is None or device.memory_bytes > 0
