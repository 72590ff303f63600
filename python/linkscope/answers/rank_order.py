"""Rank order: which rank belongs on which device, so that a schedule takes the least time by the paths as measured.

A phase takes as long as its busiest link, or its slowest message where that is longer: its pair's latency and its bytes
at the rate that the pair reached alone. A link carries what all messages over it have, at the share of its peak that
each pair reached. Of up to eight devices all orders are tried; of more, ranks change places in pairs as long as that
helps (pairwise interchange, as for quadratic assignment), from the devices' own order and from a greedy one. Mapping
libraries (Scotch, TopoMatch) minimise bytes times distance, which is another goal: what a phase waits for is its worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations

import polars

from linkscope.machine.paths import Paths, natural
from linkscope.messages.catalog import problem
from linkscope.statistics.best import AS_GOOD
from linkscope.workload.schedule import Schedule

MOST_TRIED = 8
Pair = tuple[str, str]


@dataclass(frozen=True)
class PairCost:
    """One pair of devices: seconds before the first byte, GB/s alone, and the links on the way with the GB/s that each
    has for this pair's bytes."""

    latency_s: float
    gbps: float
    links: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Bottleneck:
    """Name what a schedule waits for longest: a link, or a pair, and its share of the time."""

    what: str
    share: float


@dataclass(frozen=True)
class RankOrder:
    """``devices``: of rank 0, 1, ... as suggested. ``seconds`` with it, ``default_seconds`` with the devices in their
    own order; both predicted. ``bottleneck`` of the suggested one. ``tried``: whether all orders were."""

    devices: tuple[str, ...]
    default: tuple[str, ...]
    seconds: float
    default_seconds: float
    bottleneck: Bottleneck
    tried: bool
    modelled: bool

    @property
    def gain(self) -> float:
        """Return 1.5 for 1.5 times as fast."""
        return self.default_seconds / self.seconds

    @property
    def matters(self) -> bool:
        """Return whether the order is faster than the devices' own by more than 1%."""
        return self.gain > 1 + AS_GOOD


def rank_order(schedule: Schedule, results: polars.DataFrame, paths: Paths, method: str | None = None) -> RankOrder:
    """Return the order for a schedule by a run's results; of messages by ``method``, or by whichever is fastest.

    Raises LinkscopeError where the node has fewer devices than the schedule has ranks, or a pair was not measured so.
    """
    costs = pair_costs(results, paths, method)
    if method is not None and not costs:
        raise problem("order.no-method", method=method)
    devices = sorted({device for pair in costs for device in pair}, key=natural)
    if len(devices) < schedule.ranks:
        raise problem("order.few-devices", devices=len(devices), name=schedule.name, ranks=schedule.ranks)
    lacking = [f"{a}>{b}" for a in devices for b in devices if a != b and (a, b) not in costs]
    if lacking:
        raise problem("order.no-pair", path=lacking[0])
    default = tuple(devices[: schedule.ranks])
    parts = _merged(schedule)
    best = min(_candidates(parts, devices, default, costs), key=lambda order: _seconds(parts, order, costs))
    if _seconds(parts, default, costs) <= _seconds(parts, best, costs) * (1 + AS_GOOD):
        best = default
    every = _apart(schedule)
    return RankOrder(
        devices=best,
        default=default,
        seconds=_seconds(every, best, costs),
        default_seconds=_seconds(every, default, costs),
        bottleneck=_bottleneck(every, best, costs),
        tried=len(devices) <= MOST_TRIED,
        modelled=bool(results["modelled"].any()),
    )


def predicted_s(schedule: Schedule, order: Sequence[str], costs: dict[Pair, PairCost]) -> float:
    """Return the seconds of the schedule's messages with rank i on ``order[i]``, without packs and collectives."""
    return _seconds(_apart(schedule), order, costs)


def pair_costs(results: polars.DataFrame, paths: Paths, method: str | None = None) -> dict[Pair, PairCost]:
    """Return what every pair of GPUs costs (of NUMA nodes where there are none).

    That is the fastest single copy of the largest size, and the least time that any copy between the two took, or
    between another pair of their tier. With a ``method``: of its copies; links have room for what the fastest one gets
    out of them.
    """
    copies = results.filter(
        (polars.col("flows") == 1) & (polars.col("background") == 0) & (polars.col("together") == ""),
        (polars.col("status") == "ok") & polars.col("gbps").is_not_null() & polars.col("seconds").is_not_null(),
        polars.col("source") != polars.col("destination"),
    )
    kind = "gpu:" if copies["source"].str.starts_with("gpu:").any() else "numa:"
    copies = copies.filter(polars.all_horizontal(polars.col("source", "destination").str.starts_with(kind)))
    fastest = copies.group_by("source", "destination").agg(polars.col("gbps").max())
    room = {(source, destination): gbps for source, destination, gbps in fastest.iter_rows()}
    if method is not None:
        copies = copies.filter(polars.col("method") == method)
    quickest = dict(copies.group_by("tier").agg(polars.col("seconds").min()).iter_rows())
    largest = copies.filter(polars.col("bytes") == polars.col("bytes").max().over("source", "destination"))
    rates = largest.group_by("source", "destination", "tier").agg(polars.col("gbps").max())
    found = {}
    for source, destination, tier, gbps in rates.iter_rows():
        path = paths.between(source, destination)
        links = _links(paths, path.route, room[source, destination], path.peak_gbps) if path is not None else ()
        found[source, destination] = PairCost(float(quickest[tier]), float(gbps), links)
    return found


