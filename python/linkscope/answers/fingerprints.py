"""Fingerprints: which path a rate is known from, and what a series of sizes shows, with the arithmetic of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

from linkscope.importers.peer_output import Movement
from linkscope.messages.finding import Finding, Level, error, note

CARDS_GBITS = (25, 50, 100, 200, 400, 800)
"""Network cards by what they are sold as, Gb/s."""
CARD_SHARE = (0.90, 0.985)
"""Share of it that a card's payload reaches."""
OWN_TEST_SHARE = 0.993
"""The most of the card's own test: InfiniBand's headers of 30 bytes leave 4096 of 4126 bytes of its largest packets."""
TCP_GBPS = (0.25, 1.2)
PCIE_X16_GBPS = {3: 15.75, 4: 31.5, 5: 63.0, 6: 121.0}
"""PCIe generation -> GB/s of 16 lanes, one way."""
PCIE_GBPS = {3: (10.0, 13.6), 4: (20.5, 27.5), 5: (50.0, 58.5)}
"""PCIe generation -> GB/s that copies over 16 lanes reach."""
PCIE_SHARE = (0.62, 0.95)
"""Share of a slot's line rate that copies reach; half of the lanes give half."""
NVLINK_LINES = {150.0: 25.0, 300.0: 25.0, 450.0: 25.0, 900.0: 50.0, 1800.0: 100.0}
"""GB/s of all NVLinks of a GPU, one way -> of one link."""
NVLINK_SHARE, NVLINK_USUAL = (0.82, 0.90), 0.86
"""Share of NVLinks' rate that copies reach, and its usual value."""
MOST_LINKS = 0.8
"""Share of a GPU's links from which on a number of links cannot be told from other reasons to be slow."""
TWELVE_GBPS = (252.0, 264.0)
FASTEST_GBPS, FASTEST_OLDER_GBPS = 1800.0, 460.0
"""GB/s one way of the fastest link between two GPUs, and of NVLink 4 and all xGMI."""
ABOVE = 1.12
"""Factor from which on a rate is more than links carry: nominal rates are rounded, and MI100's reach 1.09 of theirs."""
WITHIN_SHARE = (0.35, 0.62)
"""Share of a GPU's memory rate that a copy within it reaches; it reads and writes."""
NEAR_LINE = 0.7
"""Share of the line from which on a rate needs no other explanation."""
LARGE, SMALL = 256 << 10, 4 << 10
"""Bytes from which on a rate is one of the path, and up to which a time is one of the latency."""
LARGE_ON_CARDS = 32 << 10
"""The same of a network card's own test, which sends 64 KiB by default, many at once."""
TIME_JUMP, TIME_DROP, STEPS = 3.0, 2.0, 4
"""Factors of latency from a size to a larger one: by how much more than the size it grows, by how much it falls; how
many times as large the next size is at most."""
STEP, ALONE, TIME_FALLS = 1.5, 3.0, 1.1
"""Factors: between the rates of two sizes for a step, from a size to both its neighbours, of a time that falls."""
LEAST_OF_MEMORY = 2.0
"""GB/s that copies of large messages in host memory exceed; a network's may not."""
LEAST_STEP = 1 << 10
FLOOR_SECONDS = 100e-6
_OTHERWISE = {"fingerprint.caches": "fingerprint.falls"}
"""Code of a fall of the rate that is another path's and not the caches'."""
_NETWORKED = ("mpi", "ucx", "nixl", "verbs", "nvshmem", "deepep", "gloo", "xccl", "nccl", "rccl")
_HOST_MEMORY = ("pinned", "pageable")


@dataclass(frozen=True)
class _Told:
    """One way of a result: its rate, and what the links between its ends carry."""

    rate: float
    moves: Movement
    line: float | None
    pcie: tuple[int, int] | None

    @property
    def below(self) -> float | None:
        """Return the share of the line; None where there is none."""
        return self.rate / self.line if self.line else None

    @property
    def near_line(self) -> bool:
        """Return whether the rate is that of the links between the ends."""
        return self.below is not None and self.below >= NEAR_LINE

    @property
    def between_gpus(self) -> bool:
        """Return whether links between GPUs, or a network in their place, could have carried it."""
        return self.moves.kind in ("peer", "message") and not _in_host(self.moves)

    def finding(self, code: str, **facts: Any) -> Finding:
        """Return a finding; it decides the outcome where the links between the ends carry far more."""
        slow = self.below is not None and self.below < NEAR_LINE and self.between_gpus
        return (error if slow else note)(code, rate=self.rate, line=self.line or 0.0, **facts)


