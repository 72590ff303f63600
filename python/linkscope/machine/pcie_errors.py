"""PCIe errors: what the kernel counts for a GPU and the bridge above it (Advanced Error Reporting), and AMD's replays.

The kernel has these files where the firmware leaves error reporting to it; virtual machines seldom have any.
"""

from __future__ import annotations

import re

from linkscope.machine.files import Files
from linkscope.machine.sysfs import PCI

_OF_KIND = {
    "pcie-correctable": ("aer_dev_correctable", "TOTAL_ERR_COR"),
    "pcie-non-fatal": ("aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"),
    "pcie-fatal": ("aer_dev_fatal", "TOTAL_ERR_FATAL"),
}


def read(files: Files, pci: str, bridge: str | None) -> dict[str, int]:
    """Return the errors of both ends of a GPU's PCIe link by counter; those that the kernel does not give are absent.

    ``pci``, ``bridge``: addresses of the GPU and of the bridge above it.
    """
    found: dict[str, int] = {}
    for name, (file, total) in _OF_KIND.items():
        ends = [_total(files.read(f"{PCI}/{end}/{file}"), total) for end in (pci, bridge) if end]
        if any(end is not None for end in ends):
            found[name] = sum(end or 0 for end in ends)
    replays = files.read(f"{PCI}/{pci}/pcie_replay_count")
    return {**found, **({"pcie-replay": int(replays)} if replays and replays.isdigit() else {})}


def _total(text: str | None, name: str) -> int | None:
    count = re.search(rf"^{name}\s+(\d+)", text or "", re.MULTILINE)
    return int(count.group(1)) if count else None
