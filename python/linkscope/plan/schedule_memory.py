"""Schedule memory: the bytes that each rank of a schedule holds."""

from __future__ import annotations

from linkscope.workload.halo import field_bytes
from linkscope.workload.particles import HEADER, PARTICLE
from linkscope.workload.schedule import Particles, Schedule


def held_bytes(schedule: Schedule) -> list[int]:
    """By rank: fields or particles with their buffers, or the buffers of the phase with most messages."""
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
        held = [sum(pair) for pair in zip(held, _particles(schedule.particles), strict=True)]
    return held


def _particles(deck: Particles) -> list[int]:
    """With a buffer for each receive that is posted."""
    receive = HEADER + PARTICLE * deck.batch
    return [
        PARTICLE * stock + receive * len(neighbours)
        for stock, neighbours in zip(deck.stock, deck.neighbours, strict=True)
    ]