def fingerprints(
    rate: float,
    *,
    movement: Movement,
    size: int | None = None,
    line_gbps: float | None = None,
    memory_gbps: float | None = None,
    pcie: tuple[int, int] | None = None,
    sizes: Sequence[tuple[int, float]] = (),
) -> list[Finding]:
    """Return what a rate (GB/s) is likely to be of, the most telling first; often nothing.

    ``line_gbps``: what the links between the ends carry; like ``rate`` both directions added where the result adds
    them. ``memory_gbps``: of a GPU's memory. ``pcie``: generation and lanes of the GPU's slot as built. ``sizes``: the
    series that the result is of, (bytes, GB/s).
    """
    ways = 2 if movement.both else 1
    told = _Told(rate / ways, movement, line_gbps / ways if line_gbps else None, pcie)
    series = sorted((bytes_, one) for bytes_, one in sizes if bytes_ > 0 and one > 0)
    by_size = list(_by_size(movement, series))
    if rate <= 0:
        return by_size
    counted = list(_counted(rate, movement))
    path: list[Finding] = []
    least = LARGE_ON_CARDS if movement.kind == "network" else LARGE
    if not counted and movement.at_once == 1 and (size is None or size >= least):
        path = list(_above(told, memory_gbps)) or _paths(told, series)
    if any(one.code == "fingerprint.network" for one in path):
        by_size = [replace(one, code=_OTHERWISE.get(one.code, one.code)) for one in by_size]
        return [*by_size, *path] if movement.kind == "message" and _in_host(movement) else [*path, *by_size]
    return [*counted, *path, *by_size]


def _in_host(moves: Movement) -> bool:
    """Return whether both buffers are known to lie in host memory."""
    return all(memory in _HOST_MEMORY for memory in moves.memories)


def _of_host_and_gpu(moves: Movement) -> bool:
    """Return whether one buffer is known to lie in host memory and the other in a GPU's."""
    return "device" in moves.memories and any(memory in _HOST_MEMORY for memory in moves.memories)


def _counted(rate: float, moves: Movement) -> Iterator[Finding]:
    """Yield what is left of a rate of which the tool counts other bytes than went over the links."""
    if moves.counts == "own-rows" and moves.ranks > 1:
        share = (moves.ranks - 1) / moves.ranks
        yield note("fingerprint.own-rows", rate=rate, crossed=rate * share, ranks=moves.ranks, others=moves.ranks - 1)
    elif moves.counts == "own-rows":
        yield note("fingerprint.own-rows-of-any", rate=rate, of_two=rate / 2, of_eight=rate * 7 / 8)
    elif moves.counts == "read-and-written":
        yield note("fingerprint.read-and-written", rate=rate, payload=rate / 2)
    elif moves.counts == "both-directions" and not moves.both:
        yield note("fingerprint.both-directions", rate=rate, each=rate / 2)


def _above(told: _Told, memory_gbps: float | None) -> Iterator[Finding]:
    """Yield why a rate is more than the links between two devices carry."""
    of_memory = told.rate / memory_gbps if memory_gbps else 0.0
    within = WITHIN_SHARE[0] <= of_memory <= WITHIN_SHARE[1]
    if told.moves.kind not in ("peer", "message", "to-gpu", "to-host") or _in_host(told.moves):
        return
    above = told.rate > ABOVE * (told.line or FASTEST_GBPS)
    if told.between_gpus and within and (above or told.line is None):
        yield error("fingerprint.one-gpu", rate=told.rate, share=of_memory, memory=memory_gbps)
    elif above and told.line:
        yield error("fingerprint.above-line", rate=told.rate, factor=told.rate / told.line, line=told.line)
    elif told.between_gpus and told.line is None and memory_gbps is None and told.rate > FASTEST_OLDER_GBPS:
        yield note("fingerprint.one-gpu-likely", rate=told.rate)


def _paths(told: _Told, series: Sequence[tuple[int, float]]) -> list[Finding]:
    """Return the paths that a rate is usual for, where it is not the rate of the links between the ends."""
    if told.near_line:
        return []
    cards, slots = list(_network(told, series)), list(_pcie(told))
    if cards and not (slots and _of_host_and_gpu(told.moves) and told.moves.hosts < 2):
        return [*cards, *(one for one in slots if one.code == "fingerprint.over-pcie")]
    return slots or list(_nvlinks(told)) or list(_tcp(told))


def _network(told: _Told, series: Sequence[tuple[int, float]]) -> Iterator[Finding]:
    """Yield the network card that a rate is of: between ranks, or GPUs that a library joins. On one host, memory of
    no GPU gives such a rate only after a faster one of smaller sizes."""
    moves = told.moves
    by_library = moves.kind in ("peer", "message") and moves.method.startswith(_NETWORKED)
    fell = max((rate for _, rate in series), default=0.0) > STEP * told.rate
    across = moves.kind == "network" or (moves.kind == "collective" and moves.hosts > 1)
    if not across and (not by_library or ("device" not in moves.memories and moves.hosts == 1 and not fell)):
        return
    most = OWN_TEST_SHARE if moves.kind == "network" else CARD_SHARE[1]
    for gbits in CARDS_GBITS:
        share = told.rate * 8 / gbits
        if CARD_SHARE[0] <= share <= most:
            if moves.kind == "message" and not moves.hosts:
                yield note("fingerprint.network-if", rate=told.rate, share=share, gbits=gbits)
            else:
                code = "fingerprint.network-card" if across or moves.hosts > 1 else "fingerprint.network"
                yield told.finding(code, share=share, gbits=gbits)


