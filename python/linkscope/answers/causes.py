"""Causes: what the state, the topology and skipped cases of a run say of why a GPU's results are slow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from linkscope.answers.health import held_down
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.machine.health_notes import works_unseen
from linkscope.machine.nominal import LinksDown, links_down
from linkscope.machine.state import GpuState
from linkscope.machine.vendor import named_vendor, vendor_of
from linkscope.messages.finding import Finding, error, note
from linkscope.results.note_codes import NO_PEER_ACCESS, says

Line = Mapping[str, Any]
"""A checked result."""

FARTHER = 0.08
"""Margin by which a NUMA node must beat the nearest one to be the nearer."""
_FABRICS = ("nvlink", "xgmi")
"""Kinds of links over which GPUs always reach each other."""
_GPU = re.compile(r"gpu:\d+")
_LINKS = {"nvidia": ("explain.check-nvlink", "explain.check-fabric-manager"), "amd": ("explain.check-xgmi",)}
_PCIE = {"": ("explain.check-pcie", "explain.check-slot")}


class KnownCause(NamedTuple):
    """Explain slow results of a GPU. ``finding``: an error whose ``where`` are the devices; equal ones of several GPUs
    are one cause. ``explains``: which results."""

    finding: Finding
    explains: Callable[[Line], bool]


class RunSurroundings:
    """All of a run that may hold a cause; ``checked`` are its checked results."""

    def __init__(self, run: Run, checked: Sequence[Line]) -> None:
        self.run = run
        self.checked = checked
        self.gpus = [gpu.id for gpu in run.node.of_kind("gpu")]
        backend = str(run.header.get("engine", {}).get("backend", ""))
        self.vendor = vendor_of(run.node, backend) or named_vendor(run.node)

    def gpu(self, name: str) -> GpuState:
        """Return a GPU as it was last seen, with all that slowed it and all processes that were there at any time, as
        busy as it was before the run."""
        seen = [gpu for state in self.run.states for gpu in state.gpus if gpu.id == name]
        if not seen:
            return GpuState(name)
        read = [*(reason for gpu in seen for reason in gpu.throttle), *self.held_down.get(name, ())]
        processes = max(gpu.processes or 0 for gpu in seen)
        return replace(seen[-1], throttle=tuple(dict.fromkeys(read)), processes=processes, busy=seen[0].busy)

    @cached_property
    def held_down(self) -> Mapping[str, Sequence[str]]:
        """Return by GPU what held its clock down for a good part of the run."""
        return {gpu: list(shares) for gpu, shares in held_down(self.run).items()}

    @cached_property
    def cut(self) -> Mapping[frozenset[str], tuple[str, ...]]:
        """Return the pairs of GPUs that skipped cases say cannot reach each other, and these cases."""
        pairs: dict[frozenset[str], tuple[str, ...]] = {}
        for row in self.run.file.with_status("skipped"):
            gpus = frozenset(_GPU.findall(row.reason or ""))
            if len(gpus) == 2 and says(NO_PEER_ACCESS, [row.reason or ""]):
                pairs[gpus] = (*pairs.get(gpus, ()), row.id)
        return pairs

    def cut_with(self, gpu: str) -> list[frozenset[str]]:
        """Return the pairs that cannot reach each other and hang together with this GPU."""
        reached, found = {gpu}, []
        for _ in self.cut:
            found = [pair for pair in self.cut if pair & reached]
            reached |= {name for pair in found for name in pair}
        return found

    def on_one_fabric(self, pair: Iterable[str]) -> bool:
        """Return whether links that join GPUs lead from one to the other."""
        try:
            path = self.run.paths.between(*sorted(pair))
        except KeyError:
            return False
        links = self.run.paths.links
        return path is not None and all(links[name].link.kind.startswith(_FABRICS) for name in path.route)


def gpus_of(where: Iterable[str]) -> list[str]:
    """Return the GPUs that devices and paths name, each once."""
    return list(dict.fromkeys(gpu for place in where for gpu in _GPU.findall(place)))


def causes(around: RunSurroundings, gpu: str) -> list[KnownCause]:
    """Return what is known to slow this GPU's paths, the most specific first."""
    state = around.gpu(gpu)
    lanes, most_lanes = state.lanes_lacking or (0, 0)
    generation, newest = state.generation_lacking or (0, 0)
    cut = around.cut_with(gpu)
    none = LinksDown(gpu, "", 0, 0)
    link = next((one for one in links_down(around.run.node) if one.gpu == gpu), none)
    links = {"down": link.down, "built": link.built, "left": link.built - link.down, "link": link.kind}
    near = f"numa:{around.run.node.device(gpu).numa}"
    nearer = _nearer(around, gpu, near)
    alone_with_ecc = state.ecc and any(around.gpu(other).ecc is False for other in around.gpus)
    watts, default = state.power_cap_w, state.power_default_w

    def by_clock(line: Line) -> bool:
        """Return whether a result follows the clock: kernels do, copy engines between devices do not."""
        return line["kind"] == "local" or around.run.traits[line["method"]].by_kernel

    known: tuple[tuple[object, Finding, Callable[[Line], bool]], ...] = (
        (state.lanes_lacking, error("explain.pcie-narrow", lanes=lanes, most=most_lanes), _over_pcie),
        (state.generation_lacking, error("explain.pcie-slow", generation=generation, most=newest), _over_pcie),
        (state.acs_redirect, error("explain.acs"), lambda line: _of_peers(line) and _over_pcie(line)),
        (state.translated, error("explain.iommu-translates", type=state.iommu), _over_pcie),
        (cut, no_peer_access(cut), lambda line: _of_peers(line) and frozenset(line["gpus"]) in cut),
        (link.down, error("explain.links-down", **links), _of_peers),
        (
            nearer,
            error("explain.numa-nearer", near=near, nearer=nearer, least=FARTHER),
            lambda line: near in _ends(line),
        ),
        (state.mig, error("explain.mig"), lambda line: not _of_peers(line)),
        (state.processes, error("explain.other-processes", processes=state.processes), lambda line: True),
        (works_unseen(state), error("health.busy", share=state.busy), lambda line: True),
        (alone_with_ecc, error("explain.ecc"), lambda line: bool(line["kind"] == "local")),
        (state.slowed_by, error("explain.throttled", reasons=state.slowed_by), by_clock),
        (state.capped, error("explain.power-cap", watts=watts, default=default), by_clock),
    )
    return [KnownCause(replace(found, where=found.where or (gpu,)), of) for holds, found, of in known if holds]


