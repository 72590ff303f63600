"""Halo: the messages of CloverLeaf's 2-D halo exchange (its public sources; schieffer25 7.2).

A chunk of cells for each rank. In every exchange neighbours left and right send first; then those below and above, with
the columns that have just come, so that corners arrive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkscope.errors import LinkscopeError
from linkscope.workload.schedule import CellGrid, GridField, Halo, Loop, Message, Phase, Schedule, SmallCollective

WORD = 8
"""Bytes of a field's value, float64."""
GUARD = 5
"""More values in a row of the halo than cells: two halo layers at either side, and one for values on cells' corners."""

BUFFERS = 4
"""Along each axis: to send and to receive, at both ends."""


@dataclass(frozen=True)
class HaloDeck:
    """``cells``: columns and rows of the whole grid."""

    name: str
    cells: tuple[int, int]
    steps: int


def _deck(doublings: int) -> HaloDeck:
    across, up = (doublings + 1) // 2, doublings // 2
    name = f"bm{2**doublings if doublings else ''}_short"
    return HaloDeck(name, (960 << across, 960 << up), 87)


DECKS = {deck.name: deck for deck in map(_deck, range(12))}
"""CloverLeaf's inputs of these names, smallest first: bm_short with 960 x 960 cells, and twice as many from each to the
next, so that they are square and 2:1 in turn."""
CELLS, STEPS = DECKS["bm2048_short"].cells, DECKS["bm2048_short"].steps
"""The study's."""

FIELDS = (
    GridField("density0"),
    GridField("density1"),
    GridField("energy0"),
    GridField("energy1"),
    GridField("pressure"),
    GridField("viscosity"),
    GridField("xvel0", 1, 1),
    GridField("yvel0", 1, 1),
    GridField("xvel1", 1, 1),
    GridField("yvel1", 1, 1),
    GridField("vol_flux_x", 1, 0),
    GridField("vol_flux_y", 0, 1),
    GridField("mass_flux_x", 1, 0),
    GridField("mass_flux_y", 0, 1),
)
"""Fields that CloverLeaf exchanges: on cells, corners, and the sides that a flux goes through."""


@dataclass(frozen=True)
class Exchange:
    """``depth`` layers of the ``fields``."""

    name: str
    fields: tuple[str, ...]
    depth: int

    @property
    def layers(self) -> int:
        """Return the layers of all fields together."""
        return len(self.fields) * self.depth

    def halo_along(self, axis: str) -> Halo:
        names = [field.name for field in FIELDS]
        return Halo(tuple(names.index(name) for name in self.fields), self.depth, axis)


_ADVECTED = ("density1", "energy1", "xvel1", "yvel1", "mass_flux_x", "mass_flux_y")
START = Exchange(
    "start: all fields",
    (
        *("density0", "energy0", "pressure", "viscosity", "density1", "energy1"),
        *("xvel0", "yvel0", "xvel1", "yvel1"),
    ),
    2,
)
STEP = (
    Exchange("pressure, energy0, density0, velocities", ("pressure", "energy0", "density0", "xvel0", "yvel0"), 1),
    Exchange("viscosity", ("viscosity",), 1),
    Exchange("pressure", ("pressure",), 1),
    Exchange("energy1, density1, volume fluxes", ("energy1", "density1", "vol_flux_x", "vol_flux_y"), 2),
    Exchange("density1, energy1, velocities, mass fluxes (first sweep)", _ADVECTED, 2),
    Exchange("density1, energy1, velocities, mass fluxes (second sweep)", _ADVECTED, 2),
)
"""Exchanges of one step, in order."""
TIME_STEP = (SmallCollective("float64", "min"), SmallCollective("int32", "max"), SmallCollective("int32", "max"))
"""All-reduces of every step."""
SUMMARY_EVERY = 10
SUMMARY = (SmallCollective("float64", "sum"),) * 5
"""All-reduces of every tenth step."""


def decomposition(ranks: int, cells: tuple[int, int] = CELLS) -> tuple[int, int]:
    """Return the chunks in x and in y: by the smallest divisor c of ``ranks`` with (ranks / c) / c at most nx / ny; in
    one dimension where there is none."""
    nx, ny = cells
    for rows in range(1, ranks + 1):
        if ranks % rows == 0 and ranks // rows * ny <= rows * nx and rows < ranks:
            return ranks // rows, rows
    return (ranks, 1) if nx >= ny else (1, ranks)


