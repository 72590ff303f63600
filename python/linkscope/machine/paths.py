"""Paths: hops, the widest path and its peak for any two devices, and what flows can reach together.

Which vertices forward is the one judgement here, and it follows what the papers and drivers show:

1. Two GPUs joined by a link or a switch of the GPU fabric (NVLink, xGMI) use it, even where a way over other GPUs were
   wider (pearson19 4.3: neighbours by one lane stay on it), and even where the host were.
2. GPUs that the fabric joins over further GPUs take the widest way where the hardware routes (xGMI, schieffer24 V-A:
   1-7 goes 1-0-6-7, not 1-3-7), and the widest of the shortest where a GPU in between must relay (NVLink,
   pearson19 4.3: two hops on the 4029GP-TVRT, by two lanes and then one).
3. All other pairs go through the host: NUMA nodes and switches forward, GPUs do not (no host traffic crosses a
   GPU), except GPUs that share a package and its memory with a NUMA node (MI300A: the APU is one vertex in two
   parts, and the way between the parts no hop).

Searches are a Dijkstra of our own, not networkx: a widest path that is shortest among equals needs one search per
distinct capacity with a hop count that skips switches and ties broken by name; networkx would leave all of that to us.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from linkscope.machine.fair_share import max_min
from linkscope.machine.node import Link, Node


@dataclass(frozen=True)
class DirectedLink:
    """One direction of a link. ``id`` is ``source>target``, with ``/kind`` behind it for a narrower parallel link."""

    id: str
    source: str
    target: str
    link: Link


@dataclass(frozen=True)
class Path:
    """Describe how ``source`` reaches ``destination``. Vertex sequences hold switches; hop counts do not.

    ``widest``: the way the bytes take by the rules above (over NVLink relays: the widest of the shortest).

    ``peak_gbps``: payload peak per direction of the narrowest link of known peak on the widest path (of the memory
    itself, one access per byte, where both ends are one device); None: nothing is known. It is an upper bound where
    ``unknown`` names links of unknown peak on the way. ``route``: directed link ids along the widest path.
    ``tier``: speed class, the narrowest link's tier, with the hops behind it where there are several.
    """

    source: str
    destination: str
    hops: int
    shortest: tuple[str, ...]
    widest: tuple[str, ...]
    widest_hops: int
    peak_gbps: float | None
    route: tuple[str, ...]
    tier: str
    unknown: tuple[str, ...] = ()

    @property
    def is_detour(self) -> bool:
        """The widest path is longer than the shortest."""
        return self.widest_hops > self.hops


@dataclass(frozen=True)
class Traffic:
    """Describe what a flow asks of the node: bytes from ``source`` through ``executor`` to ``destination``.

    A read has no destination, a write no source. An executor that is neither end carries the bytes over itself.
    """

    source: str | None
    destination: str | None
    executor: str

    @staticmethod
    def of(flow: dict[str, Any]) -> Traffic:
        """From a plan's flow (schema/plan.schema.json)."""
        ends = [flow[end]["device"] if flow.get(end) else None for end in ("source", "destination")]
        return Traffic(ends[0], ends[1], flow["executor"])

    @property
    def legs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of distinct devices that the bytes go between, in order."""
        stops = [self.source or self.executor, self.executor, self.destination or self.executor]
        return tuple((a, b) for a, b in itertools.pairwise(stops) if a != b)


@dataclass(frozen=True)
class Ask:
    """State a flow's demand on links and memories: 1 / ``efficiency`` bytes per byte of payload, and at ``most`` so
    many GB/s of payload, the rate that it reaches alone.
    """

    efficiency: float = 1.0
    most: float | None = None


@dataclass(frozen=True)
class SharedPeak:
    """Bound simultaneous flows: their sum, each flow's share (GB/s; None: no known limit), and what binds.

    ``binding`` holds directed link ids and ``memory of DEVICE``.
    """

    gbps: float | None
    flows: tuple[float | None, ...]
    binding: tuple[str, ...]


def directed_links(node: Node) -> tuple[DirectedLink, ...]:
    """Both directions of every link (one of a directed link, or where a second link is the way back)."""
    declared = {(link.a, link.b, link.kind) for link in node.links}
    ways: list[tuple[str, str, Link]] = []
    for link in node.links:
        ways.append((link.a, link.b, link))
        if not link.directed and (link.b, link.a, link.kind) not in declared:
            ways.append((link.b, link.a, link))
    ways.sort(key=lambda way: (natural(way[0]), natural(way[1]), -(way[2].peak_gbps or 0.0), way[2].kind))
    result: list[DirectedLink] = []
    seen: set[str] = set()
    for source, target, link in ways:
        name = f"{source}>{target}"
        name = name if name not in seen else f"{name}/{link.kind}"
        if name not in seen:
            seen.add(name)
            result.append(DirectedLink(name, source, target, link))
    return tuple(result)


@cache
def natural(device_id: str) -> tuple[str, int, str]:
    """Sort key that puts gpu:2 before gpu:10."""
    kind, _, rest = device_id.partition(":")
    digits = re.match(r"\d+", rest)
    return kind, int(digits.group()) if digits else -1, rest


class Paths:
    """All paths of one node. Each pair is searched once, and each set of flows shared out once."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._kinds = {device.id: device.kind for device in node.devices}
        self._found: dict[tuple[str, str], Path | None] = {}
        self._peaks: dict[tuple[Traffic, ...], SharedPeak] = {}

    @cached_property
    def links(self) -> dict[str, DirectedLink]:
        """Directed links by id."""
        return {link.id: link for link in directed_links(self.node)}

    def between(self, source: str, destination: str) -> Path | None:
        """None where nothing connects them. Raises KeyError for a device the node lacks."""
        pair = (source, destination)
        if pair not in self._found:
            self._found[pair] = self._local(source) if source == destination else self._search(source, destination)
        return self._found[pair]

    def peak(self, traffic: Traffic) -> float | None:
        """Payload peak of one flow alone, GB/s: links on its way and the memories at its ends; None: unknown."""
        return self.concurrent_peak([traffic]).gbps

    def concurrent_peak(self, flows: Sequence[Traffic]) -> SharedPeak:
        """Sum of the max-min fair rates of simultaneous flows over the node's links and memories."""
        asked = tuple(flows)
        if asked not in self._peaks:
            self._peaks[asked] = self.fair_rates(asked, [Ask()] * len(asked))
        return self._peaks[asked]

    def fair_rates(self, flows: Sequence[Traffic], asks: Sequence[Ask]) -> SharedPeak:
        """The same of flows that take more of what they use than their payload, or of which some want no more."""
        capacities = {i: d.link.peak_gbps for i, d in self.links.items() if d.link.peak_gbps is not None}
        for device in self.node.devices:
            if device.memory_gbps is not None:
                capacities[f"memory of {device.id}"] = device.memory_gbps
        uses = []
        for number, (flow, ask) in enumerate(zip(flows, asks, strict=True)):
            use = {name: weight / ask.efficiency for name, weight in self.uses(flow).items()}
            if ask.most is not None:
                capacities[f"flow {number}"] = ask.most
                use[f"flow {number}"] = 1.0
            uses.append(use)
        share = max_min(uses, capacities)
        known = [rate for rate in share.rates if rate is not None]
        total = sum(known) if known and len(known) == len(share.rates) else None
        return SharedPeak(total, share.rates, tuple(one for one in share.binding if not one.startswith("flow ")))

    def uses(self, flow: Traffic) -> dict[str, float]:
        """Return how often each byte passes which link and memory, named as ``SharedPeak.binding`` does."""
        use: dict[str, float] = {}
        for end in (flow.source, flow.destination):
            if end is not None:
                use[f"memory of {end}"] = use.get(f"memory of {end}", 0.0) + 1.0
        for leg in flow.legs:
            path = self.between(*leg)
            for link in path.route if path else ():
                use[link] = use.get(link, 0.0) + 1.0
        return use

    def _local(self, device_id: str) -> Path:
        device = self.node.device(device_id)
        here = (device_id,)
        return Path(device_id, device_id, 0, here, here, 0, device.memory_gbps, (), "local")

    def _search(self, source: str, destination: str) -> Path | None:
        if self._kinds[source] == self._kinds[destination] == "gpu":
            for forwarding in ({"switch"}, {"gpu", "switch"}):
                routes = self._routes(source, destination, self._fabric, forwarding)
                if routes:
                    relayed = any(self.links[i].link.kind.startswith("nvlink") for i in routes[0])
                    return self._path(source, destination, routes, self._shortest(routes) if relayed else routes[0])
        routes = self._routes(source, destination, tuple(self.links.values()), {"numa", "switch"})
        return self._path(source, destination, routes, routes[0]) if routes else None

    @cached_property
    def _fabric(self) -> tuple[DirectedLink, ...]:
        """Links that GPUs and their switches talk over without the host."""
        return tuple(
            link
            for link in self.links.values()
            if "numa" not in (self._kinds[link.source], self._kinds[link.target])
            and not link.link.kind.startswith("pcie")
        )

    @cached_property
    def _in_package(self) -> frozenset[str]:
        """GPUs that share a package and its memory with a NUMA node."""
        ends = {end for link in self.node.links if link.kind == "on-package" for end in (link.a, link.b)}
        return frozenset(end for end in ends if self._kinds[end] == "gpu")

    def _routes(
        self, source: str, destination: str, links: Sequence[DirectedLink], forwarding: set[str]
    ) -> list[tuple[str, ...]]:
        """The route of fewest hops for each distinct capacity, widest first; unknown capacity counts as none."""
        forwarders = {vertex for vertex, kind in self._kinds.items() if kind in forwarding}
        if "numa" in forwarding:
            forwarders |= self._in_package
        routes = []
        for floor in sorted({link.link.peak_gbps or 0.0 for link in links}, reverse=True):
            usable = [link for link in links if (link.link.peak_gbps or 0.0) >= floor]
            route = self._fewest_hops(source, destination, usable, forwarders)
            if route is not None:
                routes.append(route)
        return routes

    def _shortest(self, routes: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
        return min(routes, key=self._hops)  # the first of equals is the widest

    def _path(self, source: str, destination: str, routes: Sequence[tuple[str, ...]], taken: tuple[str, ...]) -> Path:
        shortest = self._shortest(routes)
        peaks = {i: self.links[i].link.peak_gbps for i in taken}
        return Path(
            source=source,
            destination=destination,
            hops=self._hops(shortest),
            shortest=(source, *(self.links[i].target for i in shortest)),
            widest=(source, *(self.links[i].target for i in taken)),
            widest_hops=self._hops(taken),
            peak_gbps=min((peak for peak in peaks.values() if peak is not None), default=None),
            route=taken,
            tier=self._tier(taken),
            unknown=tuple(i for i, peak in peaks.items() if peak is None),
        )

    def _fewest_hops(
        self, source: str, destination: str, links: Iterable[DirectedLink], forwarders: set[str]
    ) -> tuple[str, ...] | None:
        """Link ids of the path with fewest hops, then fewest links, then the lowest device numbers."""
        leaving: dict[str, list[DirectedLink]] = {}
        for link in links:
            leaving.setdefault(link.source, []).append(link)
        queue: list[tuple[int, int, tuple[tuple[str, int, str], ...], tuple[str, ...], str]] = []
        heapq.heappush(queue, (0, 0, (), (), source))
        done: set[str] = set()
        while queue:
            hops, length, names, route, here = heapq.heappop(queue)
            if here == destination:
                return route
            if here in done or (here != source and here not in forwarders):
                continue
            done.add(here)
            for link in leaving.get(here, ()):
                step = (
                    hops + self._hop(link),
                    length + 1,
                    (*names, natural(link.target)),
                    (*route, link.id),
                    link.target,
                )
                heapq.heappush(queue, step)
        return None

    def _hop(self, link: DirectedLink) -> int:
        """Reaching a switch is no hop, nor is the way between the two parts of one package."""
        return 0 if self._kinds[link.target] == "switch" or link.link.kind == "on-package" else 1

    def _hops(self, route: Sequence[str]) -> int:
        return max(1, sum(self._hop(self.links[i]) for i in route))

    def _tier(self, route: Sequence[str]) -> str:
        narrowest = min(
            (self.links[i].link for i in route),
            key=lambda link: float("inf") if link.peak_gbps is None else link.peak_gbps,
        )
        hops = self._hops(route)
        return tier_of(narrowest) if hops == 1 else f"{tier_of(narrowest)}, {hops} hops"


def tier_of(link: Link) -> str:
    """The link's own tier, or its kind and lanes."""
    return link.tier or (link.kind if link.lanes is None else f"{link.kind}-{link.lanes}")


def concurrent_peak(node: Node, flows: Sequence[Traffic]) -> SharedPeak:
    """``Paths(node).concurrent_peak(flows)``, for a caller with a single question."""
    return Paths(node).concurrent_peak(flows)
