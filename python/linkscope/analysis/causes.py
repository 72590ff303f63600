"""Causes: what the state, the topology and skipped rows of a run say of why a GPU's paths are slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from linkscope.analysis.latencies import JudgedLatency
from linkscope.analysis.ledger import NVSWITCH, Ledger
from linkscope.machine.node import Node
from linkscope.machine.state import GpuState, MachineState
from linkscope.results.row import Row

FARTHER = 0.08
"""How much faster a NUMA node must be than the nearest one to be the nearer."""
NO_PEER_ACCESS = "no peer access"
"""In the reason of a skipped row, as engines write it."""


_GPU = re.compile(r"gpu:\d+")


@dataclass(frozen=True)
class Likely:
    """A cause at one GPU: in words, what says so, and what would decide or mend it. ``explains``: which accounts.
    ``where``: the devices, if more than the one."""

    what: str
    evidence: str
    decide: str
    explains: Callable[[Ledger | JudgedLatency], bool]
    where: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """All that may hold a cause. ``states``: as the run's file holds them, in order."""

    node: Node
    states: Sequence[MachineState]
    skipped: Sequence[Row]
    accounts: Sequence[Ledger]

    def gpu(self, name: str) -> GpuState:
        """One GPU: as it was last seen, with all that slowed it and all processes that were there at any time."""
        seen = [gpu for state in self.states for gpu in state.gpus if gpu.id == name]
        if not seen:
            return GpuState(name)
        throttle = tuple(dict.fromkeys(reason for gpu in seen for reason in gpu.throttle))
        return replace(seen[-1], throttle=throttle, processes=max((gpu.processes or 0 for gpu in seen), default=0))


def likely(where: Surroundings, gpu: str) -> Iterator[Likely]:
    """What is known to slow this GPU's paths, the most specific first."""
    state = where.gpu(gpu)
    yield from _pcie(state)
    yield from _fabric(where, gpu)
    yield from _numa(where, gpu)
    yield from _shared(state)
    yield from _ecc(where, state)
    yield from _clocks(state)


def _pcie(state: GpuState) -> Iterator[Likely]:
    if state.lanes_lacking:
        lanes = "{} of {}".format(*state.lanes_lacking)
        yield Likely(
            f"PCIe has {lanes} lanes",
            f"state: {lanes} lanes",
            "reseat the card or riser; look at the slot's wiring and the BIOS bifurcation",
            _over_pcie,
        )
    if state.generation_lacking:
        generation = "{} of {}".format(*state.generation_lacking)
        yield Likely(
            f"PCIe runs at generation {generation}",
            f"state: generation {generation}, and transfers are slow",
            "look at the BIOS setting, the riser and the PCIe error counters",
            _over_pcie,
        )
    if state.acs_redirect:
        yield Likely(
            "PCIe access control (ACS) sends peer traffic up to the root",
            "state: ACS redirection is on above it",
            "turn ACS redirection off on the bridges above (setpci or BIOS)",
            lambda one: one.kind == "peer" and _over_pcie(one),
        )
    if state.translated:
        yield Likely(
            "the IOMMU translates its addresses",
            f"state: IOMMU group of type {state.iommu}",
            "boot with iommu=pt, and measure again",
            _over_pcie,
        )


def _over_pcie(one: Ledger | JudgedLatency) -> bool:
    return one.link.startswith("pcie")


def _fabric(where: Surroundings, gpu: str) -> Iterator[Likely]:
    peers = sorted({peer for row in where.skipped if (peer := _lost_peer(row, gpu))})
    if peers:
        yield Likely(
            f"no peer access between {gpu} and {', '.join(peers)}: copies go through the host",
            f"rows that need it were skipped: {NO_PEER_ACCESS}",
            "look at `nvidia-smi topo -p2p r`, the fabric manager, IOMMU and ACS, and the container's devices",
            lambda one: one.kind == "peer" and bool(set(one.gpus) & set(peers)),
            (gpu, *peers),
        )
    for link in where.node.links:
        alike = [
            one.lanes or 0 for one in where.node.links if one.kind == link.kind and _far(one.a, one.b, gpu) is None
        ]
        mine = _far(link.a, link.b, gpu)
        if mine == NVSWITCH and link.lanes and alike and link.lanes < max(alike):
            lost = max(alike) - link.lanes
            yield Likely(
                f"{lost} of {max(alike)} {link.kind} lanes {'is' if lost == 1 else 'are'} down",
                f"topology: {link.lanes} lanes where others have {max(alike)}",
                "nvidia-smi nvlink --status and --errorcounters; the fabric manager's log",
                lambda one: one.kind == "peer",
            )


