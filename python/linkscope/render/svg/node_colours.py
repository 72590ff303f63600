"""Node colours: how links and devices look in a node's picture: by their peaks, or by what they reach of expected."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linkscope.machine.node import Device, Link
from linkscope.machine.paths import Paths
from linkscope.messages import numbers

MOST_LABELS = 16
"""Links of one kind that bear a label; of more only those that stand out do."""
_FAR = 0.9
"""A link below this share of what is expected has the colour of alarm."""
_LEAST, _MOST = 1.6, 11.0
_KINDS = {"nvlink": "NVLink", "xgmi": "xGMI", "xgmi-cpu": "xGMI to the CPU", "pcie": "PCIe", "xbus": "X-Bus",
          "upi": "UPI", "on-package": "in the package", "on-die": "NUMA nodes of a socket"}  # fmt: skip


class Reach(NamedTuple):
    """Hold what a link or memory reaches: measured over expected, 0.95 for 95%."""

    share: float
    slow: bool


class Checked(NamedTuple):
    """One result that was compared with what is expected."""

    source: str
    destination: str
    kind: str
    share: float
    slow: bool


@dataclass(frozen=True)
class Reached:
    """Links (by both ends and kind, whatever state they are in) and memories of ``devices`` that were checked.

    ``named``: devices that a finding names.
    """

    links: Mapping[tuple[str, str, str], Reach] = field(default_factory=dict)
    devices: Mapping[str, Reach] = field(default_factory=dict)
    named: frozenset[str] = frozenset()

    def of(self, link: Link) -> Reach | None:
        """Return what a link reaches; None where it was not checked."""
        return self.links.get((link.a, link.b, link.kind))


def reached(results: Iterable[Checked], paths: Paths, named: Collection[str]) -> Reached:
    """Return what results say of links and memories.

    A link can do what the best path over it does: that counts in each direction and kind of transfer, and of these the
    worst. So a slow path blames no link that serves another path well, unless a finding names both ends of the path or
    the device at the link's end: the picture must not call good what the headline calls slow.
    """
    links: dict[Link, dict[tuple[str, str], list[Reach]]] = {}
    devices: dict[str, list[Reach]] = {}
    named = frozenset(named)
    for one in results:
        found = Reach(one.share, one.slow)
        if one.source == one.destination:
            devices.setdefault(one.source, []).append(found)
            continue
        path = paths.between(one.source, one.destination)
        for name in path.route if path is not None else ():
            link = paths.links[name].link
            links.setdefault(link, {}).setdefault((name, one.kind), []).append(found)
    return Reached(
        {(link.a, link.b, link.kind): _of_link(link, groups, named) for link, groups in links.items()},
        {device: min(some, key=_rank) for device, some in devices.items()},
        named,
    )


def _of_link(link: Link, groups: Mapping[tuple[str, str], Sequence[Reach]], named: frozenset[str]) -> Reach:
    pick = min if named & {link.a, link.b} else max
    return min((pick(some, key=_rank) for some in groups.values()), key=_rank)


def _rank(one: Reach) -> tuple[bool, float]:
    return not one.slow, one.share


class LinkStyles:
    """Colour, width and label of links: by their kind and peak, or by what they reach where ``found`` has any."""

    def __init__(self, links: Sequence[Link], found: Reached | None = None) -> None:
        self.links = links
        self.found = found or Reached()
        self.checked = bool(self.found.links or self.found.devices)
        self._highest = max((link.peak_gbps or 0.0 for link in links if link.kind != "on-package"), default=0.0) or 1.0
        fabric = [link.peak_gbps or 0.0 for link in links if _is_fabric(link)]
        self._ranks = sorted(set(fabric), reverse=True)
        self._most = _MOST if len(fabric) <= MOST_LABELS else _MOST / 2.5

    @property
    def note(self) -> str:
        """Return what numbers and colours of the picture mean."""
        if not self.checked:
            return "Numbers: payload peak of the link, GB/s in each direction"
        frame = "; red frame: named above" if self.found.named else ""
        return f"Numbers: % of expected speed; green: within tolerance; width: peak{frame}"

    def colour(self, link: Link) -> str:
        """Return the name of a colour of the palette."""
        reach = self.found.of(link)
        if self.checked:
            return "grey" if reach is None else _of(reach)
        if _is_fabric(link):
            return f"n{min(self._ranks.index(link.peak_gbps or 0.0), 3)}"
        if link.kind == "on-package":
            return "s2"
        return "grey" if is_host_fabric(link) else "pcie"

    def width(self, link: Link) -> float:
        """Return pixels; they grow with the root of the peak, so that PCIe still shows beside NVLink."""
        return _LEAST + (self._most - _LEAST) * math.sqrt(min((link.peak_gbps or 0.0) / self._highest, 1.0))

    def dash(self, link: Link) -> str | None:
        """Return a dash pattern for a link without a peak, or one that was not checked."""
        plain = self.found.of(link) is not None if self.checked else link.peak_gbps is not None
        return None if plain else "3 5"

    def label(self, link: Link) -> str:
        """Return what stands on the link; "" for nothing."""
        if self.checked:
            reach = self.found.of(link)
            return "" if reach is None else numbers.percent(reach.share)
        return "" if link.peak_gbps is None else _gbps(link.peak_gbps)

    def stands_out(self, link: Link) -> bool:
        """Return whether the link has its label however many links there are."""
        reach = self.found.of(link)
        return reach is not None and reach.slow

    def frame(self, device: Device) -> str:
        """Return the colour of the frame of a device that stands out; "" for any other."""
        reach = self.found.devices.get(device.id)
        return "bad" if device.id in self.found.named or (reach is not None and reach.slow) else ""

    def memory(self, device: Device) -> str:
        """Return what a device's memory reaches; "" where that was not checked."""
        reach = self.found.devices.get(device.id)
        return "" if reach is None else f"memory {numbers.percent(reach.share)}"

    def spoken(self, link: Link) -> str:
        """Return the link in words."""
        peak = "peak not known" if link.peak_gbps is None else f"{_gbps(link.peak_gbps)} GB/s per direction"
        told = f"{link.a} to {link.b}: {link.kind}, {peak}{', ' + link.detail if link.detail else ''}"
        if not self.checked:
            return told
        reach = self.found.of(link)
        return f"{told}, {'not checked' if reach is None else f'{numbers.percent(reach.share)} of expected'}"

    def legend(self) -> list[tuple[Link, str]]:
        """Return an example and a text for each kind of link, widest first."""
        kinds: dict[tuple[str, str, float | None, int | None], list[Link]] = {}
        for link in sorted(self.links, key=lambda link: (is_host_fabric(link), -(link.peak_gbps or 0.0))):
            kinds.setdefault((self.colour(link), link.kind, link.peak_gbps, link.lanes), []).append(link)
        return [(links[0], self._entry(links)) for links in kinds.values()]

    def _entry(self, links: Sequence[Link]) -> str:
        """Return such as "NVLink x 18, 450 GB/s, 4 links: 95-100%"."""
        link = links[0]
        name = _KINDS.get(link.kind, link.kind)
        lanes = f" x {link.lanes}" if link.lanes and link.lanes > 1 else ""
        peak = "peak not known" if link.peak_gbps is None else f"{_gbps(link.peak_gbps)} GB/s"
        tier = f"{link.tier}: " if link.tier and link.tier not in (link.kind, f"{link.kind}-{link.lanes}") else ""
        name += " to the CPU" if link.kind == "nvlink" and "numa:" in f"{link.a} {link.b}" else ""
        told = f"{tier}{name}{lanes}, {peak}, {numbers.count(len(links), 'link')}"
        shares = [reach.share for link in links if (reach := self.found.of(link)) is not None]
        if not self.checked:
            return told
        return f"{told}: {numbers.percent_range(min(shares), max(shares)) if shares else 'not checked'}"


def is_host_fabric(link: Link) -> bool:
    """Return whether a link joins NUMA nodes."""
    return link.a.startswith("numa:") and link.b.startswith("numa:")


def _is_fabric(link: Link) -> bool:
    """Return whether a link is between GPUs, or of them and their switch."""
    return "numa" not in f"{link.a} {link.b}" and not link.kind.startswith("pcie")


def _of(reach: Reach) -> str:
    if not reach.slow:
        return "fine"
    return "slow" if reach.share > _FAR else "bad"


def _gbps(gbps: float) -> str:
    return f"{gbps:.0f}" if gbps >= 100 or gbps == round(gbps) else f"{gbps:.1f}"
