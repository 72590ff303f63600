"""Size ranges: which of several rivals is best at which sizes, where they cross, and what a wrong choice costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from linkscope.statistics.best import best, undecided
from linkscope.statistics.interval import Interval

Rivals = Mapping[str, Mapping[float, Interval]]
"""Cost of each rival, by name, at each size in bytes."""
_FEWEST_ALIKE = 2
"""Sizes in the middle of a range at which others tie with its best, to make a range of their own."""


@dataclass(frozen=True)
class SizeRange:
    """From ``first`` to ``last`` bytes, both measured, each of ``best`` is best or ties; cheapest first.

    ``excess``: (name, least, most) of every rival that is worse at some size there: what it costs more, 0.12 for 12%,
    0 where it ties. ``partly``: (name, first, last) of those of them that lack some of the sizes. A rival that ties
    wherever it was measured, but lacks sizes, is in none of these.
    """

    first: float
    last: float
    best: tuple[str, ...]
    excess: tuple[tuple[str, float, float], ...]
    partly: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class Crossover:
    """Above ``at`` bytes ``after`` is better than ``before``, below it worse.

    Interpolated between measured sizes, costs and sizes on logarithms.
    """

    before: str
    after: str
    at: Interval


def costs_at(rivals: Rivals, size: float) -> dict[str, Interval]:
    """Return what every rival that was measured at a size costs there."""
    return {name: costs[size] for name, costs in rivals.items() if size in costs}


def decided(rivals: Rivals) -> tuple[dict[str, dict[float, Interval]], tuple[float, ...]]:
    """Return the rivals at the sizes that several have and at which the best is known; and the sizes where it is not,
    ascending."""
    shared = shared_sizes(rivals)
    lost = tuple(size for size in shared if undecided(costs_at(rivals, size)))
    told = set(shared) - set(lost)
    return {name: {size: one for size, one in costs.items() if size in told} for name, costs in rivals.items()}, lost


def size_ranges(rivals: Rivals) -> tuple[SizeRange, ...]:
    """Return the fewest ranges, sizes ascending, such that one rival is best or ties in the whole of each.

    Sizes that only one rival has say nothing and are left out; so is a size at which curves only touch.
    """
    ranges: list[SizeRange] = []
    run: list[float] = []
    holds: set[str] = set()
    for size in shared_sizes(rivals):
        here = set(best(costs_at(rivals, size)))
        if run and not holds & here:
            ranges.append(_range(rivals, run, holds))
            run, holds = [], set()
        holds = holds & here if run else here
        run.append(size)
    return (*ranges, _range(rivals, run, holds)) if run else ()


def with_ties(rivals: Rivals, ranges: Sequence[SizeRange], lost: Sequence[float] = ()) -> tuple[SizeRange, ...]:
    """Return the ranges, each parted where the same others tie with its best at its first or last sizes, or at several
    in between; they then stand behind it.

    Only others that were measured at all of its sizes count. A range is parted at a size of ``lost``, too.
    """
    return tuple(
        part
        for one in ranges
        for sizes in _without(lost, [size for size in shared_sizes(rivals) if one.first <= size <= one.last])
        for part in _parted(rivals, sizes, set(one.best))
    )


def crossovers(rivals: Rivals, ranges: Sequence[SizeRange]) -> tuple[Crossover, ...]:
    """Return where the best of each range and of the next cross; nothing where they share no sizes."""
    found = [_crossover(rivals, before, after) for before, after in pairwise(ranges)]
    return tuple(one for one in found if one is not None)


def borders(ranges: Sequence[SizeRange], crossed: Sequence[Crossover]) -> Iterator[int]:
    """Yield the last byte of every range but the last, where sizes between those measured are to be decided, too: at
    the crossover, or where there is none halfway on logarithms."""
    for below, above in pairwise(ranges):
        at = [one.at.value for one in crossed if one.before in below.best and one.after in above.best]
        middle = next((size for size in at if below.last <= size < above.first), math.sqrt(below.last * above.first))
        yield int(middle)


def excess(rivals: Rivals, rival: str, sizes: Sequence[float]) -> tuple[float, float, float] | None:
    """Return what a rival costs more than the best at sizes: least, mean and most, 0.12 for 12%, 0 where it ties; None
    where it has none of them."""
    over = [
        0.0 if rival in best(costs_at(rivals, size)) else difference(rivals, rival, size)
        for size in sizes
        if size in rivals[rival]
    ]
    return (min(over), fmean(over), max(over)) if over else None


def difference(rivals: Rivals, rival: str, size: float) -> float:
    """Return what a rival costs more than the least at a size that it has, by their values: 0.12 for 12%."""
    return rivals[rival][size].value / min(one.value for one in costs_at(rivals, size).values()) - 1


def shared_sizes(rivals: Rivals) -> list[float]:
    """Return the sizes that several rivals have, ascending; nothing where curves of several sizes only touch."""
    sizes = sorted({size for costs in rivals.values() for size in costs})
    shared = [size for size in sizes if len(costs_at(rivals, size)) > 1]
    touch = len(shared) == 1 and sum(len(costs) > 1 for costs in rivals.values() if shared[0] in costs) > 1
    return [] if touch else shared


def _without(lost: Sequence[float], sizes: Sequence[float]) -> list[list[float]]:
    """Return ascending sizes in parts, between which one of ``lost`` lies."""
    parts: list[list[float]] = []
    for number, size in enumerate(sizes):
        if not number or any(sizes[number - 1] < one < size for one in lost):
            parts.append([])
        parts[-1].append(size)
    return parts


def _parted(rivals: Rivals, sizes: list[float], holds: set[str]) -> Iterator[SizeRange]:
    plain: list[float] = []
    others = {name: costs for name, costs in rivals.items() if set(sizes) <= set(costs)}
    while sizes:
        count = _tied(others, sizes, holds)
        if count >= _FEWEST_ALIKE or (count and (not plain or count == len(sizes))):
            if plain:
                yield _part(rivals, plain, holds)
            yield _part(rivals, sizes[:count], holds)
            plain, sizes = [], sizes[count:]
        else:
            plain.append(sizes.pop(0))
    if plain:
        yield _part(rivals, plain, holds)


def _part(rivals: Rivals, sizes: Sequence[float], holds: set[str]) -> SizeRange:
    found = _range(rivals, sizes, set.intersection(*(set(best(costs_at(rivals, size))) for size in sizes)))
    return replace(found, best=tuple(sorted(found.best, key=lambda name: name not in holds)))


def _tied(rivals: Rivals, sizes: Sequence[float], holds: set[str]) -> int:
    """Return at how many of the first sizes the same others tie with ``holds``."""
    common = set(best(costs_at(rivals, sizes[0])))
    for count, size in enumerate(sizes):
        common &= set(best(costs_at(rivals, size)))
        if common <= holds:
            return count
    return len(sizes)


def _range(rivals: Rivals, sizes: Sequence[float], holds: set[str]) -> SizeRange:
    over = {name: found for name in rivals if (found := excess(rivals, name, sizes)) is not None}
    apart = {name: fmean(difference(rivals, name, size) for size in sizes if size in rivals[name]) for name in over}
    ordered = sorted(over, key=lambda name: (over[name][1], apart[name]))
    worse = {name for size in sizes for name in costs_at(rivals, size).keys() - set(best(costs_at(rivals, size)))}
    return SizeRange(
        first=sizes[0],
        last=sizes[-1],
        best=tuple(name for name in ordered if name in holds),
        excess=tuple((name, over[name][0], over[name][2]) for name in ordered if name in worse),
        partly=tuple(
            (name, min(had), max(had))
            for name in ordered
            if name in worse and len(had := [size for size in sizes if size in rivals[name]]) < len(sizes)
        ),
    )


def _crossover(rivals: Rivals, below: SizeRange, above: SizeRange) -> Crossover | None:
    before = next(name for name in below.best if name not in above.best)
    after = next(name for name in above.best if name not in below.best)
    shared = [size for size in sorted(rivals[before]) if size in rivals[after] and below.first <= size <= above.last]
    gains = [(size, rivals[before][size].over(rivals[after][size])) for size in shared]
    surely_above = next((i for i, (at, gain) in enumerate(gains) if at >= above.first and gain.low > 1), len(gains))
    surely_below = next((i for i in reversed(range(surely_above)) if gains[i][1].high < 1), -1)
    around = gains[max(surely_below, 0) : surely_above + 1]
    if len(around) < 2:
        return None
    size = _zero([(at, math.log(gain.value)) for at, gain in around])
    low = _zero([(at, math.log(gain.high)) for at, gain in around])  # until here `before` is surely better
    high = _zero([(at, math.log(gain.low)) for at, gain in around])
    return Crossover(before, after, Interval(size, min(low, size), max(high, size)))


def _zero(points: Sequence[tuple[float, float]]) -> float:
    """Return the size at which values go above zero for good; the first or last size where they never do."""
    for (size, value), (larger, more) in reversed(list(pairwise(points))):
        if value <= 0 < more:
            return math.exp(math.log(size) + (math.log(larger) - math.log(size)) * value / (value - more))
    return points[0][0] if points[0][1] > 0 else points[-1][0]