def no_peer_access(pairs: Sequence[frozenset[str]]) -> Finding:
    """Return that GPUs cannot reach each other: copies go through the host."""
    found = error("explain.no-peer-access", pairs=sorted("<>".join(sorted(pair)) for pair in pairs))
    return replace(found, where=tuple(sorted({gpu for pair in pairs for gpu in pair})))


def _nearer(around: RunSurroundings, gpu: str, near: str) -> list[str]:
    """Return the NUMA nodes that reach a GPU faster than ``near``, which should be the nearest."""
    mine = [line for line in around.checked if line["kind"] == "host" and gpu in line["gpus"] and line["unit"] == RATE]
    nearest = {_comparable(line): line for line in mine if near in _ends(line)}
    return sorted(
        {
            next(end for end in _ends(line) if end != gpu)
            for line in mine
            if (other := nearest.get(_comparable(line))) and line["value_low"] > (1 + FARTHER) * other["value_high"]
        }
    )


def _comparable(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("row", "movement", "way", "memories", "bytes"))


def _ends(line: Line) -> tuple[str, str]:
    return line["source"], line["destination"]


def _of_peers(line: Line) -> bool:
    return bool(line["kind"] == "peer")


def _over_pcie(line: Line) -> bool:
    return str(line["link"]).startswith("pcie")


_CHECKS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "explain.links-down": _LINKS,
    "explain.likely-links-down": _LINKS,
    "explain.pcie-narrow": _PCIE,
    "explain.pcie-slow": _PCIE,
    "explain.likely-pcie": _PCIE,
    "explain.acs": {"": ("explain.check-acs",)},
    "explain.iommu-translates": {"": ("explain.check-iommu",)},
    "explain.no-peer-access": {"nvidia": ("explain.check-p2p", "explain.check-container")},
    "explain.numa-nearer": {"": ("explain.check-numa",)},
    "explain.mig": {"": ("explain.check-mig",)},
    "explain.other-processes": {"nvidia": ("explain.check-pmon",), "amd": ("explain.check-pids",)},
    "health.busy": {"nvidia": ("explain.check-pmon",), "amd": ("explain.check-pids",)},
    "explain.ecc": {"": ("explain.check-ecc",)},
    "explain.throttled": {"nvidia": ("explain.check-throttle",), "amd": ("explain.check-amd-clock",)},
    "explain.power-cap": {"nvidia": ("explain.check-power",)},
    "explain.shared-link": {"": ("explain.check-tree",)},
    "explain.slow-method": {"": ("explain.check-engine",)},
    "explain.slow-library": {"": ("explain.check-library",)},
    "explain.unchecked-links": {"": ("explain.check-links",)},
    "peer": _LINKS,
    "peer-pcie": {"": ("explain.check-acs", "explain.check-iommu")},
    "host": _PCIE,
    "local": {"nvidia": ("explain.check-memory",), "amd": ("explain.check-amd-clock",)},
}
"""Cause, or kind of path where the cause is unknown ("peer-pcie": between GPUs without links of their own) -> vendor
("": any) -> what to look at."""


def clocks(around: RunSurroundings, cause: Finding) -> Iterator[Finding]:
    """Yield the clocks of the GPUs that a cause slows by them."""
    if cause.code in ("explain.throttled", "explain.power-cap"):
        for state in map(around.gpu, cause.where):
            if state.clock_mhz is not None and state.clock_max_mhz is not None:
                yield note("explain.clock", gpu=state.id, clock=state.clock_mhz, most=state.clock_max_mhz)


def checks(around: RunSurroundings, cause: Finding, kind: str) -> Iterator[Finding]:
    """Yield what would show or mend a cause: of the vendor's GPUs there are, as commands that run."""
    chosen = _CHECKS.get(cause.code) or _CHECKS[kind]
    codes = (*chosen.get(around.vendor or "", ()), *chosen.get("", ()))
    gpu = next(iter(gpus_of(cause.where)), "")
    device = around.run.node.device(gpu) if gpu in around.gpus else None
    facts = {"gpu": gpu, "index": gpu.partition(":")[2], "pci": (device.pci or "") if device else ""}
    for code in codes:
        yield note(code, **facts, **({"default": cause.facts["default"]} if code == "explain.check-power" else {}))
