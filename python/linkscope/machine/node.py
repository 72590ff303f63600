"""Node: devices and links of one machine, measured or described. Plain data with a JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Device:
    """A place that computes or owns memory, or (kind ``switch``) a vertex that only forwards.

    ``id`` is ``gpu:N``, ``numa:N`` or ``switch:NAME``. ``package`` groups devices that share one socket or
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


@dataclass(frozen=True)
class Link:
    """A direct connection, symmetric unless a second Link says otherwise for the way back.

    ``peak_gbps`` is the payload peak of the whole bundle per direction (None: not known).
    ``kind`` is nvlink, xgmi, pcie, xbus, upi, on-package, memory ...; ``tier`` names links of one speed class.
    ``latency_ns`` is one way, as a described node states it.
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


@dataclass(frozen=True)
class Node:
    """One machine's topology. ``modelled`` is true for a described node."""

    name: str
    devices: tuple[Device, ...]
    links: tuple[Link, ...]
    modelled: bool = False
    notes: tuple[str, ...] = ()
    methods: dict[str, dict[str, float]] = field(default_factory=dict)

    def device(self, device_id: str) -> Device:
        """The device of that id. Raises KeyError."""
        for device in self.devices:
            if device.id == device_id:
                return device
        raise KeyError(device_id)

    def of_kind(self, kind: str) -> tuple[Device, ...]:
        """Devices of kind ``gpu``, ``numa`` or ``switch``, in order of their numbers."""
        return tuple(d for d in self.devices if d.kind == kind)

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dict; ``Node.from_json`` reads it back."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Node:
        """The inverse of ``to_json``. Raises KeyError or TypeError on foreign data."""
        devices = tuple(Device(**{**d, "cpus": tuple(d.get("cpus", ()))}) for d in data["devices"])
        links = tuple(Link(**link) for link in data["links"])
        return Node(
            name=data["name"],
            devices=devices,
            links=links,
            modelled=bool(data.get("modelled", False)),
            notes=tuple(data.get("notes", ())),
            methods=dict(data.get("methods", {})),
        )