def _far(a: str, b: str, gpu: str) -> str | None:
    """The other end of a link of this GPU."""
    return b if a == gpu else a if b == gpu else None


def lost_pair(row: Row) -> tuple[str, str] | None:
    """The two GPUs that a skipped row says cannot reach each other, in order."""
    if NO_PEER_ACCESS not in (row.reason or ""):
        return None
    gpus = sorted(set(_GPU.findall(row.reason or "")))
    return (gpus[0], gpus[1]) if len(gpus) == 2 else None


def _lost_peer(row: Row, gpu: str) -> str | None:
    """The GPU that a skipped row says this one cannot reach."""
    pair = lost_pair(row)
    return next(end for end in pair if end != gpu) if pair and gpu in pair else None


def _numa(where: Surroundings, gpu: str) -> Iterator[Likely]:
    """Another NUMA node reaches the GPU faster than the one that should be nearest."""
    near = f"numa:{where.node.device(gpu).numa}"
    mine = [one for one in where.accounts if one.kind == "host" and gpu in one.gpus]
    nearest = {_comparable(one): one for one in mine if _numa_of(one) == near}
    faster = {
        _numa_of(one)
        for one in mine
        if (by := nearest.get(_comparable(one))) and one.measured.low > (1 + FARTHER) * by.measured.high
    }
    if faster:
        names = ", ".join(sorted(faster))
        yield Likely(
            f"{near} should be nearest, but {names} is: the topology or the binding of memory is wrong",
            f"{names} is at least {FARTHER:.0%} faster from there",
            "numactl --hardware, lspci -vv (NUMA node), the BIOS setting of NUMA nodes per socket",
            lambda one: one.kind == "host" and near in (one.source, one.destination),
        )


def _comparable(one: Ledger) -> tuple[str, str, str, int]:
    return one.suite_row, one.way, one.method, one.bytes


def _numa_of(one: Ledger) -> str:
    return next(end for end in (one.source, one.destination) if not end.startswith("gpu:"))


def _shared(state: GpuState) -> Iterator[Likely]:
    if state.mig:
        yield Likely(
            "MIG is on: a slice has a share of memory and copy engines",
            "state: MIG is on",
            "measure whole GPUs: nvidia-smi --multi-instance-gpu 0 (as root, resets the GPU)",
            lambda one: one.kind != "peer",
        )
    if state.processes:
        yield Likely(
            "other processes use it",
            f"state: {state.processes} other {'process' if state.processes == 1 else 'processes'}",
            "stop them or wait, and measure again",
            lambda one: True,
        )


def _ecc(where: Surroundings, state: GpuState) -> Iterator[Likely]:
    if state.ecc and any(where.gpu(gpu.id).ecc is False for gpu in where.node.of_kind("gpu")):
        yield Likely(
            "ECC is on here and off on others",
            "state: ECC is on",
            "make it the same on all: nvidia-smi --ecc-config (as root, takes a restart)",
            lambda one: one.kind == "local",
        )


def _clocks(state: GpuState) -> Iterator[Likely]:
    if state.slowed_by:
        yield Likely(
            f"its clock is throttled ({', '.join(state.slowed_by)})",
            f"state: {', '.join(state.slowed_by)}" + _clock(state),
            "let it cool, look at the power supply and limits, and measure again",
            _by_clock,
        )
    if state.capped:
        yield Likely(
            "its power limit is below the default",
            f"state: {state.power_cap_w:.0f} of {state.power_default_w:.0f} W" + _clock(state),
            "nvidia-smi --power-limit restores it (as root)",
            _by_clock,
        )


def _by_clock(one: Ledger | JudgedLatency) -> bool:
    """Kernels follow the clock, copy engines between devices do not."""
    return one.kind == "local" or one.method.startswith("kernel")


def _clock(state: GpuState) -> str:
    known = state.clock_mhz is not None and state.clock_max_mhz is not None
    return f", {state.clock_mhz} of {state.clock_max_mhz} MHz when it was read" if known else ""
