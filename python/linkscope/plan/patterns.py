"""Patterns: pure functions that lay flows out over the devices of a node. The list is at the end of the file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, zip_longest

from linkscope.plan.candidates import Candidates, FlowLayout, Slot, tier_of
from linkscope.plan.member_patterns import all_members, device_sets, growing
from linkscope.plan.permutations import random_bisections, random_pairs, random_rings

Pattern = Callable[[Candidates], list[FlowLayout]]


def pairs(candidates: Candidates) -> list[FlowLayout]:
    """Each source to each other destination, one flow at a time."""
    return [_single(slot) for slot in candidates.links()]


def grid(candidates: Candidates) -> list[FlowLayout]:
    """Each source to each destination, itself included, one flow at a time."""
    return [_single(slot) for slot in candidates.ends()]


def local(candidates: Candidates) -> list[FlowLayout]:
    """From each device to itself, one at a time."""
    return [FlowLayout((slot,), "", slot.source) for slot in candidates.same()]


def both_ways(candidates: Candidates) -> list[FlowLayout]:
    """Each pair once, both directions at the same time."""
    once: dict[frozenset[str], Slot] = {}
    for slot in candidates.links():
        once.setdefault(frozenset(_ends_of(slot)), slot)
    return [FlowLayout((slot, slot.back()), *_ends_of(slot)) for slot in once.values()]


def both_ways_each(candidates: Candidates) -> list[FlowLayout]:
    """Each pair from either end: both directions at the same time, the one that arrives at the row's device first."""
    return [FlowLayout((slot.back(), slot), *_ends_of(slot)) for slot in candidates.links()]


def against(candidates: Candidates) -> list[FlowLayout]:
    """Each source to each other destination while the opposite direction is kept busy in the background."""
    return [FlowLayout((slot, slot.back("background")), *_ends_of(slot)) for slot in candidates.links()]


def one_to_all(candidates: Candidates) -> list[FlowLayout]:
    """From each source to every other device at the same time."""
    return [FlowLayout(flows, "", device) for device, flows in _by(candidates.links(), lambda slot: slot.source)]


def all_to_one(candidates: Candidates) -> list[FlowLayout]:
    """From every other device to each destination at the same time."""
    return [FlowLayout(flows, "", device) for device, flows in _by(candidates.links(), lambda slot: slot.destination)]


def each_among_all(candidates: Candidates) -> list[FlowLayout]:
    """Each flow of the row measured while all the others keep going: one case, a figure for every flow."""
    return _each(candidates.links(), ())


def each_among_all_both_ways(candidates: Candidates) -> list[FlowLayout]:
    """The same while the opposite of every flow keeps going in the background."""
    slots = candidates.links()
    return _each(slots, tuple(slot.back("background") for slot in slots))


def all_at_once(candidates: Candidates) -> list[FlowLayout]:
    """Every source to every other destination, all at the same time.

    In the order of a shift: first each device to the next one, then to the one after that. That is the order in which
    they are enqueued; in which of them an engine that takes one at a time then serves them, the hardware decides.
    """
    slots = tuple(slot for _, turn in _turns(candidates) for slot in turn)
    return [FlowLayout(slots, "", f"{len(slots)} flows")] if len(slots) > 1 else []


def rounds(candidates: Candidates) -> list[FlowLayout]:
    """An all-to-all in rounds, one case each: from every device to the one 1, 2, 3 ... positions further, all at once.

    In a round each device sends to one other and receives from one other, so none meets another at its destination: the
    schedule of an all-to-all in MPI, NCCL and TransferBench.
    """
    turns = [(shift, turn) for shift, turn in _turns(candidates) if shift > 0 and len(turn) > 1]
    return [FlowLayout(turn, "", f"shift {shift}") for shift, turn in turns]


def all_at_once_both_ways(candidates: Candidates) -> list[FlowLayout]:
    """Every pair of the row in both directions, all at the same time."""
    slots = tuple(flow for layout in both_ways(candidates) for flow in layout.slots)
    return [FlowLayout(slots, "", f"{len(slots)} flows")] if len(slots) > 2 else []


def ring(candidates: Candidates) -> list[FlowLayout]:
    """From each device to the next, and from the last to the first, all at the same time."""
    ids = [device.id for device in candidates.sources() if device in candidates.destinations()]
    slots = tuple(Slot(a, b) for a, b in zip(ids, ids[1:] + ids[:1], strict=True))
    return [FlowLayout(slots, "", f"{len(slots)} flows")] if len(slots) > 1 else []


def bisection(candidates: Candidates) -> list[FlowLayout]:
    """Each device of the first half with its counterpart of the second, both directions, all at the same time."""
    ids = [device.id for device in candidates.sources() if device in candidates.destinations()]
    half = len(ids) // 2
    slots = tuple(flow for a, b in zip(ids[:half], ids[half:], strict=False) for flow in (Slot(a, b), Slot(b, a)))
    return [FlowLayout(slots, "", f"{len(slots)} flows")] if slots else []


