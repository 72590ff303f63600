"""Stand out: what differs among results of one table, which needs no reference to be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from linkscope.answers.readings import PastedResult
from linkscope.importers.peer_output import WITHOUT_PEER_ACCESS
from linkscope.messages.finding import Finding, error, note

LIKE = 0.9
"""A result that reaches less than this share of what it is compared with stands out."""
SPREAD = 0.1
"""Greatest difference of results that agree."""
MOST = 0.7
"""Share of a table's results that must agree for another to stand out."""


_WAYS: Mapping[str, Callable[[tuple[str, str]], tuple[str, ...]]] = {
    "<->": lambda pair: pair,
    "->": lambda pair: pair[:1],
    "<-": lambda pair: pair[1:],
}
"""Direction of a GPU's paths -> the ends of a path at which it must stand."""


@dataclass(frozen=True)
class GpuGroups:
    """GPUs that reach one another at the rate ``within``, and those of other groups at ``across``, GB/s."""

    members: tuple[tuple[str, ...], ...]
    within: float
    across: float


def stand_out(readings: Sequence[PastedResult], compared: Sequence[PastedResult]) -> list[Finding]:
    """Return what stands out, an error where it is a fault. ``compared``: the readings that nothing else judges."""
    groups = list(_groups(readings))
    outliers = [] if groups else list(_devices(compared)) or list(_outliers(compared))
    apart = [] if outliers else list(_asymmetric(compared, groups[0].facts["groups"] if groups else []))
    return [*outliers, *apart, *groups, *_slower_with_access(readings)]


def agree(readings: Sequence[PastedResult]) -> bool:
    """Return whether all results of each table and size are alike."""
    return all(
        min(one.rate or 0.0 for one in some) >= LIKE * max(one.rate or 0.0 for one in some)
        for some in _tables(readings).values()
    )


def _tables(readings: Sequence[PastedResult]) -> dict[tuple[object, ...], list[PastedResult]]:
    """Return the rates between named devices at the largest size of each table: small transfers and page faults scatter
    without a fault of a link."""
    largest: defaultdict[tuple[object, ...], int] = defaultdict(int)
    for one in readings:
        largest[one.table] = max(largest[one.table], one.size)
    found: defaultdict[tuple[object, ...], list[PastedResult]] = defaultdict(list)
    for one in readings:
        copied = one.moves.kind != "collective" and "managed" not in one.moves.memories
        if one.rate and one.path and copied and one.size == largest[one.table]:
            found[(one.table, one.size)].append(one)
    return found


def _between_gpus(readings: Sequence[PastedResult]) -> Iterator[list[PastedResult]]:
    of_peers = [one for one in readings if one.moves.kind == "peer" and one.moves.varies != WITHOUT_PEER_ACCESS]
    yield from _tables(of_peers).values()


def _devices(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield the GPUs whose every path is slower than all paths of the others, one way or both."""
    for some in _between_gpus(readings):
        rates = {(one.moves.source, one.moves.destination): one.rate or 0.0 for one in some}
        for gpu in sorted({end for pair in rates for end in pair}):
            for arrow, own in _WAYS.items():
                mine = [rate for pair, rate in rates.items() if gpu in own(pair)]
                rest = [rate for pair, rate in rates.items() if gpu not in own(pair)]
                if min(len(mine), len(rest)) > 1 and max(mine) < LIKE * min(rest) and min(rest) > LIKE * max(rest):
                    facts = {"gpu": gpu, "arrow": arrow, "rate": median(mine), "usual": median(rest)}
                    yield error("paste.device", factor=median(rest) / median(mine), **facts)
                    return


def _outliers(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield the results that fall behind, where nearly all others of their table and size agree."""
    for some in _tables(readings).values():
        usual = median(one.rate or 0.0 for one in some)
        alike = [one for one in some if abs((one.rate or 0.0) / usual - 1) <= SPREAD]
        slow = sorted((one for one in some if (one.rate or 0.0) < LIKE * usual), key=lambda one: one.rate or 0.0)
        if slow and len(alike) >= MOST * len(some) and len(alike) > 1:
            facts = {"paths": [one.path for one in slow], "rate": slow[0].rate, "usual": usual, "others": len(alike)}
            yield replace(error("paste.outliers", **facts), results=tuple(one.row.id for one in slow))


def _asymmetric(readings: Sequence[PastedResult], groups: Sequence[str]) -> Iterator[Finding]:
    """Yield the pairs of GPUs that are slower one way than back, of each table the farthest apart. Pairs of two groups
    are left out: the buffers of copies that pass the CPUs lie near one of them."""
    group = {device: name for name in groups for device in name.split(", ")}
    for some in _between_gpus(readings):
        ways = {(one.moves.source, one.moves.destination): one for one in some if not one.moves.both}
        pairs = [(one, ways[end, start]) for (start, end), one in ways.items() if start != end and (end, start) in ways]
        pairs = [pair for pair in pairs if group.get(pair[0].moves.source) == group.get(pair[0].moves.destination)]
        apart = [(one, back) for one, back in pairs if (one.rate or 0.0) < LIKE * (back.rate or 0.0)]
        if apart:
            worst, faster = min(apart, key=lambda pair: (pair[0].rate or 0.0) / (pair[1].rate or 1.0))
            yield error("paste.asymmetric", path=worst.path, rate=worst.rate, back=faster.rate, pairs=len(apart))


def _slower_with_access(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield the pairs of GPUs whose copies are slower with peer access than without."""
    off = {
        (one.table[2:], one.size, one.path): one.rate or 0.0
        for one in readings
        if one.moves.kind == "peer" and one.moves.varies == WITHOUT_PEER_ACCESS and not one.moves.both
    }
    slower = [
        (one, without)
        for one in readings
        if one.rate and (without := off.get((one.table[2:], one.size, one.path))) and one.rate < LIKE * without
    ]
    if slower:
        worst, without = slower[0]
        yield note("paste.access-slower", paths=[one.path for one, _ in slower], rate=worst.rate, without=without)


def _groups(readings: Sequence[PastedResult]) -> Iterator[Finding]:
    """Yield which groups of GPUs a matrix falls into, where each reaches its own faster than all others."""
    for some in _between_gpus(readings):
        found = groups_of({(one.moves.source, one.moves.destination): one.rate or 0.0 for one in some})
        if found is not None:
            names = [f"({', '.join(one)})" for one in found.members]
            yield note("paste.groups", groups=names, within=found.within, across=found.across)
            return


def groups_of(rates: Mapping[tuple[str, str], float]) -> GpuGroups | None:
    """Return the groups of devices that a matrix of rates falls into; None where it is not that, or one group."""
    devices = sorted({end for pair in rates for end in pair})
    if len(devices) < 3 or min(rates.values()) >= LIKE * max(rates.values()):
        return None
    middle = (min(rates.values()) * max(rates.values())) ** 0.5
    group = {device: {device} for device in devices}
    for (a, b), rate in rates.items():
        if rate > middle and group[a] is not group[b]:
            joined = group[a] | group[b]
            group |= dict.fromkeys(joined, joined)
    members = sorted({tuple(sorted(one)) for one in group.values()})
    within = [rate for (a, b), rate in rates.items() if group[a] is group[b]]
    across = [rate for (a, b), rate in rates.items() if group[a] is not group[b]]
    if len(members) < 2 or not across or min(map(len, members)) < 2:
        return None
    if min(within) < (1 - SPREAD) * max(within) or min(across) < (1 - SPREAD) * max(across):
        return None
    return GpuGroups(tuple(members), median(within), median(across))
