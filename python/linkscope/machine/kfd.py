"""KFD: AMD's topology in sysfs (/sys/class/kfd): GPUs, and xGMI and PCIe between them and the CPUs.

The files' meaning is the kernel's (drivers/gpu/drm/amd/amdkfd: kfd_topology.c, kfd_crat.c).
"""

from __future__ import annotations

from dataclasses import dataclass

from linkscope.machine.files import Files

NODES = "/sys/class/kfd/kfd/topology/nodes"
TYPE_XGMI = 11
#: kfd_crat.h: a direct xGMI connection weighs 15, one over k links 15 k, one inside a package 13.
WEIGHT_ONE_HOP = 15
WEIGHT_IN_PACKAGE = 13
#: Payload GB/s per direction of the one xGMI link from a GPU to its CPU, by architecture, where it runs slower than the
#: links between GPUs that KFD's figure is taken from (MI250X: 16 bit at 18 GT/s, Frontier User Guide; schieffer24 II).
CPU_LINK_GBPS = {"gfx90a": 36.0}


@dataclass(frozen=True)
class KfdLink:
    """A way from one node to another. Bandwidths in GB/s per direction, None where the kernel says 0.

    ``lanes``: links in the bundle, from the widest over the single link's bandwidth.
    """

    source: int
    target: int
    type: int
    weight: int
    lane_gbps: float | None
    peak_gbps: float | None

    @property
    def lanes(self) -> int | None:
        return round(self.peak_gbps / self.lane_gbps) if self.peak_gbps and self.lane_gbps else None

    @property
    def is_direct(self) -> bool:
        """One physical hop; drivers also list GPUs of the hive that are reached over others."""
        return self.type != TYPE_XGMI or self.weight <= WEIGHT_ONE_HOP


@dataclass(frozen=True)
class KfdNode:
    """A CPU or a GPU. ``pci`` and ``architecture`` (gfx90a) are of a GPU."""

    index: int
    is_gpu: bool
    pci: str | None
    architecture: str | None
    memory_gbps: float | None
    links: tuple[KfdLink, ...]


def read(files: Files) -> tuple[KfdNode, ...]:
    """All nodes in order; empty without the driver. Nodes without permission (another container's) are left out."""
    indices = sorted(int(name) for name in files.entries(NODES) if name.isdigit())
    nodes = (_node(files, index) for index in indices)
    return tuple(node for node in nodes if node is not None)


def _node(files: Files, index: int) -> KfdNode | None:
    here = f"{NODES}/{index}"
    facts = _properties(files.read(f"{here}/properties"))
    if not facts:
        return None
    is_gpu = facts.get("simd_count", 0) > 0
    return KfdNode(
        index=index,
        is_gpu=is_gpu,
        pci=_pci(facts) if is_gpu else None,
        architecture=_architecture(facts.get("gfx_target_version", 0)) if is_gpu else None,
        memory_gbps=_memory_gbps(files, here) if is_gpu else None,
        links=tuple(_links(files, f"{here}/io_links")),
    )


def _links(files: Files, folder: str) -> list[KfdLink]:
    links = []
    for name in sorted((n for n in files.entries(folder) if n.isdigit()), key=int):
        facts = _properties(files.read(f"{folder}/{name}/properties"))
        if "node_from" in facts and "node_to" in facts:
            links.append(
                KfdLink(
                    source=facts["node_from"],
                    target=facts["node_to"],
                    type=facts.get("type", 0),
                    weight=facts.get("weight", 0),
                    lane_gbps=facts.get("min_bandwidth", 0) / 1000 or None,
                    peak_gbps=facts.get("max_bandwidth", 0) / 1000 or None,
                )
            )
    return links


def _properties(text: str | None) -> dict[str, int]:
    """Lines "name value"; lines that are not a name and a whole number are left out."""
    facts = {}
    for line in (text or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if value.strip().isdigit():
            facts[name] = int(value)
    return facts


def _pci(facts: dict[str, int]) -> str:
    location = facts.get("location_id", 0)
    bus, device, function = (location >> 8) & 0xFF, (location >> 3) & 0x1F, location & 0x7
    return f"{facts.get('domain', 0):04x}:{bus:02x}:{device:02x}.{function}"


def _architecture(version: int) -> str | None:
    """90010 is gfx90a: major, minor and a hexadecimal stepping in decimal pairs."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version else None


def _memory_gbps(files: Files, here: str) -> float | None:
    """Memory banks: bus width times clock, two transfers a clock."""
    total = 0.0
    for name in files.entries(f"{here}/mem_banks"):
        bank = _properties(files.read(f"{here}/mem_banks/{name}/properties"))
        total += bank.get("width", 0) / 8 * bank.get("mem_clk_max", 0) * 2 / 1000
    return round(total, 1) or None
