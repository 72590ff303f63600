"""Size ranges: which of several rivals is best at which sizes, where they cross, and what a wrong choice costs.

All from medians and 95 % intervals: two figures are told apart where the interval of their ratio leaves 1 out: taken as
independent on logarithms or, of several runs, that of the ratios within each run, as a disturbed run slows both. Rivals
that are not told apart from the best, or are as good to 1 %, are equals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev

from linkscope.results.replicates import WIDEST
from linkscope.results.row import UNKNOWN_FROM, Row, Stats
from linkscope.statistics.ranks import interval_of_range, t975

AS_GOOD = 0.01
"""Nobody chooses by less."""
LEAST_BOUND = 1e-12
"""Of a cost, where its interval has no lower bound."""
FEWEST_ALIKE = 2
"""Sizes in the middle of a range at which others are as good, to make a range of their own."""


@dataclass(frozen=True)
class OldCost:
    """What a thing takes at one size: a time, or the inverse of a rate; low to high is its 95 % interval. ``of_runs``:
    in each of several runs, if all have it; ``within``: the relative half width that samples leave in one of them.
    """

    median: float
    low: float
    high: float
    of_runs: tuple[float, ...] = ()
    within: float = 0.0

    @staticmethod
    def of(times: Stats) -> OldCost:
        """Of a median above zero."""
        return OldCost(times.median, max(times.low, times.median * LEAST_BOUND), times.high)

    @staticmethod
    def of_samples(times: Stats) -> OldCost:
        """Of one replicate, of which few samples have but a range."""
        low, high = interval_of_range(times.n, times.median, times.low, times.high)
        return OldCost(times.median, max(low, times.median * LEAST_BOUND), high)

    @staticmethod
    def of_row(row: Row) -> OldCost:
        """Of the time of its first measured flow."""
        times = row.measured_flows[0][1].seconds
        return OldCost.of(times) if len(row.measured) > 1 or row.noise else OldCost.of_samples(times)

    @property
    def inverse(self) -> OldCost:
        """Of a rate."""
        return OldCost(1 / self.median, 1 / self.high, 1 / self.low)

    def unknown_beside(self, other: OldCost) -> bool:
        """Whether a bound is further from the median than ``UNKNOWN_FROM``, or that of its ratio to ``other`` where
        several runs have both."""
        if not self.in_runs_of(other):
            return max(self.high / self.median, self.median / self.low) > UNKNOWN_FROM
        middle, low, _ = self.over(other)
        return middle - low > math.log(UNKNOWN_FROM)

    def in_runs_of(self, other: OldCost) -> bool:
        """Whether both are known in each of the same several runs."""
        return len(self.of_runs) == len(other.of_runs) > 1

    def over(self, other: OldCost) -> tuple[float, float, float]:
        """Logarithm of its ratio to ``other``, and the bounds of that."""
        if self.in_runs_of(other):
            return self._in_pairs(other)
        middle = math.log(self.median / other.median)
        below = math.hypot(math.log(self.median / self.low), math.log(other.high / other.median))
        above = math.hypot(math.log(self.high / self.median), math.log(other.median / other.low))
        return middle, middle - below, middle + above

    def _in_pairs(self, other: OldCost) -> tuple[float, float, float]:
        """The mean of the ratios, and Student's interval of it; no narrower than what samples leave open, for runs may
        agree by chance or to a tick of the clock."""
        logs = [math.log(a) - math.log(b) for a, b in zip(self.of_runs, other.of_runs, strict=True)]
        between = t975(len(logs) - 1) * stdev(logs)
        middle, within = fmean(logs), math.hypot(self.within, other.within) if self is not other else 0.0
        margin = min(max(between, within) / math.sqrt(len(logs)), WIDEST)
        return middle, middle - margin, middle + margin

    def dearer_than(self, other: OldCost) -> bool:
        """Whether it is told apart from ``other`` as the greater one, and by more than ``AS_GOOD``."""
        middle, low, _ = self.over(other)
        return low > 0 and middle > math.log1p(AS_GOOD)


Rivals = Mapping[str, Mapping[float, OldCost]]
"""Of every rival its cost by size in bytes."""


@dataclass(frozen=True)
class OldSizeRange:
    """From ``first`` to ``last`` bytes, both measured, each of ``best`` is best or as good; cheapest first.

    ``excess``: of every rival that is worse at some size there, the least and the most that it costs more: 0.12 for
    12 %, 0 where it is not told apart from the best. ``partly``: the first and the last of their sizes, of those of
    them that were not measured at all sizes there. One that is as good wherever it was measured, but was not measured
    at all sizes, is in none of these.
    """

    first: float
    last: float
    best: tuple[str, ...]
    excess: tuple[tuple[str, float, float], ...]
    partly: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True)
class OldCrossover:
    """Above ``size`` bytes ``after`` is better than ``before``, below it worse; low to high is where that may lie.

    Interpolated between measured sizes, costs and sizes on logarithms.
    """

    before: str
    after: str
    size: float
    low: float
    high: float


def decided(rivals: Rivals) -> tuple[dict[str, dict[float, OldCost]], tuple[float, ...]]:
    """The same at sizes that several rivals have and at which the best is told: none that is not told apart from it has
    an unknown cost. Then the sizes at which it is not told, ascending."""
    shared = _shared(rivals)
    told = {size for size in shared if _is_told(rivals, size)}
    kept = {name: {size: one for size, one in costs.items() if size in told} for name, costs in rivals.items()}
    return kept, tuple(size for size in shared if size not in told)


def size_ranges(rivals: Rivals) -> tuple[OldSizeRange, ...]:
    """The fewest ranges, sizes ascending, such that one rival is best or as good in the whole of each.

    Sizes that only one rival has say nothing and are left out; so is a size at which curves only touch.
    """
    ranges: list[OldSizeRange] = []
    run: list[float] = []
    best: set[str] = set()
    for size in _shared(rivals):
        here = equals(rivals, size)
        if run and not best & here:
            ranges.append(_range(rivals, run, best))
            run, best = [], set()
        best = best & here if run else here
        run.append(size)
    return (*ranges, _range(rivals, run, best)) if run else ()


def with_equals(
    rivals: Rivals, ranges: Sequence[OldSizeRange], untold: Sequence[float] = ()
) -> tuple[OldSizeRange, ...]:
    """The same ``ranges``, each parted where at its first or its last sizes, or at several in between, the same others
    are as good as its best, behind which they then stand. Only of others that were measured at all of its sizes does
    that say anything. Where a size of ``untold`` lies within a range, it is parted, too."""
    return tuple(
        part
        for one in ranges
        for sizes in _without(untold, [size for size in _shared(rivals) if one.first <= size <= one.last])
        for part in _parted(rivals, sizes, set(one.best))
    )


def crossovers(rivals: Rivals, ranges: Sequence[OldSizeRange]) -> tuple[OldCrossover, ...]:
    """Between the best of each range and of the next; none where the two were not measured at the same sizes."""
    found = [_crossover(rivals, before, after) for before, after in pairwise(ranges)]
    return tuple(one for one in found if one is not None)


def borders(ranges: Sequence[OldSizeRange], crossed: Sequence[OldCrossover]) -> Iterator[int]:
    """The last byte of every range but the last, where sizes between those measured are to be decided too: at the
    crossover, or where there is none halfway on logarithms.
    """
    for below, above in pairwise(ranges):
        at = [one.size for one in crossed if one.before in below.best and one.after in above.best]
        middle = next((size for size in at if below.last <= size < above.first), math.sqrt(below.last * above.first))
        yield int(middle)


def excess(rivals: Rivals, rival: str, sizes: Sequence[float]) -> tuple[float, float, float] | None:
    """What ``rival`` costs more than the best at ``sizes``: least, mean and most, 0.12 for 12 %, 0 where it is not told
    apart from it; None where it has none of them."""
    measured = [size for size in sizes if size in rivals[rival]]
    over = [0.0 if rival in equals(rivals, size) else difference(rivals, rival, size) for size in measured]
    return (min(over), fmean(over), max(over)) if over else None


def difference(rivals: Rivals, rival: str, size: float) -> float:
    """Of the medians at ``size``, which ``rival`` has, be it told apart from the best or not: 0.12 for 12 %."""
    return rivals[rival][size].median / rivals[_best(rivals, size)][size].median - 1


def equals(rivals: Rivals, size: float) -> set[str]:
    """Who is best at ``size``, and who is not told apart from it or as good."""
    best = rivals[_best(rivals, size)][size]
    return {name for name, costs in rivals.items() if size in costs and not costs[size].dearer_than(best)}


def _is_told(rivals: Rivals, size: float) -> bool:
    """Whether the best at ``size`` stands apart from all others, or those it does not stand apart from are known."""
    same, best = equals(rivals, size), rivals[_best(rivals, size)][size]
    return len(same) < 2 or not any(rivals[name][size].unknown_beside(best) for name in same)


def _shared(rivals: Rivals) -> list[float]:
    sizes = sorted({size for costs in rivals.values() for size in costs})
    shared = [size for size in sizes if sum(size in costs for costs in rivals.values()) > 1]
    curves = len(shared) == 1 and sum(len(costs) > 1 for costs in rivals.values() if shared[0] in costs) > 1
    return [] if curves else shared  # curves that only touch


def _best(rivals: Rivals, size: float) -> str:
    return min((name for name in rivals if size in rivals[name]), key=lambda name: rivals[name][size].median)


def _without(untold: Sequence[float], sizes: Sequence[float]) -> list[list[float]]:
    """``sizes`` in parts, between which one of ``untold`` lies; all ascend."""
    parts: list[list[float]] = []
    for number, size in enumerate(sizes):
        if not number or any(sizes[number - 1] < one < size for one in untold):
            parts.append([])
        parts[-1].append(size)
    return parts


def _parted(rivals: Rivals, sizes: list[float], best: set[str]) -> Iterator[OldSizeRange]:
    plain: list[float] = []
    others = {name: costs for name, costs in rivals.items() if set(sizes) <= set(costs)}
    while sizes:
        count = _as_good(others, sizes, best)
        if count >= FEWEST_ALIKE or (count and (not plain or count == len(sizes))):
            if plain:
                yield _part(rivals, plain, best)
            yield _part(rivals, sizes[:count], best)
            plain, sizes = [], sizes[count:]
        else:
            plain.append(sizes.pop(0))
    if plain:
        yield _part(rivals, plain, best)


def _part(rivals: Rivals, sizes: Sequence[float], best: set[str]) -> OldSizeRange:
    found = _range(rivals, sizes, set.intersection(*(equals(rivals, size) for size in sizes)))
    return replace(found, best=tuple(sorted(found.best, key=lambda name: name not in best)))


def _as_good(rivals: Rivals, sizes: Sequence[float], best: set[str]) -> int:
    """At how many of the first ``sizes`` the same others are as good as ``best``; of ``rivals`` some are."""
    common = equals(rivals, sizes[0])
    for count, size in enumerate(sizes):
        common &= equals(rivals, size)
        if common <= best:
            return count
    return len(sizes)


def _range(rivals: Rivals, sizes: Sequence[float], best: set[str]) -> OldSizeRange:
    over = {name: found for name in rivals if (found := excess(rivals, name, sizes)) is not None}
    apart = {name: fmean(difference(rivals, name, size) for size in sizes if size in rivals[name]) for name in over}
    ordered = sorted(over, key=lambda name: (over[name][1], apart[name]))
    worse = {name for size in sizes for name in over if size in rivals[name] and name not in equals(rivals, size)}
    return OldSizeRange(
        first=sizes[0],
        last=sizes[-1],
        best=tuple(name for name in ordered if name in best),
        excess=tuple((name, over[name][0], over[name][2]) for name in ordered if name in worse),
        partly=tuple(
            (name, min(had), max(had))
            for name in ordered
            if name in worse and len(had := [size for size in sizes if size in rivals[name]]) < len(sizes)
        ),
    )


def _crossover(rivals: Rivals, below: OldSizeRange, above: OldSizeRange) -> OldCrossover | None:
    before = next(name for name in below.best if name not in above.best)
    after = next(name for name in above.best if name not in below.best)
    shared = [size for size in sorted(rivals[before]) if size in rivals[after] and below.first <= size <= above.last]
    gains = [(size, *rivals[before][size].over(rivals[after][size])) for size in shared]
    surely_above = next((i for i, gain in enumerate(gains) if gain[0] >= above.first and gain[2] > 0), len(gains))
    surely_below = next((i for i in reversed(range(surely_above)) if gains[i][3] < 0), -1)
    around = gains[max(surely_below, 0) : surely_above + 1]
    if len(around) < 2:
        return None
    size = _zero([(one[0], one[1]) for one in around])
    low = _zero([(one[0], one[3]) for one in around])  # until here `before` is surely better
    high = _zero([(one[0], one[2]) for one in around])
    return OldCrossover(before, after, size, min(low, size), max(high, size))


def _zero(points: Sequence[tuple[float, float]]) -> float:
    """Size at which the values go above zero for good; the first or last size where they never change sign."""
    for (size, value), (larger, more) in reversed(list(pairwise(points))):
        if value <= 0 < more:
            return math.exp(math.log(size) + (math.log(larger) - math.log(size)) * value / (value - more))
    return points[0][0] if points[0][1] > 0 else points[-1][0]


Cost = OldCost
SizeRange = OldSizeRange
Crossover = OldCrossover
