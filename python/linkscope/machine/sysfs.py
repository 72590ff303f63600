"""sysfs: NUMA nodes and PCIe as the kernel shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from linkscope.machine.files import Files
from linkscope.machine.pci_config import redirects_peers

NODES = "/sys/devices/system/node"
CPUS = "/sys/devices/system/cpu"
PCI = "/sys/bus/pci/devices"

#: GB/s per lane and direction after line coding: 8b/10b up to generation 2, 128b/130b up to 5, 242 of a 256-byte flit
#: from 6 on (PCI Express Base 6.0). Transaction headers, acknowledgements and flow control are not subtracted.
PCIE_LANE_GBPS = {
    1: 2.5 / 8 * 8 / 10,
    2: 5.0 / 8 * 8 / 10,
    3: 8.0 / 8 * 128 / 130,
    4: 16.0 / 8 * 128 / 130,
    5: 32.0 / 8 * 128 / 130,
    6: 64.0 / 8 * 242 / 256,
    7: 128.0 / 8 * 242 / 256,
}
_GENERATION_OF_SPEED = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_BDF = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class NumaFacts:
    """One NUMA node. ``package``: socket of its CPUs, None for memory without CPUs; ``distances``: by node number."""

    index: int
    cpus: tuple[int, ...]
    memory_bytes: int | None
    package: int | None
    distances: dict[int, int]


@dataclass(frozen=True)
class PcieWidth:
    """A PCIe link's generation and lanes; None where the kernel does not say."""

    generation: int | None
    lanes: int | None

    @property
    def gbps(self) -> float | None:
        """Payload peak per direction."""
        if self.generation is None or not self.lanes:
            return None
        return pcie_gbps(self.generation, self.lanes)


@dataclass(frozen=True)
class PcieFacts:
    """One PCIe function. ``upstream``: bridges from the root port down to the one above it.

    ``acs_redirect``: some bridge above sends peer traffic up to the root; None: not readable (needs root).
    ``redirecting``: the bridges that do.
    ``iommu``: type of its IOMMU group (identity, DMA, DMA-FQ), None where there is none.
    """

    pci: str
    current: PcieWidth
    maximum: PcieWidth
    numa: int | None
    upstream: tuple[str, ...]
    iommu: str | None
    acs_redirect: bool | None
    redirecting: tuple[str, ...] = ()


def pcie_gbps(generation: int, lanes: int) -> float | None:
    """Payload peak per direction, GB/s (see PCIE_LANE_GBPS for what is subtracted); None for an unknown generation."""
    lane = PCIE_LANE_GBPS.get(generation)
    return None if lane is None else round(lane * lanes, 2)


def cpu_list(text: str | None) -> tuple[int, ...]:
    """Kernel list format: "0-3,8" is 0, 1, 2, 3, 8."""
    cpus: list[int] = []
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def numa_nodes(files: Files) -> tuple[NumaFacts, ...]:
    """Online NUMA nodes in order; empty where the kernel shows none."""
    indices = sorted(int(name[4:]) for name in files.entries(NODES) if re.fullmatch(r"node\d+", name))
    return tuple(_numa_node(files, index, indices) for index in indices)


def _numa_node(files: Files, index: int, indices: list[int]) -> NumaFacts:
    here = f"{NODES}/node{index}"
    cpus = cpu_list(files.read(f"{here}/cpulist"))
    total = re.search(r"MemTotal:\s+(\d+) kB", files.read(f"{here}/meminfo") or "")
    package = files.read(f"{CPUS}/cpu{cpus[0]}/topology/physical_package_id") if cpus else None
    distances = [int(word) for word in (files.read(f"{here}/distance") or "").split()]
    return NumaFacts(
        index=index,
        cpus=cpus,
        memory_bytes=int(total.group(1)) * 1024 if total else None,
        package=int(package) if package and package.isdigit() else None,
        distances=dict(zip(indices, distances, strict=False)),
    )


def pcie(files: Files, pci: str) -> PcieFacts:
    """Facts of one function by its address (domain:bus:device.function, any case)."""
    pci = normal_pci(pci)
    here = f"{PCI}/{pci}"
    upstream = tuple(_BDF.findall(files.resolve(here) or ""))[:-1]
    numa = _number(files.read(f"{here}/numa_node"))
    group = files.resolve(f"{here}/iommu_group")
    redirects = {bdf: redirects_peers(files.read_bytes(f"{PCI}/{bdf}/config")) for bdf in upstream}
    known = [answer for answer in redirects.values() if answer is not None]
    return PcieFacts(
        pci=pci,
        current=_width(files, here, "current"),
        maximum=_narrower([_width(files, f"{PCI}/{bdf}", "max") for bdf in (pci, *upstream[-1:])]),
        numa=numa if numa is not None and numa >= 0 else None,
        upstream=upstream,
        iommu=files.read(f"{group}/type") if group else None,
        acs_redirect=any(known) if known else None,
        redirecting=tuple(bdf for bdf, answer in redirects.items() if answer),
    )


def link_of_bridge(files: Files, bdf: str) -> PcieWidth:
    """Return what the link below a bridge can do at most."""
    return _width(files, f"{PCI}/{bdf}", "max")


def normal_pci(address: str) -> str:
    """Four-digit domain, lower case: NVML's "00000000:1A:00.0" is "0000:1a:00.0"."""
    domain, _, rest = address.strip().lower().partition(":")
    if rest.count(":") == 0:  # no domain given
        return f"0000:{domain}:{rest}"
    return f"{int(domain, 16):04x}:{rest}"


def _width(files: Files, here: str, which: str) -> PcieWidth:
    speed = re.match(r"[\d.]+", files.read(f"{here}/{which}_link_speed") or "")
    lanes = _number(files.read(f"{here}/{which}_link_width"))
    generation = _GENERATION_OF_SPEED.get(float(speed.group())) if speed else None
    return PcieWidth(generation, lanes if lanes and lanes < 64 else None)  # 63 and above: no link


def _narrower(ends: list[PcieWidth]) -> PcieWidth:
    generations = [end.generation for end in ends if end.generation is not None]
    lanes = [end.lanes for end in ends if end.lanes is not None]
    return PcieWidth(min(generations, default=None), min(lanes, default=None))


def _number(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
