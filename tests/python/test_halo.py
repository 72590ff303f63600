"""The halo exchange's decks, the memory they need, and the messages of each step."""

from __future__ import annotations

import pytest

from linkscope.errors import LinkscopeError
from linkscope.workload.halo import DECKS, GUARD, decomposition, field_bytes, halo, largest_that_fits

LAYERS = [(5, 1), (1, 1), (1, 1), (8, 2), (12, 2), (12, 2)]
"""Layers of all fields, and depth, of each of a step's exchanges, as the application's sources have them."""


def test_decks_double() -> None:
    assert [deck.cells for deck in DECKS.values()][:4] == [(960, 960), (1920, 960), (1920, 1920), (3840, 1920)]
    assert DECKS["bm2048_short"].cells == (61440, 30720)
    assert {deck.steps for deck in DECKS.values()} == {87}
    for name, deck in DECKS.items():
        assert deck.cells[0] * deck.cells[1] == 960**2 * int(name.removesuffix("_short")[2:] or 1)


@pytest.mark.parametrize("name", DECKS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8, 16])
def test_each_side_has_six_messages_a_step(name: str, ranks: int) -> None:
    deck = DECKS[name]
    schedule = halo(ranks, deck.cells, deck.steps)
    assert schedule.grid is not None
    across, _ = decomposition(ranks, deck.cells)
    sizes: dict[tuple[int, int], list[int]] = {}
    for phase in schedule.loops[1].phases:
        for one in phase.messages:
            sizes.setdefault((one.source, one.destination), []).append(one.size)
    for (source, destination), found in sizes.items():
        beside = source // across == destination // across
        along = schedule.grid.chunks[source][3 if beside else 2] + GUARD
        assert found == [8 * layers * along for layers, _ in LAYERS]
        assert sum(found) == 312 * along
    depths = [phase.halo.depth for phase in schedule.loops[1].phases if phase.halo and phase.halo.axis == "x"]
    assert depths == [depth for _, depth in LAYERS]


def test_memory_is_that_of_fields_and_buffers() -> None:
    assert field_bytes((0, 0, 10, 20)) == 14 * 15 * 25 * 8 + 4 * 20 * 8 * (15 + 25)


@pytest.mark.parametrize("ranks", [1, 2, 4, 7, 64])
def test_the_largest_deck_fits_and_the_next_does_not(ranks: int) -> None:
    decks = list(DECKS.values())
    for size in (200 << 20, 1 << 30, 64 << 30):
        deck = largest_that_fits(size, ranks)
        larger = decks[decks.index(deck) + 1 :]
        need = [max(map(field_bytes, halo(ranks, one.cells).grid.chunks)) for one in (deck, *larger)]  # type: ignore[union-attr]
        assert need[0] <= size
        assert all(one > size for one in need[1:])
    assert largest_that_fits(1 << 60, ranks).name == "bm2048_short"


def test_too_little_memory_is_refused() -> None:
    with pytest.raises(LinkscopeError, match="1 MiB for each of 4 ranks are too few"):
        largest_that_fits(1 << 20, 4)
