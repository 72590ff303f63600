"""Machine models: machines/*.yaml, published topologies and figures, as Nodes.

The format is machine/machine_file.py; machines/README.md explains how to add a node.
"""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from linkscope.documents.yaml_file import read_yaml
from linkscope.errors import LinkscopeError
from linkscope.machine.machine_file import MachineFile
from linkscope.machine.node import ASSUMED, MOST_DEVICES, MOST_LINKS, Device, Link, Node
from linkscope.messages.near_names import unknown

Json = dict[str, Any]

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "machines", _PACKAGE.parents[1] / "machines")
MOST_CPUS = 65536
_UNITS = {"GB": 10**9, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}


def machine_names() -> list[str]:
    """Names of the machine models that come with linkscope, sorted."""
    return sorted(_packaged())


def load_machine(name_or_path: str) -> Node:
    """The machine model of that name, or the one in that YAML file (a path with a slash or ending in .yaml).

    Node.notes holds the title, then the assumptions, then the notes. Raises LinkscopeError for an unknown name, an
    unreadable file, and a file that holds other than it may or contradicts itself.
    """
    return _read(_path(name_or_path))


def machine_sources(name_or_path: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return a model's sources: short name -> source, and method -> source of its figures. The file alone has the
    source of its rules. Raises as ``load_machine``.
    """
    file = _file(_path(name_or_path))
    return file.get("sources", {}), {method: facts["source"] for method, facts in file["methods"].items()}


def _path(name_or_path: str) -> Path:
    if "/" in name_or_path or name_or_path.endswith((".yaml", ".yml")):
        return Path(name_or_path)
    path = _packaged().get(name_or_path)
    if path is None:
        raise unknown("machine", name_or_path, machine_names(), "linkscope list machines", "give a file name.yaml")
    return path


def is_packaged(node: Node) -> bool:
    """Return whether a node is the one of its name that comes with linkscope, and no copy that was changed."""
    return node.modelled and node.name in machine_names() and load_machine(node.name) == node


@cache
def _packaged() -> dict[str, Path]:
    """Name -> file: inside an installed package, or at the top of a checkout."""
    for place in _PLACES:
        if place.is_dir():
            return {path.stem: path for path in place.glob("*.yaml")}
    return {}


def _file(path: Path) -> Json:
    data: Json = msgspec.to_builtins(read_yaml(path, "machine file").typed(MachineFile))
    return data


def _read(path: Path) -> Node:
    try:
        node = _node(_file(path))
    except ValueError as error:
        raise LinkscopeError(f"machine file {path}: {error}") from error
    if node.problem:
        raise LinkscopeError(f"machine file {path}: {node.problem}")
    return node


def _node(data: Json) -> Node:
    """Raises ValueError with one line where a file of the right shape contradicts itself."""
    peers = _peers(data.get("peer_access"))
    devices = [device for group in data["devices"] for device in _devices(group, peers)]
    devices += [Device(switch, "switch", name) for switch, name in data.get("switches", {}).items()]
    _refuse_twice([device.id for device in devices], "device")
    for number, group in enumerate(data["links"]):
        if ("between" in group) == ("every_pair_of" in group):
            raise ValueError(f"links[{number}] needs between or every_pair_of, one of them")
    links = [link for group in data["links"] for link in _links(group, devices)]
    known = {device.id for device in devices}
    for link in links:
        if link.a == link.b or not {link.a, link.b} <= known:
            raise ValueError(f"link {link.a} to {link.b} needs two different devices of this file")
    _refuse_twice([f"{' to '.join(sorted((link.a, link.b)))} ({link.kind})" for link in links], "link")
    assumed = [f"{ASSUMED}{assumption}" for assumption in data.get("assumptions", ())]
    return Node(
        name=data["name"],
        devices=tuple(devices),
        links=tuple(links),
        modelled=True,
        notes=(data["title"], *assumed, *data.get("notes", ())),
        methods={name: _method(facts) for name, facts in data["methods"].items()},
    )


def _method(facts: Json) -> Json:
    """Figures and rules without their sources; sizes of rules in bytes."""
    method = {name: value for name, value in facts.items() if name != "source"}
    if "rules" in method:
        method["rules"] = [_method(rule) for rule in method["rules"]]
    if "when" in method:
        sizes = {name: _bytes(method["when"][name]) for name in ("from_bytes", "below_bytes") if name in method["when"]}
        method["when"] = method["when"] | sizes
    return method


def _devices(group: Json, peers: dict[str, list[str]] | None) -> list[Device]:
    ids = _ids(group["of"])
    for name in ("numa", "package"):
        if name in group and len(group[name]) != len(ids):
            raise ValueError(f"{group['of']}: {name} has {len(group[name])} values for {len(ids)} devices")
    devices = []
    for i, device_id in enumerate(ids):
        attributes: Json = {"source": group["source"]}
        if peers is not None and device_id.startswith("gpu:"):
            attributes["peers"] = peers.get(device_id, [])
        cores = group.get("cores", 0)
        if cores * len(ids) > MOST_CPUS:
            raise ValueError(f"{group['of']}: {cores} cores of each are more than any node has")
        devices.append(
            Device(
                id=device_id,
                kind=device_id.partition(":")[0],
                name=group["name"],
                memory_bytes=_bytes(group["memory"]) if "memory" in group else None,
                memory_gbps=group["memory_gbps"],
                memory_latency_ns=group.get("memory_latency_ns"),
                numa=group["numa"][i] if "numa" in group else None,
                package=group["package"][i] if "package" in group else None,
                cpus=tuple(range(i * cores, (i + 1) * cores)),
                attributes=attributes,
            )
        )
    return devices


def _links(group: Json, devices: list[Device]) -> list[Link]:
    members = [device.id for device in devices if device.kind == group.get("every_pair_of")]
    if len(members) ** 2 // 2 > MOST_LINKS:
        raise ValueError(f"every pair of {len(members)} devices makes more links than any node has")
    pairs = group.get("between") or itertools.combinations(members, 2)
    return [
        Link(
            a=a,
            b=b,
            kind=group["kind"],
            peak_gbps=group["peak_gbps"],
            lanes=group.get("lanes"),
            tier=group["tier"],
            detail=group["source"],
            latency_ns=group.get("latency_ns"),
        )
        for a, b in pairs
    ]


def _ids(devices: str) -> list[str]:
    """["gpu:0", "gpu:1"] for "gpu:0-1"."""
    kind, _, numbers = devices.partition(":")
    first, _, last = numbers.partition("-")
    if len(numbers) > 12 or int(last or first) - int(first) >= MOST_DEVICES:
        raise ValueError(f"{devices} is more than any node has")
    ids = [f"{kind}:{i}" for i in range(int(first), int(last or first) + 1)]
    if not ids:
        raise ValueError(f"{devices} is an empty range")
    return ids


def _bytes(text: str) -> int:
    number, unit = re.split(r"\s+", text)
    return int(number) * _UNITS[unit]


def _peers(pairs: list[list[str]] | None) -> dict[str, list[str]] | None:
    """Device -> whom it can load and store; None: nothing is said, all can."""
    if pairs is None:
        return None
    peers: dict[str, list[str]] = {}
    for a, b in pairs:
        peers.setdefault(a, []).append(b)
        peers.setdefault(b, []).append(a)
    return peers


def _refuse_twice(names: list[str], what: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{what} {name} stands there twice")
