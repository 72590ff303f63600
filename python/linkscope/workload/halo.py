"""Halo: the messages of CloverLeaf's 2-D halo exchange (its public sources; schieffer25 7.2).

A chunk of cells for each rank. In every exchange neighbours left and right send first; then those below and above, with
the columns that have just come, so that corners arrive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkscope.errors import LinkscopeError
from linkscope.workload.schedule import Message, Phase, Schedule

CELLS = (61440, 30720)
STEPS = 87
"""The deck bm2048_short."""
WORD = 8
"""Bytes of a field's value, float64."""
GUARD = 5
"""More values in a row of the halo than cells: two halo layers at either side, and one for values on cells' corners."""


@dataclass(frozen=True)
class Exchange:
    """``fields`` to a ``depth`` of layers."""

    name: str
    fields: int
    depth: int

    @property
    def layers(self) -> int:
        """Of all fields together."""
        return self.fields * self.depth


START = Exchange("start: all fields", 10, 2)
STEP = (
    Exchange("pressure, energy0, density0, velocities", 5, 1),
    Exchange("viscosity", 1, 1),
    Exchange("pressure", 1, 1),
    Exchange("energy1, density1, volume fluxes", 4, 2),
    Exchange("density1, energy1, velocities, mass fluxes (first sweep)", 6, 2),
    Exchange("density1, energy1, velocities, mass fluxes (second sweep)", 6, 2),
)
"""Exchanges of one step, in order."""


def decomposition(ranks: int, cells: tuple[int, int] = CELLS) -> tuple[int, int]:
    """How many chunks in x and in y: by the smallest divisor c of ``ranks`` with (ranks / c) / c at most nx / ny; in
    one dimension where there is none."""
    nx, ny = cells
    for rows in range(1, ranks + 1):
        if ranks % rows == 0 and ranks // rows * ny <= rows * nx and rows < ranks:
            return ranks // rows, rows
    return (ranks, 1) if nx >= ny else (1, ranks)


def halo(ranks: int, cells: tuple[int, int] = CELLS, steps: int = STEPS) -> Schedule:
    """The messages of ``steps`` steps. Raises LinkscopeError where a rank would have no cell."""
    across, up = decomposition(ranks, cells)
    if cells[0] < across or cells[1] < up:
        raise LinkscopeError(f"{cells[0]} x {cells[1]} cells are too few for {ranks} ranks in {across} x {up} chunks")
    widths, heights = _shares(cells[0], across), _shares(cells[1], up)
    phases = []
    for exchange, repeats in ((START, 1), *((one, steps) for one in STEP)):
        sides = [
            Message(row * across + a, row * across + b, WORD * exchange.layers * (heights[row] + GUARD))
            for row in range(up)
            for left in range(across - 1)
            for a, b in ((left, left + 1), (left + 1, left))
        ]
        ends = [
            Message(a * across + column, b * across + column, WORD * exchange.layers * (widths[column] + GUARD))
            for column in range(across)
            for low in range(up - 1)
            for a, b in ((low, low + 1), (low + 1, low))
        ]
        for where, messages in (("left and right", sides), ("bottom and top", ends)):
            if messages:
                phases.append(Phase(f"{exchange.name}, {where}", tuple(messages), repeats))
    return Schedule(f"halo, {cells[0]} x {cells[1]} cells, {steps} steps", ranks, tuple(phases))


def parse_cells(text: str) -> tuple[int, int]:
    """Of "61440x30720". Raises LinkscopeError."""
    found = re.fullmatch(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})", text)
    if found is None:
        raise LinkscopeError(f"cells are given as 61440x30720, not {text!r}")
    return int(found[1]), int(found[2])


def _shares(cells: int, chunks: int) -> list[int]:
    """The first chunks have one cell more where they do not divide."""
    return [cells // chunks + (index < cells % chunks) for index in range(chunks)]
