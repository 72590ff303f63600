"""Expected: what healthy paths and collectives of known devices reach, from machines/expected/links.yaml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from linkscope.documents.yaml_file import YamlFile, read_yaml
from linkscope.errors import LinkscopeError

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = (_PACKAGE / "machines" / "expected", _PACKAGE.parents[1] / "machines" / "expected")


@dataclass(frozen=True)
class Expected:
    """Bound what a path reaches: ``share`` of the line rate at sizes far above ``half_bytes``, and no more than the
    engine's ``ceiling_gbps`` per direction.

    ``tolerance``: how far below a healthy machine may be, relative. ``assumed``: the share is that of a like model.
    """

    share: float
    tolerance: float
    source: str
    half_bytes: float = 0.0
    ceiling_gbps: float | None = None
    assumed: bool = False


def expected(device: str, link: str, way: str, method: str) -> Expected | None:
    """Return what is known of a GPU's model, a link's kind ("memory": none), a way and a method, if any.

    A link may be named by its tier, too, "pcie4-x8": then something is known of a GPU of any name.
    """
    for entry in _data()["entries"]:
        share = entry["shares"].get(way, {}).get(method)
        if share is not None and re.search(entry["device"], device) and link.startswith(entry["link"]):
            half, ceiling = entry.get("half", {}).get(method, 0.0), entry.get("ceiling", {}).get(method)
            return Expected(share, entry["tolerance"], entry["source"], half, ceiling, _is_assumed(entry, device))
    return None


def expected_of_any(device: str, link: str, way: str) -> Expected | None:
    """Return what the fastest known method reaches on a way."""
    methods = dict.fromkeys(name for entry in _data()["entries"] for name in entry["shares"].get(way, {}))
    found = [one for name in methods if (one := expected(device, link, way, name)) is not None]
    return max(found, key=lambda one: one.share, default=None)


@dataclass(frozen=True)
class ExpectedLatency:
    """Hold the time of one step of a latency."""

    ns: float
    source: str


def expected_latency(device: str, link: str, case: Mapping[str, Any]) -> ExpectedLatency | None:
    """Return what is known of the GPU that waits, the kind of link that it asks over ("memory": its own memory), and
    all that an entry says of a case: ``method``, ``bytes``, ``parameters``, ``cache``, ``memory`` (that answers) and
    ``load``, if any."""
    for entry in _data()["latencies"]:
        if case == entry["case"] and re.search(entry["device"], device) and link.startswith(entry["link"]):
            return ExpectedLatency(entry["ns"], entry["source"])
    return None


@dataclass(frozen=True)
class ExpectedCollective:
    """Bound a collective of at least ``from_bytes``: its bus bandwidth as a share of the links' rate.

    ``assumed``: the share is that of a like model.
    """

    share: float
    tolerance: float
    from_bytes: int
    source: str
    assumed: bool = False


def expected_collective(
    device: str, link: str, method: str, collective: str, members: int, nvls: bool
) -> ExpectedCollective | None:
    """Return what is known of a GPU's model, the kind of link to its GPU switch, a method, a collective, how many GPUs
    take part, and with or without reductions in the switch, if any."""
    for entry in _data()["collectives"]:
        asked = (entry["method"], entry["collective"], entry["nvls"])
        share = entry["shares"].get(members) if (method, collective, nvls) == asked else None
        if share is not None and re.search(entry["device"], device) and link.startswith(entry["link"]):
            facts = (entry["tolerance"], entry["from_bytes"], entry["source"])
            return ExpectedCollective(share, *facts, _is_assumed(entry, device))
    return None


def _is_assumed(entry: Mapping[str, Any], device: str) -> bool:
    """Return whether an entry is of a like model for this one: it is for all models, for those named, or for none."""
    assumed = entry.get("assumed", False)
    return bool(re.search(assumed, device)) if isinstance(assumed, str) else bool(assumed)


def read_expected(name: str) -> YamlFile:
    """Return a file of machines/expected. Raises LinkscopeError where the installation lacks it."""
    for place in _PLACES:
        if (place / name).is_file():
            return read_yaml(place / name, "file")
    raise LinkscopeError(f"machines/expected/{name} is missing from this installation: install linkscope again")


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = read_expected("links.yaml").data
    return data