def one_per_tier(candidates: Candidates) -> list[FlowLayout]:
    """One representative pair of every link tier: the first whose widest path is of that tier."""
    first: dict[str, Slot] = {}
    for slot in candidates.links():
        first.setdefault(tier_of(candidates.paths, slot.source, slot.destination), slot)
    return [FlowLayout((slot,), "", f"{tier}: {slot.source} > {slot.destination}") for tier, slot in first.items()]


def every_tier(candidates: Candidates) -> list[FlowLayout]:
    """One representative pair of every link tier, and a device with itself: two processes may share one."""
    return local(candidates)[:1] + one_per_tier(candidates)


def first_device(candidates: Candidates) -> list[FlowLayout]:
    """From the first device to itself: one representative of all."""
    return local(candidates)[:1]


def spread(candidates: Candidates) -> list[FlowLayout]:
    """The first 1, 2, 4 ... up to all GPUs of the row at once, one on each package first; x: gpus."""
    packages = _packages(candidates)
    return _growing(candidates, [gpu for turn in zip_longest(*packages) for gpu in turn if gpu is not None])


def same_package(candidates: Candidates) -> list[FlowLayout]:
    """The first 1, 2, 4 ... up to all GPUs of the row at once, each package filled before the next; x: gpus."""
    packages = _packages(candidates)
    filled = [gpu for package in packages for gpu in package]
    return _growing(candidates, filled) if any(len(package) > 1 for package in packages) else []


PATTERNS: dict[str, Pattern] = {
    "pairs": pairs,
    "grid": grid,
    "local": local,
    "both-ways": both_ways,
    "both-ways-each": both_ways_each,
    "against": against,
    "one-to-all": one_to_all,
    "all-to-one": all_to_one,
    "each-among-all": each_among_all,
    "each-among-all-both-ways": each_among_all_both_ways,
    "all-at-once": all_at_once,
    "all-at-once-both-ways": all_at_once_both_ways,
    "rounds": rounds,
    "ring": ring,
    "bisection": bisection,
    "random-rings": random_rings,
    "random-bisections": random_bisections,
    "random-pairs": random_pairs,
    "spread": spread,
    "same-package": same_package,
    "one-per-tier": one_per_tier,
    "every-tier": every_tier,
    "first-device": first_device,
    "all": all_members,
    "growing": growing,
    "device-sets": device_sets,
}

OF_MEMBERS = ("all", "growing", "device-sets")
"""Patterns that lay out the members of collectives."""

BY_FLOW = ("each-among-all", "each-among-all-both-ways", "random-rings", "random-bisections", "random-pairs")
"""Patterns whose flows have a figure each."""

GROWING = ("spread", "same-package")
"""Patterns whose cases differ in how many GPUs take part: a curve's x may count those."""


def _each(slots: list[Slot], background: tuple[Slot, ...]) -> list[FlowLayout]:
    if not slots:
        return []
    places = tuple(_ends_of(slot) for slot in slots)
    return [FlowLayout((*slots, *background), "", f"each of {len(slots)} flows", places)]


def _packages(candidates: Candidates) -> list[list[str]]:
    """The row's GPUs by package, in order of their numbers; one of unknown package is a package of its own."""
    ends = {device.id: device for device in (*candidates.sources(), *candidates.destinations()) if device.kind == "gpu"}
    packages: dict[int | str, list[str]] = {}
    for gpu in sorted(ends.values(), key=lambda device: _number(device.id)):
        packages.setdefault(gpu.id if gpu.package is None else gpu.package, []).append(gpu.id)
    return list(packages.values())


def _growing(candidates: Candidates, gpus: list[str]) -> list[FlowLayout]:
    """A layout for the first 1, 2, 4 ... and for all of ``gpus``: the row's flows that no other GPU takes part in."""
    counts = [count for power in range(len(gpus).bit_length()) if (count := 1 << power) < len(gpus)] + [len(gpus)]
    layouts = []
    for count in counts:
        left_out = set(gpus[count:])
        slots = tuple(slot for slot in candidates.links() if not left_out & set(_ends_of(slot)))
        if slots:
            layouts.append(FlowLayout(slots, "", f"{count} GPU{'s' if count > 1 else ''}"))
    return layouts


def _turns(candidates: Candidates) -> list[tuple[int, tuple[Slot, ...]]]:
    """The row's flows by how many places the destination stands behind the source, round about: 0 where it is none of
    the sources."""
    place = {device.id: index for index, device in enumerate(candidates.sources())}

    def shift(slot: Slot) -> int:
        behind = place[slot.destination] - place[slot.source] if slot.destination in place else 0
        return behind % len(place)

    ordered = sorted(candidates.links(), key=shift)
    return [(places, tuple(turn)) for places, turn in groupby(ordered, key=shift)]


def _single(slot: Slot) -> FlowLayout:
    return FlowLayout((slot,), *_ends_of(slot))


def _ends_of(slot: Slot) -> tuple[str, str]:
    return slot.source, slot.destination


def _by(slots: list[Slot], key: Callable[[Slot], str]) -> list[tuple[str, tuple[Slot, ...]]]:
    """Slots grouped by one end, in order of its number."""
    grouped = groupby(sorted(slots, key=lambda slot: _number(key(slot))), key=key)
    return [(device, tuple(flows)) for device, flows in grouped]


def _number(device: str) -> int:
    return int(device.split(":")[1])
