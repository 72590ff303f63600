"""By size: what each way of one question takes from the smallest size to the largest, and which is fastest at each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import polars

from linkscope.analysis.choose import Question, costs_by_size
from linkscope.analysis.headline import OF_ALL
from linkscope.analysis.library_settings import settings
from linkscope.analysis.size_ranges import AS_GOOD, Cost, difference, equals
from linkscope.analysis.way import interface

FEWEST_SIZES = 2
ENOUGH_SHARED = 4
"""Sizes that two ways have, to leave the others out."""
_OF_LIBRARY = frozenset(("xccl-collective",))
_WANTED = ("way", "bytes", "assumed", "cost", "cost_low", "cost_high")


@dataclass(frozen=True)
class BySize:
    """``ways``: the costs of each in seconds, by bytes, the best way first; the first of every method stand before
    its others. ``assumed``: of ways the sizes at which the cost is a model's and mostly a latency that no source
    gives. ``settings``: what was set of NCCL or RCCL, which may be faster otherwise; empty where none of the ways is
    theirs."""

    question: Question
    ways: Mapping[str, Mapping[float, Cost]]
    assumed: Mapping[str, frozenset[float]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """All that any way has, ascending, in bytes."""
        return tuple(sorted({int(size) for costs in self.ways.values() for size in costs}))

    @property
    def methods(self) -> frozenset[str]:
        """Of all ways."""
        return frozenset(map(interface, self.ways))

    @property
    def on_host(self) -> bool:
        """Whether no GPU takes part."""
        return "GPU" not in self.question.movement

    def rivals(self, size: int) -> int:
        """How many ways have it."""
        return sum(size in costs for costs in self.ways.values())

    def fastest(self, size: int) -> frozenset[str]:
        """The way with the least median, and those less than 1 % behind; none where the cost of a way is assumed."""
        known = self._comparable(size)
        return frozenset(name for name in known if difference(known, name, size) <= AS_GOOD)

    def undecided(self, size: int) -> frozenset[str]:
        """Those that are further behind, but that their intervals do not tell apart from the least."""
        known = self._comparable(size)
        return frozenset(equals(known, size) - self.fastest(size) if known else ())

    def _comparable(self, size: int) -> dict[str, Mapping[float, Cost]]:
        if any(size in sizes for sizes in self.assumed.values()):
            return {}
        return {name: costs for name, costs in self.ways.items() if size in costs}

    def picks(self, most: int) -> tuple[int, ...]:
        """At most so many of its sizes, evenly spread, with the first and the last: of those that two ways or more
        have, where they are enough."""
        having = Counter(int(size) for costs in self.ways.values() for size in costs)
        shared = sorted(size for size, ways in having.items() if ways > 1)
        sizes = tuple(shared) if len(shared) >= ENOUGH_SHARED else self.sizes
        if len(sizes) <= most:
            return sizes
        return tuple(sizes[round(number * (len(sizes) - 1) / (most - 1))] for number in range(most))


def by_size(figures: polars.DataFrame) -> list[BySize]:
    """Of the frame of ``analysis/figures.py`` the questions that have two sizes or more: those with GPUs first, with
    most methods, with fewest conditions, in the order of the run. Of several flows together there is no one time."""
    found = []
    of_one = ~polars.col("figure").cast(polars.String).is_in(OF_ALL)
    for question, names, lines in costs_by_size(figures.filter(of_one)):
        if lines["bytes"].n_unique() < FEWEST_SIZES:
            continue
        ways: dict[str, dict[float, Cost]] = {}
        assumed: dict[str, set[float]] = {}
        for way, size, of_model, *cost in lines.select(_WANTED).iter_rows():
            ways.setdefault(names[way], {})[float(size)] = Cost(*cost)
            if of_model:
                assumed.setdefault(names[way], set()).add(float(size))
        sizes = {name: frozenset(some) for name, some in assumed.items()}
        one = BySize(question, _best_first(ways), sizes)
        found.append(replace(one, settings=settings(figures)) if one.methods >= _OF_LIBRARY else one)
    return sorted(found, key=lambda one: (one.on_host, -len(one.methods), len(one.question.conditions)))


def _best_first(ways: Mapping[str, Mapping[float, Cost]]) -> dict[str, Mapping[float, Cost]]:
    least: dict[float, float] = {}
    for costs in ways.values():
        for size, cost in costs.items():
            least[size] = min(least.get(size, math.inf), cost.median)
    excess = {
        name: fmean(math.log(cost.median / least[at]) for at, cost in costs.items()) for name, costs in ways.items()
    }
    ordered = sorted(ways, key=lambda name: (-len(ways[name]), excess[name]))
    firsts = _first_of_each(ordered)
    return {name: ways[name] for name in (*firsts, *(name for name in ordered if name not in firsts))}


def _first_of_each(names: Sequence[str]) -> list[str]:
    firsts: dict[str, str] = {}
    for name in names:
        firsts.setdefault(interface(name), name)
    return list(firsts.values())
