"""RankPlaces: the device that each rank of a workload computes on, and whether what it holds fits there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.documents.sizes import format_bytes
from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device, Node
from linkscope.machine.traits import MemoryTraits
from linkscope.plan.candidates import host_memories, nearest_gpu, nearest_numa
from linkscope.workload.halo import field_bytes
from linkscope.workload.particles import HEADER, PARTICLE
from linkscope.workload.schedule import Particles, Schedule

_USABLE = {"gpu": 0.9, "numa": 0.7}
"""Share of a memory that a workload may fill: contexts, libraries and other programs have the rest."""
UNBOUNDED = 1 << 60
USUAL_BYTES_ON_CPUS = 1 << 30
"""Bytes of all ranks' fields; CPUs pack and exchange them in less than a second."""
USUAL_ON_CPUS = 4
"""Ranks of a node without GPUs, if it has as many CPUs."""


@dataclass(frozen=True)
class RankPlaces:
    """``homes``: by rank its GPU, or NUMA node. ``hosts``: those, alike, that the ranks fill one after another."""

    node: Node
    homes: tuple[str, ...]
    hosts: int = 1

    @property
    def on_gpus(self) -> bool:
        """Return whether ranks compute on GPUs."""
        return self.homes[0].startswith("gpu:")

    @property
    def shared(self) -> str | None:
        """Return what is to be said where GPUs have several ranks; None where none has."""
        most = max(Counter(self.homes).values())
        if not self.on_gpus or most <= self.hosts:
            return None
        gpus = len(set(self.homes))
        return f"{len(self.homes)} ranks share {gpus} GPU{'s' if gpus > 1 else ''}"

    @property
    def crowded(self) -> str | None:
        """Return why there are too many: ranks wait for one another, so each needs a CPU."""
        cpus = sum(len(device.cpus) for device in self.node.of_kind("numa")) * self.hosts
        if len(self.homes) <= cpus or not cpus:
            return None
        return f"{len(self.homes)} ranks want a CPU each; {self.node.name} shows {cpus}"

    def devices_for(self, memory: MemoryTraits) -> list[str]:
        """Return the device of each rank where memory of a kind lies."""
        return [self._device(home, memory) for home in self.homes]

    @property
    def bytes_per_rank(self) -> int:
        """Return the bytes that every rank can have, by the devices whose size is known."""
        on = Counter(self.homes)
        return min(int(self._usable(device) * self.hosts // ranks) for device, ranks in on.items())

    @property
    def usual_bytes_per_rank(self) -> int:
        """Return the bytes of a rank where nobody says how many: all on GPUs and models, less on CPUs."""
        if self.on_gpus or self.node.modelled:
            return self.bytes_per_rank
        return min(self.bytes_per_rank, USUAL_BYTES_ON_CPUS * self.hosts // len(self.homes))

    def problem(self, schedule: Schedule) -> str | None:
        """Return why what the ranks hold does not fit their devices; None where it does, or their sizes are unknown."""
        wanted: Counter[str] = Counter()
        for home, held in zip(self.homes, _held_bytes(schedule), strict=True):
            wanted[home] += held
        for device, size in wanted.items():
            if size > self._usable(device) * self.hosts:
                there = format_bytes(self.node.device(device).memory_bytes or 0)
                return (
                    f"too little memory: {format_bytes(size // self.hosts)} are wanted on {device}, which has {there}"
                )
        return None

    def _usable(self, device: str) -> float:
        known = self.node.device(device).memory_bytes
        return UNBOUNDED if known is None else known * _USABLE[device.partition(":")[0]]

    def _device(self, home: str, memory: MemoryTraits) -> str:
        if memory.lies_on == "host" and home.startswith("gpu:") and host_memories(self.node):
            return nearest_numa(self.node, home)
        if memory.lies_on == "gpu" and self.node.of_kind("gpu"):
            return nearest_gpu(self.node, home)
        return home


def devices_of_ranks(node: Node, allowed: frozenset[str]) -> list[Device]:
    """GPUs where there are any, else NUMA nodes with memory; of those ``allowed``."""
    kinds = ([one for one in node.of_kind(kind) if one.id in allowed and one.memory_bytes != 0] for kind in _USABLE)
    return next((devices for devices in kinds if devices), [])


def usual_ranks(node: Node, devices: Sequence[Device], hosts: int) -> int:
    """Return how many there are where nobody says it: one on each GPU, else one on each CPU, up to USUAL_ON_CPUS."""
    if devices and devices[0].kind == "gpu":
        return max(len(devices) * hosts, 2)
    cpus = sum(len(one.cpus) for one in node.of_kind("numa"))
    return max(min(cpus, USUAL_ON_CPUS), 2)


def rank_places(node: Node, devices: Sequence[Device], ranks: int, order: Sequence[str], hosts: int) -> RankPlaces:
    """Round robin over ``devices``, or as ``order`` says. Raises LinkscopeError where that is not of the node's devices
    or of another length."""
    ids = [one.id for one in devices]
    if not order:
        return RankPlaces(node, tuple(ids[rank % len(ids)] for rank in range(ranks)), hosts)
    known = {one.id for one in (*node.of_kind("gpu"), *node.of_kind("numa"))}
    for device in order:
        if device not in known:
            raise LinkscopeError(f"order: unknown device {device!r}: {node.name} has {', '.join(sorted(known))}")
    if len(order) != ranks:
        raise LinkscopeError(f"order: names {len(order)} devices for {ranks} ranks: name the device of each rank")
    if len({device.partition(":")[0] for device in order}) > 1:
        raise LinkscopeError("order: ranks are all on GPUs, or all on NUMA nodes")
    return RankPlaces(node, tuple(order), hosts)


def _held_bytes(schedule: Schedule) -> list[int]:
    """Return the bytes by rank: fields or particles with their buffers, or the buffers of the fullest phase."""
    if schedule.grid is not None:
        return [field_bytes(chunk) for chunk in schedule.grid.chunks]
    held = [0] * schedule.ranks
    for phase in schedule.phases:
        buffers = [0] * schedule.ranks
        for one in phase.messages:
            buffers[one.source] += one.size
            buffers[one.destination] += one.size
        held = [max(pair) for pair in zip(held, buffers, strict=True)]
    if schedule.particles is not None:
        held = [sum(pair) for pair in zip(held, _particle_bytes(schedule.particles), strict=True)]
    return held


def _particle_bytes(deck: Particles) -> list[int]:
    """With a buffer for each receive that is posted."""
    receive = HEADER + PARTICLE * deck.batch
    return [
        PARTICLE * stock + receive * len(neighbours)
        for stock, neighbours in zip(deck.stock, deck.neighbours, strict=True)
    ]
