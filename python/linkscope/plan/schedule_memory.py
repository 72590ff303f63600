"""Schedule memory: the bytes that each rank of a schedule holds."""

from __future__ import annotations

from linkscope.workload.schedule import CellGrid, Particles, Schedule

WORD = 8
LAYERS = 4
"""Halo layers of a field along an axis, two at either side."""
PARTICLE, HEADER = 136, 8


def held_bytes(schedule: Schedule) -> list[int]:
    """By rank: fields or particles, and the buffers of the phase with most messages."""
    held = [0] * schedule.ranks
    for phase in schedule.phases:
        buffers = [0] * schedule.ranks
        for one in phase.messages:
            buffers[one.source] += one.size
            buffers[one.destination] += one.size
        held = [max(pair) for pair in zip(held, buffers, strict=True)]
    if schedule.grid is not None:
        held = [sum(pair) for pair in zip(held, _fields(schedule.grid), strict=True)]
    if schedule.particles is not None:
        held = [sum(pair) for pair in zip(held, _particles(schedule.particles), strict=True)]
    return held


def _fields(grid: CellGrid) -> list[int]:
    return [
        sum(WORD * (columns + LAYERS + one.extra_x) * (rows + LAYERS + one.extra_y) for one in grid.fields)
        for _, _, columns, rows in grid.chunks
    ]


def _particles(deck: Particles) -> list[int]:
    """With a buffer for each receive that is posted."""
    receive = HEADER + PARTICLE * deck.batch
    return [
        PARTICLE * stock + receive * len(neighbours)
        for stock, neighbours in zip(deck.stock, deck.neighbours, strict=True)
    ]
