"""Doctor: what would spoil a measurement on this machine, and what is missing. Pure functions over data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkscope.machine.health_notes import health_notes, unseen_work
from linkscope.machine.node import Node
from linkscope.machine.state import GpuState, MachineState
from linkscope.machine.traits import method_of
from linkscope.messages.finding import Finding, Level, error, note, warning

_GIB = 1 << 30
_INTERFACES = {"by_python": "doctor.no-torch", "by_mpi": "doctor.no-mpi", "by_xccl": "doctor.no-xccl"}
"""Trait of methods that need a library at run time -> what is said where it is missing."""
_LEVELS = tuple(Level)
ON_PEERS = frozenset(f"doctor.{name}" for name in ("acs", "iommu-translates", "bar1-small", "out-of-fabric")) | {
    "health.fabric",
    "health.cliques",
}
"""Findings about what lies between GPUs."""


@dataclass(frozen=True)
class Examined:
    """Hold what the checks look at. ``engines``: host, cuda, hip -> its description, None where it is not built."""

    node: Node
    state: MachineState
    engines: Mapping[str, Mapping[str, Any] | None]

    @property
    def vendor(self) -> str | None:
        """Return the engine that the GPUs need; None without GPUs."""
        names = " ".join(gpu.name.lower() for gpu in self.node.of_kind("gpu"))
        if not names:
            return None
        return "hip" if any(word in names for word in ("amd", "instinct", "radeon", "gfx")) else "cuda"


def examine(node: Node, state: MachineState, engines: Mapping[str, Mapping[str, Any] | None]) -> list[Finding]:
    """Return all findings, the gravest first: an error makes results wrong or missing, a warning lower or noisier.

    ``engines``: host, cuda, hip -> its description, None where there is none.
    """
    seen = Examined(node, state, engines)
    return gravest_first(finding for check in _CHECKS for finding in check(seen))


def gravest_first(findings: Iterator[Finding] | Sequence[Finding]) -> list[Finding]:
    """Return findings with errors before warnings before notes."""
    return sorted(findings, key=lambda finding: _LEVELS.index(finding.level))


def neighbours(node: Node, state: MachineState) -> list[Finding]:
    """Return the findings about others who use the machine now."""
    return [*_neighbours(Examined(node, state, {})), *unseen_work(state)]


def _engines(seen: Examined) -> Iterator[Finding]:
    if not any(seen.engines.values()):
        yield error("doctor.no-engine")
    if seen.vendor and seen.engines.get(seen.vendor) is None:
        yield error("doctor.no-gpu-engine", engine=seen.vendor)
    for name, description in seen.engines.items():
        if description and description.get("problem"):
            grave = error if seen.vendor == name else note
            yield grave("doctor.no-usable-gpu", engine=name, problem=str(description["problem"]))


def _interfaces(seen: Examined) -> Iterator[Finding]:
    """Yield libraries that the engine in use loads at run time and that are not there."""
    used = seen.engines.get(seen.vendor or "") or seen.engines.get("host")
    reasons: dict[tuple[str, str], list[str]] = {}
    for method in (used or {}).get("methods", ()):
        traits = method_of(method["name"], method.get("traits"))
        library = next((one for one in _INTERFACES if getattr(traits, one)), "")
        if library and not method["available"]:
            reasons.setdefault((library, str(method.get("reason", "?"))), []).append(method["name"])
    for (library, reason), methods in reasons.items():
        yield note(_INTERFACES[library], methods=methods, reason=reason)


def _clocks(seen: Examined) -> Iterator[Finding]:
    for reason, gpus in _by(seen, lambda gpu: gpu.slowed_by).items():
        yield replace(warning("doctor.throttled", reason=reason), where=gpus)
    yield from _at(seen, lambda gpu: gpu.capped, note("doctor.power-cap"))


def _neighbours(seen: Examined) -> Iterator[Finding]:
    processes = max((gpu.processes or 0 for gpu in seen.state.gpus), default=0)  # one may be on several GPUs
    yield from _at(seen, lambda gpu: gpu.processes, error("doctor.other-processes", processes=processes))
    if not processes:
        yield from _at(seen, lambda gpu: (gpu.memory_used_bytes or 0) > 2 * _GIB, warning("doctor.memory-held"))
    load, cpus = seen.state.load, seen.state.cpus_online
    if load is not None and cpus and load > max(1.0, 0.1 * cpus):
        yield warning("doctor.load", load=load, cpus=cpus)


def _pcie(seen: Examined) -> Iterator[Finding]:
    for (lanes, most), gpus in _by(seen, lambda gpu: [gpu.lanes_lacking] if gpu.lanes_lacking else []).items():
        yield replace(error("doctor.pcie-narrow", lanes=lanes, most=most), where=gpus)
    slow = _by(seen, lambda gpu: [gpu.generation_lacking] if gpu.generation_lacking else [])
    for (generation, most), gpus in slow.items():
        facts = {"generation": generation, "most": most}
        under_load = seen.state.when == "load"
        found = error("doctor.pcie-slow", **facts) if under_load else note("doctor.pcie-idle", **facts)
        yield replace(found, where=gpus)


def _peer_path(seen: Examined) -> Iterator[Finding]:
    over_pcie = len(seen.node.of_kind("gpu")) > 1 and not _has_fabric(seen.node)
    yield from _at(seen, lambda gpu: gpu.acs_redirect, (warning if over_pcie else note)("doctor.acs"))
    translated = _by(seen, lambda gpu: [gpu.iommu] if gpu.translated else [])
    for kind, gpus in translated.items():
        yield replace(warning("doctor.iommu-translates", kind=kind), where=gpus)
    if seen.state.iommu and not translated and not any(gpu.iommu for gpu in seen.state.gpus) and seen.state.gpus:
        yield note("doctor.iommu-on")
    memory = {gpu.id: gpu.memory_bytes or 0 for gpu in seen.node.of_kind("gpu")}
    windows = _by(seen, lambda gpu: [size] if (size := gpu.bar1_bytes) and size < memory.get(gpu.id, 0) else [])
    for size, gpus in windows.items():
        small = (warning if over_pcie else note)("doctor.bar1-small", size=size, memory=memory[gpus[0]])
        yield replace(small, where=gpus)
    yield from _out_of_fabric(seen.node)


def _has_fabric(node: Node) -> bool:
    return bool(_in_fabric(node))


def _in_fabric(node: Node) -> set[str]:
    """Return the GPUs that have links of their own, NVLink or xGMI."""
    links = [link for link in node.links if link.kind in ("nvlink", "xgmi")]
    return {end for link in links for end in (link.a, link.b) if end.startswith("gpu:")}


def _out_of_fabric(node: Node) -> Iterator[Finding]:
    """Yield GPUs without links of their own where others of their model have them."""
    joined = _in_fabric(node)
    models = {gpu.name for gpu in node.of_kind("gpu") if gpu.id in joined}
    lone = tuple(gpu.id for gpu in node.of_kind("gpu") if gpu.name in models and gpu.id not in joined)
    if lone:
        yield replace(warning("doctor.out-of-fabric", joined=len(joined)), where=lone)


def _cpu(seen: Examined) -> Iterator[Finding]:
    slow = [governor for governor in seen.state.governors if governor in ("powersave", "conservative", "ondemand")]
    if slow:
        yield warning("doctor.governor", governors=slow)
    if seen.state.turbo is False:
        yield note("doctor.turbo-off")
    if seen.state.smt:
        yield note("doctor.hyper-threads")
    online, allowed, quota = seen.state.cpus_online, seen.state.cpus_allowed, seen.state.cpu_quota
    usable = min(value for value in (online, allowed, 1 << 20) if value)
    if usable == 1 or (quota is not None and quota < 2):
        yield warning("doctor.one-cpu")
    elif online and allowed and allowed < online:
        yield note("doctor.cpu-mask", allowed=allowed, online=online)
    if quota is not None and quota < usable:
        yield warning("doctor.cpu-quota", quota=quota)


def _memory(seen: Examined) -> Iterator[Finding]:
    available = [b for b in (seen.state.memory_available_bytes, seen.state.memory_limit_bytes) if b is not None]
    if available and min(available) < 4 * _GIB:
        yield (error if min(available) < _GIB else warning)("doctor.little-memory", available=min(available))
    if seen.state.numa_balancing and len(seen.node.of_kind("numa")) > 1:
        yield warning("doctor.numa-balancing")
    if seen.state.transparent_huge_pages == "never":
        yield note("doctor.no-huge-pages")


def _gpu_settings(seen: Examined) -> Iterator[Finding]:
    yield from _at(seen, lambda gpu: gpu.persistence is False, note("doctor.no-persistence"))
    yield from _at(seen, lambda gpu: gpu.mig, warning("doctor.mig"))
    yield from _at(seen, lambda gpu: gpu.ecc is False, note("doctor.no-ecc"))


def _surroundings(seen: Examined) -> Iterator[Finding]:
    if seen.state.virtualised:
        yield note("doctor.virtual-machine")
    if seen.state.container:
        yield note("doctor.container", container=seen.state.container)


def _missing_tools(seen: Examined) -> Iterator[Finding]:
    wanted = ["c++", "cmake", "libnuma", *{"cuda": ["nvcc"], "hip": ["hipcc"]}.get(seen.vendor or "", [])]
    for name in wanted:
        if seen.state.tools.get(name) is False:
            built = any(seen.engines.values()) and name != "libnuma"
            grave = note if built else warning if name in ("libnuma", "nvcc") else error
            yield grave("doctor.no-libnuma") if name == "libnuma" else grave("doctor.no-tool", tool=name)


def _at(seen: Examined, holds: Callable[[GpuState], object], found: Finding) -> Iterator[Finding]:
    """Yield a finding with the GPUs that it is true of, where there are any."""
    gpus = tuple(gpu.id for gpu in seen.state.gpus if holds(gpu))
    if gpus:
        yield replace(found, where=gpus)


def _by(seen: Examined, key: Callable[[GpuState], Sequence[Any]]) -> dict[Any, tuple[str, ...]]:
    """Return {key: (gpu:0, gpu:1)}: the GPUs that have what ``key`` gives."""
    groups: dict[Any, tuple[str, ...]] = {}
    for gpu in seen.state.gpus:
        for value in key(gpu):
            groups[value] = (*groups.get(value, ()), gpu.id)
    return groups


_CHECKS: tuple[Callable[[Examined], Iterator[Finding]], ...] = (
    _engines,
    _interfaces,
    _neighbours,
    lambda seen: health_notes(seen.state),
    _clocks,
    _pcie,
    _peer_path,
    _cpu,
    _memory,
    _gpu_settings,
    _surroundings,
    _missing_tools,
)
