"""AMD counters: RAS errors by block, and what the firmware's table of metrics counts of PCIe and of throttling.

The blocks are those of rocm_smi.h (rsmi_gpu_block_t: UMC, XGMI_WAFL, ...); rsmi_dev_ecc_count_get reads the same files.
The file xgmi_error, which rsmi_dev_xgmi_error_status reads, is left alone: reading it clears the count.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from linkscope.machine.files import Files
from linkscope.machine.sysfs import PCI

_BLOCKS = {"umc": "ecc", "xgmi_wafl": "xgmi"}
"""Block -> how its counters are called; all other blocks are added up as "ras"."""
_BLOCK = re.compile(r"(\w+)_err_count")
_COUNT = re.compile(r"^(ue|ce): (\d+)$", re.MULTILINE)
_KINDS = {"ce": "corrected", "ue": "uncorrected"}


class _MetricsLayout(NamedTuple):
    """Place the counters of a version of the table (gpu_metrics_v1_*, kgd_pp_interface.h). ``recoveries``: three of 64
    bits (recoveries from L0, replays, rollovers). ``naks``: two of 32 (sent, received). ``cycles``: six of 32 (all
    cycles, and those that each limit held the clock down)."""

    recoveries: int
    naks: int | None
    cycles: int | None


_LAYOUTS = {
    (1, 4): _MetricsLayout(80, None, None),
    (1, 5): _MetricsLayout(112, 136, None),
    (1, 6): _MetricsLayout(96, 120, 32),
    (1, 7): _MetricsLayout(104, 128, 40),
    (1, 8): _MetricsLayout(104, 128, 40),
}
_LIMITS = ("processor hot", "power cap", "thermal", "thermal (regulator)", "thermal (memory)")


class AmdCounters(NamedTuple):
    """``held``: cycles of the firmware that each limit held the clock down; ``cycles``: all of them."""

    counts: dict[str, int]
    held: dict[str, int]
    cycles: int | None


def read(files: Files, pci: str) -> AmdCounters:
    """Return the counters of the GPU at an address; none of a GPU of another vendor."""
    counts = _ras(files, f"{PCI}/{pci}/ras")
    return _with_metrics(files.read_bytes(f"{PCI}/{pci}/gpu_metrics") or b"", counts)


def _ras(files: Files, folder: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in files.entries(folder):
        if block := _BLOCK.fullmatch(name):
            for kind, count in _COUNT.findall(files.read(f"{folder}/{name}") or ""):
                counter = f"{_BLOCKS.get(block[1], 'ras')}-{_KINDS[kind]}"
                counts[counter] = counts.get(counter, 0) + int(count)
    return counts


def _with_metrics(table: bytes, counts: dict[str, int]) -> AmdCounters:
    """Return the counters with those of a table; all bits set stand for what a GPU does not count."""
    layout = _LAYOUTS.get((table[2], table[3])) if len(table) > 4 else None
    if layout is None or len(table) < layout.recoveries + 48:
        return AmdCounters(counts, {}, None)
    names = ("pcie-recovery", "pcie-replay", "pcie-replay-rollover")
    told = zip(names, struct.unpack_from("<3Q", table, layout.recoveries), strict=True)
    found = {name: count for name, count in told if count < (1 << 63)}
    if layout.naks is not None:
        naks = zip(("pcie-nak-sent", "pcie-nak-received"), struct.unpack_from("<2I", table, layout.naks), strict=True)
        found |= {name: count for name, count in naks if count < (1 << 32) - 1}
    if layout.cycles is None:
        return AmdCounters(counts | found, {}, None)
    cycles, *held = struct.unpack_from("<6I", table, layout.cycles)
    return AmdCounters(counts | found, dict(zip(_LIMITS, held, strict=True)), cycles)