def _pcie(told: _Told) -> Iterator[Finding]:
    """Yield the PCIe slot that a rate is of, or which half or quarter of the one that there is."""
    moves = told.moves
    by_host = moves.kind in ("to-gpu", "to-host")
    if not (by_host or told.between_gpus) or (by_host and "pageable" in moves.memories) or "managed" in moves.memories:
        return
    if told.pcie is None:
        yield from _any_pcie(told)
        return
    generation, lanes = told.pcie
    slot = PCIE_X16_GBPS.get(generation, 0.0) * lanes / 16
    alone = told.between_gpus and told.line is not None and told.line <= 1.01 * slot  # nothing faster joins them
    for part in (1, 2, 4):
        share = told.rate * part / slot if slot else 0.0
        if not PCIE_SHARE[0] <= share <= PCIE_SHARE[1] or (part == 1 and not told.between_gpus):
            continue
        facts = {"generation": generation, "lanes": lanes, "share": told.rate / slot, "slot": slot}
        if part == 1 and alone:
            return
        if part == 1:
            yield told.finding("fingerprint.over-pcie", **facts)
        elif lanes >= part and not moves.opposed and not moves.both:
            halves = {"fewer": lanes // part, "older": generation - part // 2}
            found = told.finding("fingerprint.part-of-pcie", **facts, **halves)
            found = replace(found, level=Level.NOTE) if alone else found  # sockets between them may slow as much
            yield error(found.code, **found.facts) if part > 2 and "pinned" in moves.memories else found
        return


def _any_pcie(told: _Told) -> Iterator[Finding]:
    """Yield the slot that a rate is of where the GPU's own is not known."""
    for generation, (low, high) in PCIE_GBPS.items():
        slot = PCIE_X16_GBPS[generation]
        if low <= told.rate <= high:
            yield told.finding(
                "fingerprint.pcie", generation=generation, newer=generation + 1, slot=slot, share=told.rate / slot
            )
            return
    low, high = (rate / 2 for rate in PCIE_GBPS[3])
    if low <= told.rate <= high and not told.moves.method.startswith(_NETWORKED):
        slot = PCIE_X16_GBPS[3] / 2
        yield told.finding("fingerprint.pcie-half", slot=slot, share=told.rate / slot)


def _nvlinks(told: _Told) -> Iterator[Finding]:
    """Yield how many whole NVLinks a rate is usual for: fewer than the GPU has, or 12 where nothing says how many."""
    if not told.between_gpus:
        return
    if told.line is None:
        if TWELVE_GBPS[0] <= told.rate <= TWELVE_GBPS[1]:
            yield note("fingerprint.twelve-links", rate=told.rate, share=told.rate / 300, twelve=300.0)
        return
    link = NVLINK_LINES.get(told.line)
    if link is None:
        return
    all_links = round(told.line / link)
    fits = [
        links
        for links in range(2, int(MOST_LINKS * all_links) + 1)
        if NVLINK_SHARE[0] <= told.rate / (links * link) <= NVLINK_SHARE[1]
    ]
    if fits:
        links = min(fits, key=lambda one: abs(told.rate / (one * link) - NVLINK_USUAL))
        facts = {"links": links, "all": all_links, "carry": links * link, "share": told.rate / (links * link)}
        yield told.finding("fingerprint.links", **facts)


def _tcp(told: _Told) -> Iterator[Finding]:
    """Yield that a rate between GPUs is one of sockets, or of copies through pageable host memory."""
    if told.between_gpus and TCP_GBPS[0] <= told.rate <= TCP_GBPS[1]:
        on_gpus = told.moves.kind == "peer" or "device" in told.moves.memories
        by_ucx = told.moves.method.startswith(("ucx", "nixl"))
        code = "fingerprint.tcp-ucx" if by_ucx else "fingerprint.tcp"
        yield (error if on_gpus else note)(code, rate=told.rate)


def _by_size(moves: Movement, series: Sequence[tuple[int, float]]) -> Iterator[Finding]:
    """Yield what stands out along the sizes: one that is slow alone, a step, caches that end, a floor of time."""
    alone = _alone(series)
    if alone is not None:
        (size, rate), near = series[alone], min(series[alone - 1][1], series[alone + 1][1])
        yield error("fingerprint.lone-size", size=size, rate=rate, near=near, factor=near / rate)
    rest = [one for index, one in enumerate(series) if index != alone and one[0] >= LEAST_STEP]
    falls = list(_falls(moves, rest))
    yield from falls or _steps(rest)
    small = [size / (rate * 1e9) for size, rate in series if size <= SMALL]
    if len(small) > 2 and median(small) > FLOOR_SECONDS and moves.kind in ("peer", "message") and moves.hosts < 2:
        yield note("fingerprint.slow-start", seconds=median(small), size=SMALL)


def _alone(series: Sequence[tuple[int, float]]) -> int | None:
    """Return which size is far slower than both its neighbours, the farthest of them."""
    factors = {
        index: min(series[index - 1][1], series[index + 1][1]) / rate
        for index, (size, rate) in enumerate(series[1:-1], 1)
        if size >= LEAST_STEP
    }
    found = max(factors, key=lambda index: factors[index], default=None)
    return found if found is not None and factors[found] > ALONE else None


def _falls(moves: Movement, series: Sequence[tuple[int, float]]) -> Iterator[Finding]:
    """Yield that rates in host memory fall from some size on: beyond the caches."""
    if not (moves.kind == "host" or _in_host(moves)) or len(series) < 3:
        return
    (size, most), (largest, last) = max(series, key=lambda one: one[1]), series[-1]
    if most > STEP * last and last > LEAST_OF_MEMORY:
        yield note("fingerprint.caches", size=size, rate=most, largest=largest, last=last, factor=most / last)


def _steps(series: Sequence[tuple[int, float]]) -> Iterator[Finding]:
    """Yield the largest step between two neighbouring sizes: a rate that falls, or a time that falls with the size."""
    steps: list[tuple[float, Finding]] = []
    for (size, rate), (larger, next_rate) in pairwise(series):
        facts = {"size": size, "larger": larger, "rate": rate, "next": next_rate}
        falls, time_falls = rate / next_rate, (size / rate) / (larger / next_rate)
        if falls > STEP:
            steps.append((falls, note("fingerprint.step-down", factor=falls, **facts)))
        elif time_falls > TIME_FALLS:
            steps.append((time_falls, note("fingerprint.step-up", factor=next_rate / rate, **facts)))
    if steps:
        yield max(steps, key=lambda one: one[0])[1]


def time_fingerprints(series: Sequence[tuple[int, float]]) -> Iterator[Finding]:
    """Yield where latencies (bytes, seconds) jump by far more than the size does, and where a larger message takes far
    less time than a smaller one."""
    for (size, seconds), (larger, after) in pairwise(one for one in series if one[0] >= LEAST_STEP):
        if larger > STEPS * size:
            continue
        facts = {"size": size, "larger": larger, "seconds": seconds, "next": after}
        if after > TIME_JUMP * seconds * larger / size:
            yield note("fingerprint.time-jumps", factor=after / seconds, **facts)
        elif after < seconds / TIME_DROP:
            yield note("fingerprint.time-falls", factor=seconds / after, **facts)


def library_fingerprints(words: Mapping[str, Any], rate: float | None, peer_rate: float | None) -> list[Finding]:
    """Return what NCCL's or RCCL's own log says of the path. ``words``: the facts of import.library-words. ``rate``:
    the best that the library reached, ``peer_rate``: what a peer copy of such a pair reaches, GB/s."""
    transports: Mapping[str, int] = words.get("transports") or {}
    settings: Mapping[str, str] = words.get("settings") or {}
    facts: dict[str, Any] = {"library": words.get("library", "NCCL"), "rate": rate or 0.0, "peer": peer_rate or 0.0}
    one_host = words.get("hosts", 0) == 1
    through = {
        name: pairs for name, pairs in transports.items() if name.startswith("SHM") or (one_host and name[:3] == "NET")
    }
    found: list[Finding] = []
    if through:
        transport, pairs = max(through.items(), key=lambda one: one[1])
        facts |= {"transport": transport, "pairs": pairs}
        slower = peer_rate is not None and (rate is None or rate < NEAR_LINE * peer_rate)
        if settings.get("NCCL_P2P_DISABLE") == "1":
            found.append(error("fingerprint.p2p-disabled", **facts))
        elif slower:
            found.append(error("fingerprint.through-host", **facts))
        else:
            found.append(note("fingerprint.through-host-alone", **facts))
    sockets = sum(pairs for name, pairs in transports.items() if name.startswith("NET/Socket"))
    staged = sum(pairs for name, pairs in transports.items() if name.startswith("NET/IB") and "GDR" not in name)
    if not one_host and sockets:
        found.append(note("fingerprint.sockets", library=facts["library"], pairs=sockets))
    elif not one_host and staged:
        found.append(note("fingerprint.no-gpudirect", library=facts["library"], pairs=staged))
    return found
