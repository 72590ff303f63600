"""ModelledMachine: what the flows of a machine model share, and how long its links and memories take to answer."""

from __future__ import annotations

from linkscope.errors import LinkscopeError
from linkscope.machine.paths import Paths

_BYTES_PER_GB = 1e9


class ModelledMachine:
    """Capacities and latencies of the node of ``paths``.

    Raises LinkscopeError where its description has no rate for a link or a memory.
    """

    def __init__(self, paths: Paths) -> None:
        self.name = paths.node.name
        self._paths = paths
        self._devices = {device.id: device for device in paths.node.devices if device.kind in ("gpu", "numa")}
        rates = {name: link.link.peak_gbps for name, link in paths.links.items()}
        rates |= {memory_of(name): device.memory_gbps for name, device in self._devices.items()}
        self.capacities = {name: self._known(rate, name) * _BYTES_PER_GB for name, rate in rates.items()}
        """Bytes per second of every link and memory, by the id of the link and by ``memory_of``."""

    def route(self, source: str, destination: str) -> tuple[str, ...] | None:
        """Return the links between two devices, in order; None where nothing connects them."""
        if source == destination:
            return ()
        path = self._paths.between(source, destination)
        return None if path is None else path.route

    def way_back(self, route: tuple[str, ...]) -> tuple[str, ...]:
        """Return the same links in the other direction: "gpu:1>gpu:0" for "gpu:0>gpu:1"."""
        return tuple(_opposite(link) for link in reversed(route))

    def latency_ns(self, links: tuple[str, ...]) -> float:
        """Return what a byte takes over ``links``; one of unknown latency is in the methods' own."""
        return sum(self.link_latency_ns(link) or 0.0 for link in links)

    def link_latency_ns(self, link: str) -> float | None:
        """Return the latency of one link, one way; None where it is not known."""
        return self._paths.links[link].link.latency_ns

    def memory_latency_ns(self, device: str) -> float | None:
        """Return what a load takes from the memory of a device to the device itself; None where it is not known."""
        return self._devices[device].memory_latency_ns

    def memory_bytes(self, device: str) -> int | None:
        """Return how much memory a device has; None where it is not known."""
        return self._devices[device].memory_bytes

    def peers(self, source: str, destination: str) -> bool:
        """Return whether GPU ``source`` can load and store the memory of ``destination``; it can unless its description
        says whose it can."""
        known = self._devices[source].attributes.get("peers")
        return source == destination or known is None or destination in known

    def _known(self, rate: float | None, what: str) -> float:
        if rate is None:
            raise LinkscopeError(f"machine {self.name} cannot be modelled: its description states no rate for {what}")
        return rate


def memory_of(device: str) -> str:
    """Return the name of a device's memory among ``ModelledMachine.capacities``."""
    return f"memory of {device}"


def _opposite(link: str) -> str:
    """A parallel link keeps its kind: "gpu:1>gpu:0/pcie"."""
    ends, slash, kind = link.partition("/")
    source, _, target = ends.partition(">")
    return f"{target}>{source}{slash}{kind}"