def _links(paths: Paths, route: Sequence[str], gbps: float, peak: float | None) -> tuple[tuple[str, float], ...]:
    """Return what each link of known rate has for a pair that reached ``gbps`` of ``peak``."""
    rates = ((name, paths.links[name].link.peak_gbps) for name in route)
    return tuple((name, rate * min(gbps / peak, 1.0)) for name, rate in rates if rate and peak)


@dataclass(frozen=True)
class _Traffic:
    """Bytes between ``pairs`` of ranks in ``count`` phases, of each pair in all."""

    name: str
    pairs: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    count: int


def _apart(schedule: Schedule) -> list[_Traffic]:
    return [
        _Traffic(one.name, one.pairs, tuple(message.size * one.repeats for message in one.messages), one.repeats)
        for one in schedule.phases
        if one.messages
    ]


def _merged(schedule: Schedule) -> list[_Traffic]:
    """Return phases between the same pairs as one: what an order gains for one it gains for the others."""
    found: dict[tuple[tuple[int, int], ...], _Traffic] = {}
    for one in _apart(schedule):
        before = found.get(one.pairs)
        if before is not None:
            sizes = tuple(a + b for a, b in zip(before.sizes, one.sizes, strict=True))
            one = replace(one, sizes=sizes, count=one.count + before.count)
        found[one.pairs] = one
    return list(found.values())


def _waits(part: _Traffic, order: Sequence[str], costs: dict[Pair, PairCost]) -> Iterator[tuple[float, str]]:
    """Yield how long the part takes by each link and each message."""
    loads: dict[str, float] = {}
    for (source, destination), size in zip(part.pairs, part.sizes, strict=True):
        pair = order[source], order[destination]
        cost = costs[pair]
        yield cost.latency_s * part.count + size / cost.gbps * 1e-9, f"{pair[0]}>{pair[1]}"
        for link, gbps in cost.links:
            loads[link] = loads.get(link, 0.0) + size / gbps * 1e-9
    for link, seconds in loads.items():
        yield seconds, link


def _seconds(parts: Iterable[_Traffic], order: Sequence[str], costs: dict[Pair, PairCost]) -> float:
    return sum(max(_waits(part, order, costs))[0] for part in parts)


def _bottleneck(parts: Sequence[_Traffic], order: Sequence[str], costs: dict[Pair, PairCost]) -> Bottleneck:
    waits: dict[str, float] = {}
    for part in parts:
        seconds, what = max(_waits(part, order, costs))
        waits[what] = waits.get(what, 0.0) + seconds
    what = max(waits, key=lambda name: waits[name])
    return Bottleneck(what, waits[what] / sum(waits.values()))


def _candidates(
    parts: Sequence[_Traffic], devices: Sequence[str], default: tuple[str, ...], costs: dict[Pair, PairCost]
) -> Iterator[tuple[str, ...]]:
    if len(devices) <= MOST_TRIED:
        yield from permutations(devices, len(default))
        return
    for start in (default, _greedy(parts, devices, len(default), costs)):
        yield _interchanged(parts, devices, start, costs)


def _interchanged(
    parts: Sequence[_Traffic], devices: Sequence[str], start: tuple[str, ...], costs: dict[Pair, PairCost]
) -> tuple[str, ...]:
    order = [*start, *(device for device in devices if device not in start)]
    best, better = _seconds(parts, order, costs), True
    while better:
        better = False
        for a, b in combinations(range(len(order)), 2):
            if a >= len(start):
                break
            order[a], order[b] = order[b], order[a]
            seconds = _seconds(parts, order, costs)
            if seconds < best * (1 - 1e-9):
                best, better = seconds, True
            else:
                order[a], order[b] = order[b], order[a]
    return tuple(order[: len(start)])


def _greedy(
    parts: Sequence[_Traffic], devices: Sequence[str], ranks: int, costs: dict[Pair, PairCost]
) -> tuple[str, ...]:
    """Return the heaviest pair of ranks on the fastest pair of devices, then the next."""
    traffic: dict[frozenset[int], int] = {}
    for part in parts:
        for ends, size in zip(part.pairs, part.sizes, strict=True):
            traffic[frozenset(ends)] = traffic.get(frozenset(ends), 0) + size
    fastest = sorted(combinations(devices, 2), key=lambda pair: -costs[pair].gbps)
    placed: dict[int, str] = {}
    for both in sorted(traffic, key=lambda ends: -traffic[ends]):
        waiting = [rank for rank in sorted(both) if rank not in placed]
        here = {placed[rank] for rank in both if rank in placed}
        for pair in fastest:
            free = [device for device in pair if device not in placed.values()]
            if here <= set(pair) and len(free) >= len(waiting):
                placed |= dict(zip(waiting, free, strict=False))
                break
    left = iter(device for device in devices if device not in placed.values())
    return tuple(placed.get(rank) or next(left) for rank in range(ranks))
