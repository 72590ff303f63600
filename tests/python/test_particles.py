"""The particle exchange: its messages have the recorded shape, and no particle is sent that a rank has not."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from particle_shape import RECORDED, shape

from linkscope.errors import LinkscopeError
from linkscope.workload.particles import HEADER, PARTICLE, Grid, parse_grid, particles, rank_grid
from linkscope.workload.problem import DECKS
from linkscope.workload.schedule import Phase, Schedule

GRIDS = [(1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1), (1, 1, 4), (2, 2, 2), (3, 2, 1), (5, 3, 1), (4, 4, 4)]


def carried(phase: Phase) -> Counter[tuple[int, int]]:
    """Particles by source and destination."""
    return Counter({(one.source, one.destination): (one.size - HEADER) // PARTICLE for one in phase.messages})


def volume(deck: str, grid: Grid, count: int) -> float:
    cells = DECKS[deck].cells(count)
    return DECKS[deck].crossings * count * sum((n - 1) / along for n, along in zip(grid, cells, strict=True)) / 3


@pytest.mark.parametrize(("deck", "count"), RECORDED)
def test_every_figure_is_within_a_twentieth_of_the_recorded_one(deck: str, count: int) -> None:
    for name, ours, recorded in shape(particles(DECKS[deck], (2, 2, 1), count)).beside(RECORDED[deck, count]):
        assert ours == pytest.approx(recorded, rel=0.05), name


def test_the_decks_have_the_recorded_particles() -> None:
    assert {(name, deck.count) for name, deck in DECKS.items()} < set(RECORDED)
    assert DECKS["problem-1"].cells(655_360) == (32, 32, 16)
    assert DECKS["problem-1"].cells(41_943_040) == (128, 128, 64)
    assert DECKS["problem-2"].cells(212_960) == (22, 22, 11)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("deck", DECKS)
def test_particles_are_had_before_they_are_sent(deck: str, grid: Grid) -> None:
    schedule = particles(DECKS[deck], grid, cycles=2)
    assert schedule.particles is not None
    stock = Counter(dict(enumerate(schedule.particles.stock)))
    held, coming, fewest = stock.copy(), Counter[int](), stock.copy()
    for phase in schedule.loops[0].phases * schedule.loops[0].repeats:
        for (source, destination), count in carried(phase).items():
            assert 0 < count <= schedule.particles.batch
            assert destination in schedule.particles.neighbours[source]
            held[source] -= count
            assert held[source] >= 0
            coming[destination] += count
        fewest &= held
        if phase.termination != "none":  # only now all of the round are sure to have come
            held += coming
            coming.clear()
    assert held == +stock
    assert not +fewest, "every rank begins with no more than it needs"


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("deck", DECKS)
def test_the_volume_is_that_of_the_formula(deck: str, grid: Grid) -> None:
    schedule = particles(DECKS[deck], grid, cycles=3)
    sent = sum(carried(phase).total() for phase in schedule.phases)
    assert sent == pytest.approx(volume(deck, grid, DECKS[deck].count), rel=0.01)
    assert schedule.bytes == 3 * sum(message.size for phase in schedule.phases for message in phase.messages)


@pytest.mark.parametrize("grid", GRIDS)
def test_rounds_follow_until_one_sends_nothing(grid: Grid) -> None:
    phases = particles(grid=grid, termination="non-blocking").phases
    tests = [phase for phase in phases if phase.termination == "non-blocking"]
    assert phases[-2] == tests[-1]
    assert not tests[-1].messages
    rounds: list[int] = []
    sent = 0
    for phase in phases[:-1]:
        sent += len(phase.messages)
        if phase.termination != "none":
            rounds.append(sent)
            sent = 0
    assert all(rounds[:-1])
    assert rounds[-1] == 0
    assert [(one.type, one.count) for one in phases[-1].collectives] == [
        ("float64", 0),
        *[("float64", 1)] * 3,
        ("int64", 13),
    ]


def test_only_faces_carry_particles_and_all_round_about_are_listened_to() -> None:
    schedule = particles(grid=(3, 2, 2))
    assert schedule.particles is not None
    at = list(product(range(3), range(2), range(2)))
    pairs = {pair for phase in schedule.phases for pair in phase.pairs}
    for a, b in product(range(12), repeat=2):
        apart = [abs(x - y) for x, y in zip(at[a], at[b], strict=True)]
        assert ((a, b) in pairs) == (sum(apart) == 1)
        assert (b in schedule.particles.neighbours[a]) == (max(apart) == 1)


def test_more_particles_mean_larger_messages_and_a_full_message_another_pass() -> None:
    small, large = (shape(particles(count=count)) for count in (655_360, 41_943_040))
    assert large.p50 > 5 * small.p50
    assert large.messages_per_rank < 1.3 * small.messages_per_rank
    thin = particles(DECKS["problem-1"], (16, 1, 1), 163_840)  # one layer of cells for a rank
    assert thin.particles is not None
    assert thin.particles.batch == 1024
    first = [phase for phase in thin.phases if phase.name.startswith("round 0,")]
    assert len(first) > DECKS["problem-1"].rounds.first_passes


def test_schedules_are_the_same_each_time() -> None:
    def plan() -> Schedule:
        return particles(DECKS["problem-2"], (2, 2, 2), 53_240)

    assert plan().to_plan() == plan().to_plan()


def test_few_particles_end_soon() -> None:
    phases = particles(grid=(2, 1, 1), count=2).phases
    assert 2 <= len(phases) < 30
    assert particles(grid=(1, 1, 1)).bytes == 0


@pytest.mark.parametrize(("ranks", "grid"), [(1, (1, 1, 1)), (4, (2, 2, 1)), (6, (3, 2, 1)), (8, (2, 2, 2))])
def test_ranks_lie_in_the_brick_with_the_least_surface(ranks: int, grid: Grid) -> None:
    assert rank_grid(ranks) == grid


@pytest.mark.parametrize("ranks", range(1, 65))
def test_any_number_of_ranks_has_a_grid(ranks: int) -> None:
    a, b, c = rank_grid(ranks)
    assert a * b * c == ranks
    assert a >= b >= c


def test_grids_are_read() -> None:
    assert parse_grid("3x1x2") == (3, 1, 2)
    for text in ("2x2", "0x1x1", "2x2x1x1", "-1x1x1", "2X2X1", "99999x1x1", ""):
        with pytest.raises(LinkscopeError, match="given as 2x2x1"):
            parse_grid(text)


@pytest.mark.parametrize(
    ("grid", "count", "cycles", "termination", "complaint"),
    [
        ((33, 1, 1), 655_360, 1, "blocking", "too few for 33 x 1 x 1 ranks"),
        ((1, 1, 17), 655_360, 1, "blocking", "32 x 32 x 16 cells, too few"),
        ((0, 1, 1), 100, 1, "blocking", "0 x 1 x 1 ranks is none"),
        ((-1, -1, 4), 100, 1, "blocking", "ranks is none"),
        ((64, 64, 2), 10**9, 1, "blocking", "it has 1 to 4096"),
        ((2, 2, 1), 3, 1, "blocking", "3 particles on 4 ranks"),
        ((2, 2, 1), 10**12, 1, "blocking", "particles on 4 ranks"),
        ((2, 2, 1), 100, 0, "blocking", "0 cycles are none"),
        ((2, 2, 1), 100, 1, "none", "not 'none'"),
    ],
)
def test_what_cannot_be_is_refused(grid: Grid, count: int, cycles: int, termination: str, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint):
        particles(DECKS["problem-1"], grid, count, cycles, termination)
