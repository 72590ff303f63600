"""Peer routes: what lies between two GPUs of this machine: their own links, a PCIe switch, the root complex.

A bridge whose access control (ACS) redirects peer requests sends them up to the root complex, although a switch that
both GPUs are below could pass them on: of each GPU the bridge right below that switch decides (PCI Express Base 6.0,
6.12.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from linkscope.machine import sysfs
from linkscope.machine.files import Files
from linkscope.machine.node import Device, Node
from linkscope.machine.nominal import NVSWITCH
from linkscope.machine.paths import Paths
from linkscope.machine.state import GpuState, MachineState

FABRIC = frozenset({"nvswitch", "nvlink", "xgmi"})
"""Routes over links that GPUs alone use."""
DETOURS = frozenset({"redirected", "host"})
"""Routes that a setting lengthens."""


@dataclass(frozen=True)
class PeerRoute:
    """Describe what lies between two GPUs.

    ``route``: nvswitch, nvlink, xgmi; pcie-switch; redirected, by ACS although a switch joins them; root-complex;
    sockets, of two root complexes; host, as the driver gives no peer access; unknown. ``via``: the class of the GPUs'
    links, or PCIe bridges: the switch's or those that redirect. ``iommu``: its type where it translates addresses.
    ``numa``: of both. ``bar1_bytes`` is the smaller of both; None where nobody says. ``acs_known``: whether the bridges
    above both could be read.
    """

    gpus: tuple[str, str]
    route: str
    via: tuple[str, ...]
    iommu: str | None
    numa: tuple[int | None, int | None]
    bar1_bytes: int | None
    acs_known: bool

    @property
    def over_pcie(self) -> bool:
        """Return whether the GPUs' addresses on PCIe are used: neither links of their own nor host memory."""
        return self.route not in FABRIC and self.route != "host"


def peer_routes(node: Node, state: MachineState, files: Files, description: Mapping[str, Any]) -> list[PeerRoute]:
    """Return the route of each pair of GPUs, in their order. ``description``: what the engine says of peer access."""
    paths, gpus = Paths(node), node.of_kind("gpu")
    facts = {gpu.id: sysfs.pcie(files, gpu.pci) for gpu in gpus if gpu.pci and files.resolve(f"{sysfs.PCI}/{gpu.pci}")}
    allowed = description.get("peer_access")
    states = {gpu.id: gpu for gpu in state.gpus}
    found = []
    for one, other in combinations(gpus, 2):
        ends = (one.id, other.id)
        if allowed is not None and any([*pair] not in allowed for pair in (ends, ends[::-1])):
            taken: tuple[str, tuple[str, ...]] = "host", ()
        else:
            taken = _fabric(paths, ends) or _pcie(node, (one, other), [facts.get(gpu) for gpu in ends])
        found.append(_with_settings(ends, taken, (one.numa, other.numa), [states.get(gpu) for gpu in ends]))
    return found


def _fabric(paths: Paths, gpus: tuple[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """Return the route over the GPUs' own links, and their class; None where the path has PCIe or a host in it."""
    path = paths.between(*gpus)
    kinds = {paths.links[link].link.kind for link in path.route} if path else set()
    if path is None or not kinds <= {"nvlink", "xgmi"}:
        return None
    return ("nvswitch" if NVSWITCH in path.widest else kinds.pop()), (path.tier,)


def _pcie(node: Node, gpus: Sequence[Device], facts: Sequence[sysfs.PcieFacts | None]) -> tuple[str, tuple[str, ...]]:
    """Return the route over PCIe and the bridges that make it so."""
    one, other = facts
    if one is None or other is None:
        return "unknown", ()
    shared = 0
    while one.upstream[: shared + 1] == other.upstream[: shared + 1] and shared < len(one.upstream):
        shared += 1
    if shared:
        below = [side.upstream[shared] for side in (one, other) if len(side.upstream) > shared]
        redirecting = tuple(bdf for bdf in below if bdf in {*one.redirecting, *other.redirecting})
        return ("redirected", redirecting) if redirecting else ("pcie-switch", (one.upstream[shared - 1],))
    package = {numa.id: numa.package for numa in node.of_kind("numa")}
    packages = {package.get(f"numa:{gpu.numa}") for gpu in gpus} - {None}
    return ("sockets" if len(packages) > 1 else "root-complex"), ()


def _with_settings(
    gpus: tuple[str, str],
    taken: tuple[str, tuple[str, ...]],
    numa: tuple[int | None, int | None],
    states: Sequence[GpuState | None],
) -> PeerRoute:
    known = [state for state in states if state is not None]
    translated = [state.iommu for state in known if state.translated]
    windows = [size for state in known if (size := state.bar1_bytes)]
    acs_known = all(state.acs_redirect is not None for state in known)
    return PeerRoute(gpus, *taken, translated[0] if translated else None, numa, min(windows, default=None), acs_known)
