"""Thresholds: what a framework's default for an all-reduce costs by size, and at which sizes it should change kernel.

A kernel that was not measured is stood in for as machines/expected/thresholds.yaml says.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

from linkscope.answers.best import ANY, Choice
from linkscope.answers.way_names import Way
from linkscope.machine.framework_rules import FrameworkRule, Pick, framework_rules
from linkscope.machine.node import Node
from linkscope.statistics.best import best, dearer
from linkscope.statistics.interval import Interval
from linkscope.statistics.ranges import costs_at

_REDUCED = "all-reduce/"
_ON_GPUS = "gpu:"
_UNMEASURED = 1e3
"""Logarithm of a cost beyond all measured ones."""
Ways = tuple[tuple[str, ...], ...]
"""Names of what may stand for a kernel: those that fit best first."""
Chain = Sequence[tuple[Pick, Ways]]


@dataclass(frozen=True)
class AtSize:
    """Hold what a default picks for so many bytes. ``extra``: what it costs more than ``fastest``, the best of all
    measured ways, 0 where it ties; ``excess``: the same against what it would pick by the best limits. ``own``: both
    picks were measured by methods that run the framework's own kernels.
    """

    size: int
    way: str
    cost: Interval
    fastest: str
    least: Interval
    extra: float
    excess: float
    own: bool


@dataclass(frozen=True)
class KernelLimit:
    """The largest size of a kernel: by ``default`` and, best on this node, ``last`` bytes; 0: never. ``way``: what was
    measured."""

    pick: Pick
    way: str
    default: int
    last: int

    @property
    def kernel(self) -> str:
        """Return the name of the kernel."""
        return self.pick.kernel


@dataclass(frozen=True)
class Default:
    """A framework's default on one task. ``chain``: its picks, each with the ways that may stand for it."""

    rule: FrameworkRule
    choice: Choice
    gpus: int
    architecture: str
    chain: Chain

    @cached_property
    def sizes(self) -> list[AtSize]:
        """Return what it costs at each size where what it picks was measured."""
        found = []
        for size in self.choice.sizes:
            costs = costs_at(self.choice.rivals, size)
            pick, ways = next(one for one in self.chain if one[0].last is None or size <= one[0].last)
            way = self._way(ways, size)
            if way is not None:
                fastest, cost = best(costs)[0], costs[way]
                chain, sizes, cuts = self._kernels
                better, ways = chain[bisect(cuts, sizes.index(size))]
                picked = self._way(ways, size) or way
                extras = [_extra(cost, costs[name]) for name in (fastest, picked)]
                own = self._runs(pick, way) and self._runs(better, picked)
                found.append(AtSize(int(size), way, cost, fastest, costs[fastest], extras[0], min(extras), own))
        return found

    def _runs(self, pick: Pick, way: str) -> bool:
        """Return whether a way runs the kernel itself, and none that stands in for it."""
        return self.choice.ways[way].method in pick.own

    @cached_property
    def limits(self) -> tuple[KernelLimit, ...]:
        """Return the limit of each measured kernel but the last; the default's where no other one gains."""
        chain, sizes, cuts = self._kernels
        gains = any(one.excess for one in self.sizes)
        return tuple(
            KernelLimit(
                pick, ways[0][0], pick.last or 0, self._last(chain, sizes, cuts, i) if gains else pick.last or 0
            )
            for i, (pick, ways) in enumerate(chain[:-1])
        )

    @cached_property
    def _kernels(self) -> tuple[Chain, list[float], tuple[int, ...]]:
        """Return the measured kernels, each once, the sizes that any has, and before which each but the last ends."""
        chain: list[tuple[Pick, Ways]] = []
        for pick, ways in self.chain:
            if chain and chain[-1][1] == ways:  # one way stands for both kernels: the one that goes further is named
                before = chain.pop()[0]
                pick = pick if pick.last is None else max(before, pick, key=lambda one: one.last or 0)
            chain += [(pick, ways)] if ways else []
        sizes = [size for size in self.choice.sizes if any(self._way(ways, size) for _, ways in chain)]
        return chain, sizes, self._cuts([ways for _, ways in chain], sizes)

    def _cuts(self, chain: Sequence[Ways], sizes: Sequence[float]) -> tuple[int, ...]:
        """Return before which of ``sizes`` each kernel but the last ends, for the least product of times."""
        logs = [[self._log(ways, size) for size in sizes] for ways in chain]
        every = combinations_with_replacement(range(len(sizes) + 1), len(chain) - 1)
        return min(every, key=lambda cuts: sum(logs[bisect(cuts, i)][i] for i in range(len(sizes))))

    def _last(self, chain: Chain, sizes: Sequence[float], cuts: Sequence[int], i: int) -> int:
        """Return the last byte of a kernel: where it crosses the next one, between the sizes around its end."""
        end = cuts[i]
        if end == (cuts[i - 1] if i else 0):
            return 0
        if end == len(sizes):
            return max(int(sizes[-1]), chain[i][0].last or 0)
        below, above = sizes[end - 1], sizes[end]
        lead, lag = (self._log(chain[i][1], size) - self._log(chain[i + 1][1], size) for size in (below, above))
        crosses = lead < 0 < lag and lag - lead < _UNMEASURED / 2
        return int(below * (above / below) ** (lead / (lead - lag))) if crosses else int(below)

    def _log(self, ways: Ways, size: float) -> float:
        name = self._way(ways, size)
        return math.log(self.choice.rivals[name][size].value) if name else _UNMEASURED

    def _way(self, ways: Ways, size: float) -> str | None:
        """Return the way with the least cost of those that fit best and were measured at a size."""
        costs = costs_at(self.choice.rivals, size)
        here = next((held for names in ways if (held := [name for name in names if name in costs])), [])
        return min(here, key=lambda name: costs[name].value, default=None)


def defaults(every: Sequence[Choice], node: Node) -> Iterator[Default]:
    """Yield what each framework's rule means for each all-reduce on GPUs, of any memory where several were measured."""
    free = {choice.task.key[:-1] for choice in every if choice.task.memories == ANY}
    for choice in every:
        members = str(choice.first["members"] or "").split()
        on_gpus = choice.task.movement.startswith(_REDUCED) and all(name.startswith(_ON_GPUS) for name in members)
        if on_gpus and choice.ranges and (choice.task.memories == ANY or choice.task.key[:-1] not in free):
            device = next((one for one in node.devices if one.id == members[0]), None)
            architecture = str(device.attributes.get("architecture", "")) if device else ""
            for rule, picks in framework_rules(architecture, len(members)):
                chain = tuple((pick, _ways(choice, pick, rule.form)) for pick in picks)
                if chain[0][1]:
                    yield Default(rule, choice, len(members), architecture, chain)


def _ways(choice: Choice, pick: Pick, form: str) -> Ways:
    held = {name: way for name, way in choice.ways.items() if not form or way.attributes.get("form", form) == form}
    found = [tuple(name for name, way in held.items() if _fits(way, *one)) for one in pick.measured_as]
    return tuple(names for names in found if names)


def _fits(way: Way, method: str, settings: Mapping[str, str]) -> bool:
    held = {**way.attributes, "memory": way.memory}
    alike = all((held.get(name) or value) == value for name, value in settings.items())
    return way.method == method and not way.environment and alike


def _extra(cost: Interval, other: Interval) -> float:
    return cost.value / other.value - 1 if dearer(cost, other) else 0.0
