"""How links look in a node's diagram, and what its legend says of them: by their peaks, or by what they reach of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from linkscope.analysis.link_shares import LinkShares, Reach
from linkscope.machine.node import Device, Link
from linkscope.report import wording

MOST_LABELS = 16
#: Okabe and Ito's colours, told apart with any colour vision; within one kind a narrower bundle is lighter.
_BLUES = ("#00507f", "#2b86c0", "#7db8e0", "#b5d5ec")
_ORANGE, _GREEN, _GREY = "#d98a00", "#009e73", "#8d99a6"
_FINE, _SHORT, _FAR_SHORT, _UNJUDGED = "#00825f", "#d97706", "#b3261e", "#a3adb8"
_FAR = 0.9
"""Links below that share of what is expected are drawn in the colour of alarm."""
_LEAST, _MOST = 1.6, 11.0
_KIND_NAMES = {"nvlink": "NVLink", "xgmi": "xGMI", "xgmi-cpu": "xGMI to the CPU", "pcie": "PCIe", "xbus": "X-Bus",
               "upi": "UPI", "on-package": "inside the package", "on-die": "NUMA nodes inside a socket"}  # fmt: skip


class LinkStyles:
    """Colour and thickness of links: by kind and, within GPU fabrics, by rank of the peak."""

    note = "Numbers: payload peak of the whole bundle, GB/s in each direction."

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self._highest = max((link.peak_gbps or 0.0 for link in links if link.kind != "on-package"), default=0.0) or 1.0
        fabric = [link.peak_gbps or 0.0 for link in links if _is_fabric(link)]
        self._ranks = sorted(set(fabric), reverse=True)
        self._most = _MOST if len(fabric) <= MOST_LABELS else _MOST / 2.5

    def color(self, link: Link) -> str:
        if _is_fabric(link):
            return _BLUES[min(self._ranks.index(link.peak_gbps or 0.0), len(_BLUES) - 1)]
        if link.kind == "on-package":
            return _GREEN
        return _GREY if is_host_fabric(link) else _ORANGE

    def width(self, link: Link) -> float:
        """Pixels; grows with the root of the peak, so that PCIe still shows beside NVLink."""
        return _LEAST + (self._most - _LEAST) * math.sqrt(min((link.peak_gbps or 0.0) / self._highest, 1.0))

    def dash(self, link: Link) -> str:
        return ' stroke-dasharray="2 5"' if link.peak_gbps is None else ""

    def label(self, link: Link) -> str:
        """What stands on the link; empty where nothing does."""
        return "" if link.peak_gbps is None else _number(link.peak_gbps)

    def odd(self, link: Link) -> bool:
        """Whether it has its label however many links there are."""
        return False

    def edge(self, device: Device) -> str | None:
        """Colour of a box that stands out; None for any other."""
        return None

    def notes(self, device: Device) -> list[str]:
        """Further lines in a device's box."""
        return []

    def spoken(self, link: Link) -> str:
        """The link in words."""
        peak = "peak not known" if link.peak_gbps is None else f"{_number(link.peak_gbps)} GB/s per direction"
        return f"{link.a} to {link.b}: {link.kind}, {peak}{', ' + link.detail if link.detail else ''}"

    def entries(self) -> list[tuple[Link, str]]:
        """Of the legend: an example and a text for each kind of link, widest first."""
        kinds: dict[tuple[str, str, float | None, int | None], list[Link]] = {}
        for link in sorted(self.links, key=lambda link: (is_host_fabric(link), -(link.peak_gbps or 0.0))):
            kinds.setdefault((self.color(link), link.kind, link.peak_gbps, link.lanes), []).append(link)
        return [(links[0], self.entry(links)) for links in kinds.values()]

    def entry(self, links: Sequence[Link]) -> str:
        """Such as "nvlink-18: NVLink × 18, 450 GB/s, 4 links"."""
        link = links[0]
        name = _KIND_NAMES.get(link.kind, link.kind)
        lanes = f" × {link.lanes}" if link.lanes and link.lanes > 1 else ""
        peak = "peak not known" if link.peak_gbps is None else f"{_number(link.peak_gbps)} GB/s"
        tier = f"{link.tier}: " if link.tier and link.tier != link.kind else ""
        name += " to the CPU" if link.kind == "nvlink" and "numa:" in f"{link.a} {link.b}" else ""
        return f"{tier}{name}{lanes}, {peak}, {wording.count(len(links), 'link')}"


class JudgedStyles(LinkStyles):
    """Links coloured by their share of what is expected; ``blamed`` devices are those that a finding names."""

    note = (
        "Numbers: share of what is expected; the best figure of each kind of transfer, of kinds the lowest. Width: peak"
    )

    def __init__(self, links: Sequence[Link], shares: LinkShares, blamed: Collection[str]) -> None:
        super().__init__(links)
        self._shares = shares
        self._blamed = blamed

    def color(self, link: Link) -> str:
        found = self._shares.links.get(link)
        return _UNJUDGED if found is None else _color(found)

    def dash(self, link: Link) -> str:
        return "" if link in self._shares.links else ' stroke-dasharray="6 4"'

    def label(self, link: Link) -> str:
        found = self._shares.links.get(link)
        return "" if found is None else _percent(found)

    def odd(self, link: Link) -> bool:
        found = self._shares.links.get(link)
        return found is not None and found.short

    def edge(self, device: Device) -> str | None:
        found = self._shares.devices.get(device.id)
        if device.id in self._blamed or (found is not None and found.short):
            return _FAR_SHORT
        return None

    def notes(self, device: Device) -> list[str]:
        found = self._shares.devices.get(device.id)
        return [] if found is None else [f"own memory {_percent(found)}"]

    def spoken(self, link: Link) -> str:
        found = self._shares.links.get(link)
        told = "not judged" if found is None else f"{_percent(found)} of what is expected"
        return f"{super().spoken(link)}, {told}"

    def entry(self, links: Sequence[Link]) -> str:
        shares = [self._shares.links[link] for link in links if link in self._shares.links]
        if not shares:
            return f"{super().entry(links)}: not judged"
        low, high = (_percent(pick(shares, key=lambda one: one.share)) for pick in (min, max))
        span = low if low == high else f"{low} to {high}"
        return f"{super().entry(links)}: {'short' if shares[0].short else 'as expected'}, {span}"


def is_host_fabric(link: Link) -> bool:
    return link.a.startswith("numa:") and link.b.startswith("numa:")


def _is_fabric(link: Link) -> bool:
    """Between GPUs, their switches included."""
    return "numa" not in f"{link.a} {link.b}" and not link.kind.startswith("pcie")


def _color(found: Reach) -> str:
    if not found.short:
        return _FINE
    return _SHORT if found.share > _FAR else _FAR_SHORT


def _percent(found: Reach) -> str:
    return wording.percent(found.share)


def _number(gbps: float) -> str:
    return f"{gbps:.0f}" if gbps >= 100 or gbps == round(gbps) else f"{gbps:.1f}"
