"""Patterns of collectives: pure functions that say which devices take part, in which order."""

from __future__ import annotations

from linkscope.machine.paths import Paths
from linkscope.plan.candidates import Candidates, FlowLayout


def all_members(candidates: Candidates) -> list[FlowLayout]:
    """For collectives: one member per device, or `count` members spread over the devices in blocks.

    Where processes are started on several hosts: on every GPU of one and on every GPU of all.
    """
    ids = [device.id for device in candidates.sources()]
    by_cpus = candidates.source_on == "numa"
    most = len(ids) * candidates.hosts
    usual = (max(len(ids), 2),) if by_cpus else tuple(dict.fromkeys((len(ids), most)))
    fitting = [count for count in candidates.counts or usual if count > 1 and (by_cpus or count <= most)]
    return [_collective_of(_dealt(ids, count)) for count in fitting] if ids else []


def growing(candidates: Candidates) -> list[FlowLayout]:
    """For collectives: the first 2, 3, 4 ... and at last all devices of the row; x: members."""
    return _first_ones([device.id for device in candidates.sources()])


def device_sets(candidates: Candidates) -> list[FlowLayout]:
    """For collectives: sets of 2, 3, 4 ... devices; each adds the device with the widest link to the set; x: members.

    The order of schieffer24's sets (scripts/osu_collectives.sh of its code: 0, 1, 6, 7, 2, 3, 4, 5 on an MI250X node).
    Among equals the lowest number; a pair that nothing joins directly counts by its path's peak below all that are.
    """
    left = [device.id for device in candidates.sources()]
    taken = left[:1]
    while left := [device for device in left if device not in taken]:
        taken.append(max(left, key=lambda device: max(_closeness(candidates.paths, one, device) for one in taken)))
    return _first_ones(taken)


def _first_ones(devices: list[str]) -> list[FlowLayout]:
    return [_collective_of(tuple(devices[:count])) for count in range(2, len(devices) + 1)]


def _dealt(devices: list[str], count: int) -> tuple[str, ...]:
    """``count`` members: GPUs in order, host by host; or NUMA nodes filled evenly, with members next to one another."""
    if count <= len(devices) or devices[0].startswith("gpu:"):
        return tuple(devices[member % len(devices)] for member in range(count))
    return tuple(devices[member * len(devices) // count] for member in range(count))


def _collective_of(members: tuple[str, ...]) -> FlowLayout:
    kind = "GPUs" if members[0].startswith("gpu:") else "members"
    return FlowLayout((), "", f"{len(members)} {kind}", members=members)


def _closeness(paths: Paths, one: str, other: str) -> tuple[bool, float]:
    """Return whether a link joins two devices without a third in between, and how wide their path is."""
    path = paths.between(one, other)
    return (False, 0.0) if path is None else (path.hops == 1, path.peak_gbps or 0.0)
