"""Node: devices and links of one machine, measured or described. Plain data with a JSON form."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec

from linkscope.displayed import Displayed, Picture, displays

MOST_DEVICES = 4096
MOST_LINKS = 65536
LARGEST = 1e18
_DEVICE_ID = re.compile(r"(gpu|numa|rank):[0-9]{1,6}|switch:.{1,100}")


@dataclass(frozen=True)
class Device:
    """A place that computes or owns memory, or (kind ``switch``) a vertex that only forwards. Of another tool's run a
    ``rank:N`` has memory of which nothing tells where it lies.

    ``id`` is ``gpu:N``, ``numa:N``, ``rank:N`` or ``switch:NAME``. ``package`` groups devices that share one socket or
    module (two MI250X dies); ``numa`` is the nearest NUMA node of a GPU. Sizes in bytes, rates in decimal GB/s.
    A described GPU that cannot reach every other has ``attributes["peers"]``: the ids of those it can load and store.
    """

    id: str
    kind: str
    name: str = ""
    memory_bytes: int | None = None
    memory_gbps: float | None = None
    memory_latency_ns: float | None = None
    numa: int | None = None
    package: int | None = None
    pci: str | None = None
    cpus: tuple[int, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def whole_memory_bytes(self) -> int | None:
        """``memory_bytes``; None where more than that is available, as run files of 0.1.0 have it of some hosts."""
        available = self.attributes.get("available_bytes")
        whole = self.memory_bytes
        return None if whole is not None and isinstance(available, int) and available > whole else whole


@dataclass(frozen=True)
class Link:
    """A direct connection, symmetric unless a second Link says otherwise for the way back.

    ``peak_gbps`` is the payload peak of the whole bundle per direction (None: not known).
    ``kind`` is nvlink, xgmi, pcie, xbus, upi, on-package, memory ...; ``tier`` names links of one speed class.
    ``latency_ns`` is one way, as a machine model states it.
    """

    a: str
    b: str
    kind: str
    peak_gbps: float | None = None
    lanes: int | None = None
    tier: str = ""
    detail: str = ""
    directed: bool = False
    latency_ns: float | None = None


ASSUMED = "assumed: "
"""With this begins a note of a machine model that says what no source gives."""


@dataclass(frozen=True, repr=False)
class Node(Displayed):
    """One machine's topology. ``modelled`` is true for a machine model, whose notes begin with its title."""

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    modelled: bool = False
    notes: tuple[str, ...] = ()
    methods: dict[str, dict[str, Any]] = field(default_factory=dict)

    def device(self, device_id: str) -> Device:
        """The device of that id. Raises KeyError."""
        for device in self.devices:
            if device.id == device_id:
                return device
        raise KeyError(device_id)

    def of_kind(self, kind: str) -> tuple[Device, ...]:
        """Devices of kind ``gpu``, ``numa`` or ``switch``, in order of their numbers."""
        return tuple(d for d in self.devices if d.kind == kind)

    @property
    def problem(self) -> str:
        """Return why this is no node, in a few words; empty where it is one."""
        ids = [device.id for device in self.devices]
        if len(ids) > MOST_DEVICES or len(self.links) > MOST_LINKS:
            return f"{len(ids)} devices and {len(self.links)} links are more than any node has"
        if not ids:
            return "no device is named"
        if len(set(ids)) < len(ids):
            return "a device is named twice"
        if any(_DEVICE_ID.fullmatch(device.id) is None for device in self.devices):
            return "a device is neither gpu:N nor numa:N, rank:N nor switch:NAME"
        if any(device.kind != device.id.partition(":")[0] for device in self.devices):
            return "a device is of another kind than its id says"
        if any(link.a not in ids or link.b not in ids for link in self.links):
            return "a link ends at a device that is not there"
        numbers = [n for d in self.devices for n in (d.memory_bytes, d.memory_gbps, d.memory_latency_ns)]
        numbers += [n for link in self.links for n in (link.peak_gbps, link.lanes, link.latency_ns)]
        if any(number is not None and not 0 <= number < LARGEST for number in numbers):
            return "a size, rate or time that no machine has"
        return ""

    def plot(self) -> Picture:
        """Return the picture of its devices and links."""
        picture: Picture = displays().picture(self)
        return picture

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; ``Node.from_json`` reads it back."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Node:
        """The inverse of ``to_json``; fields it does not know are left out. Raises ValueError on foreign data."""
        return msgspec.convert(data, Node)
