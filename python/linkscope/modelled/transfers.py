"""Transfers: what a copy, read, write, chase or message costs on a machine model.

An operation takes its method's latency and that of each link on its route; then its bytes move. A byte of payload takes
1 / efficiency of every link on the route and of the memories at both ends, a local copy twice of the one memory. No
flow exceeds its ceiling, which CPUs have per thread. A dependent load takes its memory's latency and each link's twice,
unless the figures give all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.modelled_methods import ModelledMethod
from linkscope.modelled.machine import ModelledMachine, memory_of
from linkscope.modelled.play import Lane
from linkscope.modelled.work import NotModelledError, Work

Json = dict[str, Any]

_DEFAULT_HOPS = 10_000
_ARRAYS_READ = {"copy": 1, "scale": 1, "add": 2, "triad": 2}
"""Arrays that a loop of STREAM loads; it stores one."""
_SOURCELESS = ("write",)
_ENDLESS = ("read", "chase")
"""Motions without a destination."""


def transfer(flow: Json, method: ModelledMethod, machine: ModelledMachine) -> Work:
    """Return the work of a flow. Raises NotModelledError, and LinkscopeError for a parameter that means nothing."""
    return _Transfer(flow, method, machine).work()


class _Transfer:
    def __init__(self, flow: Json, method: ModelledMethod, machine: ModelledMachine) -> None:
        self.flow, self.method, self.machine = flow, method, machine
        self.figures: Json = flow["figures"]
        self.parameters: Json = flow.get("parameters", {})
        self.motion = method.motion
        self.executor: str = flow["executor"]
        self._check_parameters()
        self._check_ends()
        self.source: str | None = flow["source"]["device"] if "source" in flow else None
        self.destination: str | None = flow["destination"]["device"] if "destination" in flow else None
        self.start, self.end = self.source or self.executor, self.destination or self.executor
        self.route: tuple[str, ...] = tuple(flow.get("route", ()))

    def work(self) -> Work:
        self._check_access()
        self._check_route()
        self._check_load()
        dependent = self.motion in ("chase", "flag")
        bandwidth = not dependent and self.flow["bytes"] > 0
        latency_s = self._latency_s()
        if not bandwidth and latency_s <= 0:
            raise NotModelledError(f"the description of {self.machine.name} gives no latency for this path")
        operations = self._number("hops", _DEFAULT_HOPS) if self.motion == "chase" else 1
        size = self.flow["bytes"] if bandwidth else 0
        streamed = self._arrays_read() + 1 if self.motion == "arrays" else 0
        return Work(
            Lane(latency_s * operations, size, self._uses(), self._ceiling()) if size else Lane(latency_s * operations),
            payload=self.flow["bytes"],
            bandwidth=bandwidth,
            measured=self.flow.get("role") != "background",
            group=self.flow.get("tuning_group", ""),
            operations=operations,
            touched_bytes=streamed * self.flow["bytes"],
        )

    def _check_parameters(self) -> None:
        for name, only in self.method.parameters.items():
            asked = self.parameters.get(name, only)
            if only is not None and str(asked) != only and name not in self.figures.get("settled", ()):
                raise NotModelledError(f"the model has no {name}: {asked}")

    def _check_ends(self) -> None:
        own = self.flow["method"]
        for end, without in (("source", _SOURCELESS), ("destination", _ENDLESS)):
            wanted = self.motion not in without
            if wanted != (end in self.flow):
                raise NotModelledError(f"{own} {'needs a' if wanted else 'takes no'} {end}")
        kind = "gpu" if self.executor.startswith("gpu:") else "cpu"
        if self.method.driver not in ("any", kind):
            raise NotModelledError(f"{own} is not driven by {self.executor}")

    def _check_access(self) -> None:
        if not self.executor.startswith("gpu:"):
            return
        if self.motion != "arrays" and self.start == self.end != self.executor:
            raise NotModelledError(f"a way over a third device, {self.executor}, is not modelled")
        for device in (self.source, self.destination):
            if device is not None and device.startswith("gpu:") and not self.machine.peers(self.executor, device):
                raise NotModelledError(f"{self.executor} has no peer access to {device}")

    def _check_route(self) -> None:
        far = self.start != self.end or (self.motion == "arrays" and self.executor != self.start)
        if far and not self.route:
            to = self.end if self.start != self.end else self.executor
            raise NotModelledError(f"the plan gives no route from {self.start} to {to}")

    def _check_load(self) -> None:
        """A load's time is that of its memory and of every link on the way, so each must be known."""
        if self.motion != "chase" or "load_ns" in self.figures:
            return
        lacks = f"the description of {self.machine.name} gives no latency for"
        if self.machine.memory_latency_ns(self.start) is None:
            raise NotModelledError(f"{lacks} the memory of {self.start}")
        for link in self._there:
            if self.machine.link_latency_ns(link) is None:
                raise NotModelledError(f"{lacks} loads over link {link}")

    @property
    def _there(self) -> tuple[str, ...]:
        """The links that the bytes take; none where both ends are one device, whatever the plan's route says."""
        if self.motion == "arrays":
            return self.route if self.start != self.executor else ()
        return self.route if self.start != self.end else ()

    def _legs(self) -> list[tuple[tuple[str, ...], float]]:
        """Return links that bytes take one way, and how many bytes for one of payload."""
        if self.motion == "arrays":
            stored = self.machine.way_back(self._there) if self._there else self.route
            return [(self._there, self._arrays_read()), (stored if self.end != self.executor else (), 1.0)]
        if self.motion == "exchange":
            return [(self._there, 0.5), (self.machine.way_back(self._there), 0.5)]
        return [(self._there, 1.0)]

    def _uses(self) -> dict[str, float]:
        if "cached_gbps" in self.figures:
            return {}
        loads = self._arrays_read() if self.motion == "arrays" else 1.0
        passed = [(link, share) for links, share in self._legs() for link in links]
        passed += [(memory_of(self.source), loads)] if self.source is not None else []
        passed += [(memory_of(self.destination), 1.0)] if self.destination is not None else []
        return summed(passed, self.figures)

    def _ceiling(self) -> float:
        """Bytes per second."""
        if "cached_gbps" in self.figures:
            return float(self.figures["cached_gbps"]) * 1e9
        by_thread = self.method.driver == "cpu" and "threads" not in self.figures.get("settled", ())
        threads = self._number("threads", 1) if by_thread else 1
        return float(self.figures.get("ceiling_gbps", inf)) * 1e9 * threads

    def _latency_s(self) -> float:
        latency_ns = self.figures.get("latency_us", 0.0) * 1e3
        chase = self.motion == "chase"
        if chase and "load_ns" in self.figures:
            return float(latency_ns + self.figures["load_ns"]) * 1e-9
        if "cached_gbps" in self.figures:
            return float(latency_ns) * 1e-9
        links_ns = self.machine.latency_ns(self._there)
        loaded_ns = (self.machine.memory_latency_ns(self.start) or 0.0) + links_ns if chase else 0.0
        return float(latency_ns + links_ns + loaded_ns) * 1e-9

    def _arrays_read(self) -> int:
        word = str(self.parameters.get("operation", "copy"))
        if word not in _ARRAYS_READ:
            raise LinkscopeError("parameter operation: copy, scale, add or triad")
        return _ARRAYS_READ[word]

    def _number(self, name: str, default: int) -> int:
        asked = str(self.parameters.get(name, default))
        if not asked.isdecimal() or int(asked) < 1:
            raise LinkscopeError(f"parameter {name}: '{asked}' is no whole number of at least 1")
        return int(asked)


def summed(passed: Iterable[tuple[str, float]], figures: Json) -> dict[str, float]:
    """Return how much a byte of payload takes of each capacity that it passes, with what the method's efficiency adds.

    ``passed``: capacities, and bytes that pass them for one of payload.
    """
    uses: Counter[str] = Counter()
    for name, share in passed:
        uses[name] += share / figures.get("efficiency", 1.0)
    return dict(uses)
