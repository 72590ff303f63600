"""What a described node becomes in a plan: the machine that the modelled backend plays."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Device
from linkscope.machine.paths import DirectedLink, Paths

Json = dict[str, Any]


def machine_of(paths: Paths) -> Json:
    """plan.machine (schema/plan.schema.json) of a described node; link ids are those of Paths' routes.

    Raises LinkscopeError where the description lacks a figure the model cannot do without.
    """
    node = paths.node
    machine: Json = {
        "name": node.name,
        "devices": [_device(device, node.name) for device in node.devices if device.kind in ("gpu", "numa")],
        "links": [_link(link, node.name) for link in paths.links.values()],
        "methods": node.methods,
    }
    machine["routes"] = _routes(paths)
    gpus = node.of_kind("gpu")
    if any("peers" in gpu.attributes for gpu in gpus):
        machine["peer_access"] = [[gpu.id, peer] for gpu in gpus for peer in gpu.attributes.get("peers", ())]
    return machine


def _routes(paths: Paths) -> list[Json]:
    """Ways between every two GPUs and every two NUMA nodes: what the members of a collective take."""
    pairs = (pair for kind in ("gpu", "numa") for pair in permutations(paths.node.of_kind(kind), 2))
    ways = ((a.id, b.id, paths.between(a.id, b.id)) for a, b in pairs)
    return [{"from": a, "to": b, "links": list(path.route)} for a, b, path in ways if path is not None]


def _device(device: Device, machine: str) -> Json:
    facts = {
        "id": device.id,
        "name": device.name,
        "memory_gbps": _known(device.memory_gbps, f"memory of {device.id}", machine),
        "memory_bytes": device.memory_bytes,
        "memory_latency_ns": device.memory_latency_ns,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _link(link: DirectedLink, machine: str) -> Json:
    facts: Json = {"id": link.id, "gbps": _known(link.link.peak_gbps, f"link {link.id}", machine)}
    if link.link.latency_ns is not None:
        facts["latency_ns"] = link.link.latency_ns
    return facts


def _known(rate: float | None, what: str, machine: str) -> float:
    if rate is None:
        raise LinkscopeError(f"machine {machine} cannot be modelled: its description states no rate for {what}")
    return rate
