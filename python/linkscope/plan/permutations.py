"""Permutations: patterns of random partners, so that every path is busy beside ever other ones.

They are the loads of nvloom 2 (github.com/NVIDIA/nvloom). The same number gives the same partners on every run.
"""

from __future__ import annotations

from random import Random

from linkscope.plan.candidates import Candidates, FlowLayout, Slot


def random_rings(candidates: Candidates) -> list[FlowLayout]:
    """Rings through all devices in random order: each sends to the next one; all at once, a figure for every flow."""
    return [
        _layout(f"ring {number}", [Slot(a, b) for a, b in zip(ids, ids[1:] + ids[:1], strict=True)])
        for number, ids in _orders(candidates, "ring")
    ]


def random_bisections(candidates: Candidates) -> list[FlowLayout]:
    """A random half of the devices with the other half, both directions; all at once, a figure for every flow."""
    return [
        _layout(f"bisection {number}", [flow for a, b in _couples(ids) for flow in (Slot(a, b), Slot(b, a))])
        for number, ids in _orders(candidates, "bisection")
    ]


def random_pairs(candidates: Candidates) -> list[FlowLayout]:
    """Random pairs of devices, one direction, no device in two; all at once, a figure for every flow."""
    return [
        _layout(f"pairs {number}", [Slot(a, b) for a, b in _couples(ids)])
        for number, ids in _orders(candidates, "pairs")
    ]


def _orders(candidates: Candidates, kind: str) -> list[tuple[int, list[str]]]:
    """Return the number, from 1, and the devices in random order of each permutation; none of fewer than two."""
    ids = [device.id for device in candidates.sources() if device in candidates.destinations()]
    if len(ids) < 2:
        return []
    numbers = range(1, candidates.permutations + 1)
    return [(number, Random(f"{kind} {number}").sample(ids, len(ids))) for number in numbers]


def _couples(ids: list[str]) -> list[tuple[str, str]]:
    half = len(ids) // 2
    return list(zip(ids[:half], ids[half : 2 * half], strict=True))


def _layout(name: str, slots: list[Slot]) -> FlowLayout:
    return FlowLayout(tuple(slots), "", name, tuple((slot.source, slot.destination) for slot in slots))