def halo(ranks: int, cells: tuple[int, int] = CELLS, steps: int = STEPS) -> Schedule:
    """The exchange at the start and ``steps`` steps. Raises LinkscopeError where a rank would have no cell."""
    across, up = decomposition(ranks, cells)
    if cells[0] < across or cells[1] < up:
        raise LinkscopeError(f"{cells[0]} x {cells[1]} cells are too few for {ranks} ranks in {across} x {up} chunks")
    layout = _Layout(across, up, _shares(cells[0], across), _shares(cells[1], up))
    step = tuple(phase for one in STEP for phase in layout.phases(one, steps))
    collectives = [Phase("time step", (), steps, collectives=TIME_STEP)]
    if summaries := steps // SUMMARY_EVERY:
        collectives.append(Phase("summary", (), summaries, SUMMARY_EVERY, collectives=SUMMARY))
    start = layout.phases(START, 1)
    return Schedule(
        f"halo, {cells[0]} x {cells[1]} cells, {steps} steps",
        ranks,
        (*((Loop(1, start),) if start else ()), Loop(steps, (*step, *collectives))),
        CellGrid(cells, FIELDS, layout.chunks()),
    )


def field_bytes(chunk: tuple[int, int, int, int]) -> int:
    """Return the bytes of a rank for a chunk of CellGrid.chunks: its fields, and buffers as large as at the start."""
    columns, rows = chunk[2] + GUARD, chunk[3] + GUARD
    return WORD * (len(FIELDS) * columns * rows + BUFFERS * START.layers * (columns + rows))


def largest_that_fits(bytes_per_rank: int, ranks: int) -> HaloDeck:
    """The largest of DECKS of which each rank's share fits. Raises LinkscopeError where none does."""
    for deck in reversed(DECKS.values()):
        across, up = decomposition(ranks, deck.cells)
        if deck.cells[0] < across or deck.cells[1] < up:
            continue
        share = (0, 0, -(-deck.cells[0] // across), -(-deck.cells[1] // up))
        if field_bytes(share) <= bytes_per_rank:
            return deck
    least = next(iter(DECKS.values()))
    raise LinkscopeError(
        f"{bytes_per_rank >> 20} MiB for each of {ranks} ranks are too few even for {least.name}, "
        f"{least.cells[0]} x {least.cells[1]} cells; name fewer cells"
    )


@dataclass(frozen=True)
class _Layout:
    """Chunks ``across`` and ``up``, by their ``widths`` and ``heights`` in cells."""

    across: int
    up: int
    widths: list[int]
    heights: list[int]

    def phases(self, exchange: Exchange, repeats: int) -> tuple[Phase, ...]:
        """Left and right first; then bottom and top, where there are neighbours."""
        across, size = self.across, WORD * exchange.layers
        sides = tuple(
            Message(row * across + a, row * across + b, size * (self.heights[row] + GUARD))
            for row in range(self.up)
            for left in range(across - 1)
            for a, b in ((left, left + 1), (left + 1, left))
        )
        ends = tuple(
            Message(a * across + column, b * across + column, size * (self.widths[column] + GUARD))
            for column in range(across)
            for low in range(self.up - 1)
            for a, b in ((low, low + 1), (low + 1, low))
        )
        both = (("left and right", "x", sides), ("bottom and top", "y", ends))
        return tuple(
            Phase(f"{exchange.name}, {where}", messages, repeats, halo=exchange.halo_along(axis))
            for where, axis, messages in both
            if messages
        )

    def chunks(self) -> tuple[tuple[int, int, int, int], ...]:
        return tuple(
            (sum(self.widths[:column]), sum(self.heights[:row]), self.widths[column], self.heights[row])
            for row in range(self.up)
            for column in range(self.across)
        )


def parse_cells(text: str) -> tuple[int, int]:
    """Read "61440x30720". Raises LinkscopeError."""
    found = re.fullmatch(r"([1-9][0-9]{0,8})x([1-9][0-9]{0,8})", text)
    if found is None:
        raise LinkscopeError(f"cells are given as 61440x30720, not {text!r}")
    return int(found[1]), int(found[2])


def _shares(cells: int, chunks: int) -> list[int]:
    """The first chunks have one cell more where they do not divide."""
    return [cells // chunks + (index < cells % chunks) for index in range(chunks)]
