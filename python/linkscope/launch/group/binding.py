"""Binding: which devices, NUMA nodes and CPUs each process of a group works with."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.machine import sysfs
from linkscope.machine.files import Files, LiveFiles
from linkscope.machine.node import Node
from linkscope.plan.case_groups import places

Json = dict[str, Any]
Core = tuple[int, ...]
"""CPUs (hardware threads) of one core."""


@dataclass(frozen=True)
class Binding:
    """One process. ``devices``: those its flows name; ``numa``: the nodes nearest to them; ``cpus``: its own.

    No CPUs: nothing is known of them here, and the process keeps those that it was started with.
    """

    rank: int
    devices: tuple[str, ...]
    numa: tuple[int, ...]
    cpus: tuple[int, ...]


def bind(node: Node, cases: Iterable[Json], ranks: Sequence[int], cores: Sequence[Core]) -> tuple[Binding, ...]:
    """Bindings of the processes ``ranks``, which share one host like ``node`` with the usable ``cores``.

    A process gets the NUMA nodes of its devices, and an equal share of their cores beside the others that have the
    same node: whole cores while there are enough, then hardware threads, then the same ones in turn.
    """
    devices = _devices_by_rank(cases)
    with_cpus = {int(numa.id[5:]): set(numa.cpus) for numa in node.of_kind("numa") if numa.cpus}
    homes = {rank: _homes(node, devices.get(rank, ()), with_cpus) for rank in ranks}
    bound = []
    for rank in ranks:
        cpus: list[int] = []
        for home in homes[rank]:
            beside = [other for other in ranks if home in homes[other]]
            cpus += _share(_cores_of(cores, with_cpus[home]), beside.index(rank), len(beside))
        bound.append(Binding(rank, devices.get(rank, ()), homes[rank], tuple(sorted(cpus))))
    return tuple(bound)


def usable_cores(files: Files | None = None) -> tuple[Core, ...]:
    """Cores that this process may use, in order of their first CPU, each without the CPUs that it may not use."""
    files = files or LiveFiles()
    allowed = os.sched_getaffinity(0)
    cores = set()
    for cpu in allowed:
        siblings = sysfs.cpu_list(files.read(f"{sysfs.CPUS}/cpu{cpu}/topology/thread_siblings_list")) or (cpu,)
        cores.add(tuple(sorted(allowed.intersection(siblings)) or [cpu]))
    return tuple(sorted(cores))


def _devices_by_rank(cases: Iterable[Json]) -> dict[int, tuple[str, ...]]:
    """Every device that a flow of the cases names, by the process that allocates on it or drives it."""
    found: dict[int, dict[str, None]] = {}
    for case in cases:
        for flow in case["flows"]:
            for rank, device in places(flow):
                found.setdefault(rank, {})[device] = None
    return {rank: tuple(sorted(devices, key=_by_number)) for rank, devices in found.items()}


def _by_number(device: str) -> tuple[str, int]:
    kind, _, number = device.partition(":")
    return kind, int(number)


def _homes(node: Node, devices: Sequence[str], with_cpus: Mapping[int, set[int]]) -> tuple[int, ...]:
    """NUMA nodes with CPUs nearest to the devices; all, where that is none."""
    known = {device.id: device for device in node.devices}
    numa: set[int] = set()
    for name in devices:
        device = known.get(name)
        home = int(name[5:]) if name.startswith("numa:") else device.numa if device else None
        if home is not None and home in with_cpus:
            numa.add(home)
    return tuple(sorted(numa or set(with_cpus)))


def _cores_of(cores: Sequence[Core], cpus: set[int]) -> list[Core]:
    return [core for core in cores if cpus.issuperset(core)]


def _share(cores: Sequence[Core], place: int, sharers: int) -> list[int]:
    """The share of the ``place``-th of ``sharers``."""
    if len(cores) < sharers:
        cores = [(cpu,) for core in cores for cpu in core]
    if len(cores) < sharers:
        return list(cores[place % len(cores)]) if cores else []
    first, last = (len(cores) * at // sharers for at in (place, place + 1))
    return [cpu for core in cores[first:last] for cpu in core]
