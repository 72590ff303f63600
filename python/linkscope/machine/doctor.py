"""Doctor: what would spoil a measurement on this machine, and what is missing. Pure functions over data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkscope.machine.node import Node
from linkscope.machine.state import GpuState, MachineState

SEVERITIES = ("problem", "warning", "note")
_GIB = 1 << 30
_INTERFACES = {
    "mpi": "`pip install mpich`, or name a library in LINKSCOPE_MPI: one with the standard ABI, or an adapter to "
    "another (docs/processes.md)",
    "xccl": "install the vendor's library, or name it in LINKSCOPE_XCCL",
    "torch": "install it beside linkscope (extra `torch`), or leave out the suites that name them",
}
"""What to do about a missing one, by how its methods' names begin."""


@dataclass(frozen=True)
class MachineFinding:
    """``problem``: figures will be wrong or missing; ``warning``: lower or noisier; ``note``: worth knowing."""

    severity: str
    what: str
    why_it_matters: str
    remedy: str

    @property
    def why(self) -> str:
        """What it is and why it matters, in one line."""
        return f"{self.what}: {self.why_it_matters}"


@dataclass(frozen=True)
class Examined:
    """What the checks look at. ``engines``: host, cuda, hip -> its description, None where it is not built."""

    node: Node
    state: MachineState
    engines: Mapping[str, Mapping[str, Any] | None]

    @property
    def vendor(self) -> str | None:
        """The engine the GPUs need."""
        names = " ".join(gpu.name.lower() for gpu in self.node.of_kind("gpu"))
        if not names:
            return None
        return "hip" if any(word in names for word in ("amd", "instinct", "radeon", "gfx")) else "cuda"


def examine(node: Node, state: MachineState, engines: Mapping[str, Mapping[str, Any] | None]) -> list[MachineFinding]:
    """All findings, gravest first. ``engines``: host, cuda, hip -> its description, None where there is none."""
    seen = Examined(node, state, engines)
    findings = [finding for check in _CHECKS for finding in check(seen)]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def neighbours(node: Node, state: MachineState) -> list[MachineFinding]:
    """The findings about others who use the machine now: what can be told before anything is measured."""
    return list(_neighbours(Examined(node, state, {})))


def _engines(seen: Examined) -> Iterator[MachineFinding]:
    if not any(seen.engines.values()):
        yield MachineFinding(
            "problem", "no engine is built", "nothing can be measured on this machine", "run `make run` to build one"
        )
    if seen.vendor and seen.engines.get(seen.vendor) is None:
        yield MachineFinding(
            "problem",
            f"there are GPUs but no {seen.vendor} engine",
            "no path to or between GPUs can be measured",
            "run `make run` to build the engine for the GPUs here",
        )
    for name, description in seen.engines.items():
        if description and description.get("problem"):
            yield MachineFinding(
                "problem" if seen.vendor == name else "note",
                f"the {name} engine sees no usable GPU: {description['problem']}",
                "cases that need a GPU will be skipped",
                "load a driver as new as the engine wants (docs/install.md), or let this container or user use GPUs",
            )


def _interfaces(seen: Examined) -> Iterator[MachineFinding]:
    """Libraries that the engine in use loads at run time and that are not there."""
    used = seen.engines.get(seen.vendor or "") or seen.engines.get("host")
    reasons: dict[str, list[str]] = {}
    for method in (used or {}).get("methods", ()):
        if method["name"].startswith(tuple(_INTERFACES)) and not method["available"]:
            reasons.setdefault(str(method.get("reason", "no reason given")), []).append(method["name"])
    for reason, names in reasons.items():
        remedy = next(text for name, text in _INTERFACES.items() if names[0].startswith(name))
        what = f"{', '.join(names)}: {reason}"
        yield MachineFinding("note", what, "cases that need it are skipped with that reason", remedy)


def _clocks(seen: Examined) -> Iterator[MachineFinding]:
    for reason, gpus in _by(seen, lambda gpu: gpu.slowed_by).items():
        yield MachineFinding(
            "warning",
            f"{gpus}: clock throttled ({reason})",
            "kernel copies and latencies follow the clock; copy engines less so",
            "let the GPU cool, raise the power limit, or mention it in the report",
        )
    for _, gpus in _by(seen, lambda gpu: ["cap"] if gpu.capped else []).items():
        yield MachineFinding(
            "note",
            f"{gpus}: power limit below the default",
            "long kernel copies may run at a lower clock",
            "nvidia-smi --power-limit restores it (as root)",
        )


def _neighbours(seen: Examined) -> Iterator[MachineFinding]:
    busy = {gpu.id: gpu.processes for gpu in seen.state.gpus if gpu.processes}
    if busy:
        yield MachineFinding(
            "problem",
            "other processes run on " + ", ".join(f"{i} ({n})" for i, n in busy.items()),
            "they share the links, the copy engines and the memory with what is measured",
            "stop them or wait; measure on idle GPUs with --devices",
        )
    holding = [g.id for g in seen.state.gpus if not g.processes and (g.memory_used_bytes or 0) > 2 * _GIB]
    if holding and not busy:
        yield MachineFinding(
            "warning",
            f"{', '.join(holding)}: memory is in use, but no process is visible",
            "another container may be using the GPU",
            "make sure that no one else uses the node",
        )
    load, cpus = seen.state.load, seen.state.cpus_online
    if load is not None and cpus and load > max(1.0, 0.1 * cpus):
        yield MachineFinding(
            "warning",
            f"the load average is {load:.1f} on {cpus} CPUs",
            "other work slows host memory paths and launches (a run that has just ended still counts for a minute)",
            "wait until the machine is idle",
        )


def _pcie(seen: Examined) -> Iterator[MachineFinding]:
    narrow = _by(seen, lambda gpu: [gpu.narrow] if gpu.narrow else [])
    for width, gpus in narrow.items():
        yield MachineFinding(
            "problem",
            f"{gpus}: PCIe runs with {width} lanes",
            "every transfer to and from the host is slower by that factor",
            "reseat the card or riser; look at the slot's wiring and the BIOS bifurcation",
        )
    for generation, gpus in _by(seen, lambda gpu: [gpu.slow_generation] if gpu.slow_generation else []).items():
        if seen.state.when == "load":
            yield MachineFinding(
                "problem",
                f"{gpus}: PCIe runs at generation {generation} under load",
                "host transfers cannot reach the link's peak",
                "look at the BIOS setting, the riser and the error counters",
            )
        else:
            yield MachineFinding(
                "note",
                f"{gpus}: PCIe runs at generation {generation} while idle",
                "idle GPUs lower it to save power; it rises under load",
                "nothing, if host transfers get close to the peak",
            )


def _peer_path(seen: Examined) -> Iterator[MachineFinding]:
    over_pcie = len(seen.node.of_kind("gpu")) > 1 and not _has_fabric(seen.node)
    for _, gpus in _by(seen, lambda gpu: ["acs"] if gpu.acs_redirect else []).items():
        yield MachineFinding(
            "warning" if over_pcie else "note",
            f"{gpus}: PCIe access control (ACS) sends peer traffic up to the root complex",
            "GPU to GPU and GPU to NIC transfers over PCIe take a detour, or hang",
            "on bare metal turn ACS redirection off on the bridges above (setpci or BIOS)",
        )
    translated = _by(seen, lambda gpu: [gpu.iommu] if gpu.translated else [])
    for kind, gpus in translated.items():
        yield MachineFinding(
            "warning",
            f"{gpus}: the IOMMU translates its addresses (group type {kind})",
            "host transfers can be slower, and peer transfers over PCIe can fail or hang",
            "boot with iommu=pt, or turn the IOMMU off in the BIOS",
        )
    if seen.state.iommu and not translated and not any(gpu.iommu for gpu in seen.state.gpus) and seen.state.gpus:
        yield MachineFinding(
            "note",
            "an IOMMU is on",
            "unless it passes addresses through, transfers can be slower",
            "check for iommu=pt on the kernel's command line",
        )


def _has_fabric(node: Node) -> bool:
    return any(link.a.startswith("gpu:") and link.kind.startswith(("nvlink", "xgmi")) for link in node.links)


def _cpu(seen: Examined) -> Iterator[MachineFinding]:
    slow = [governor for governor in seen.state.governors if governor in ("powersave", "conservative", "ondemand")]
    if slow:
        yield MachineFinding(
            "warning",
            f"CPU frequency governor is {', '.join(slow)}",
            "short host transfers and launches start at a low clock and vary",
            "cpupower frequency-set -g performance (as root)",
        )
    if seen.state.turbo is False:
        yield MachineFinding(
            "note", "CPU turbo is off", "one thread's memcpy is slower, but steadier", "nothing, if intended"
        )
    if seen.state.smt:
        yield MachineFinding(
            "note",
            "hyper-threads are on",
            "two threads of one core share its load and store units; more threads than cores add nothing",
            "use at most one thread per core",
        )
    online, allowed, quota = seen.state.cpus_online, seen.state.cpus_allowed, seen.state.cpu_quota
    usable = min(value for value in (online, allowed, 1 << 20) if value)
    if usable == 1 or (quota is not None and quota < 2):
        yield MachineFinding(
            "warning",
            "only one CPU",
            "the engine's host threads and the operating system share it",
            "give the container or job at least two CPUs",
        )
    elif online and allowed and allowed < online:
        yield MachineFinding(
            "note",
            f"only {allowed} of {online} CPUs may be used (affinity or control group)",
            "NUMA nodes outside cannot drive host transfers",
            "start without a CPU mask to measure the whole node",
        )
    if quota is not None and quota < usable:
        yield MachineFinding(
            "warning",
            f"a control group limits the CPU time to {quota:g} CPUs",
            "threads are paused during a measurement",
            "run without a CPU quota",
        )


def _memory(seen: Examined) -> Iterator[MachineFinding]:
    available = [b for b in (seen.state.memory_available_bytes, seen.state.memory_limit_bytes) if b is not None]
    if available and min(available) < 4 * _GIB:
        severity = "problem" if min(available) < _GIB else "warning"
        yield MachineFinding(
            severity,
            f"only {min(available) / _GIB:.1f} GiB of host memory are available",
            "large sizes will be skipped",
            "free memory, raise the limit, or ask for smaller sizes with --sizes",
        )
    if seen.state.numa_balancing and len(seen.node.of_kind("numa")) > 1:
        yield MachineFinding(
            "warning",
            "automatic NUMA balancing is on",
            "the kernel unmaps and moves pages while they are measured",
            "sysctl kernel.numa_balancing=0 (as root)",
        )
    if seen.state.transparent_huge_pages == "never":
        yield MachineFinding(
            "note",
            "transparent huge pages are off",
            "`huge` memory then needs reserved pages; chases over large buffers see more TLB misses",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)",
        )


def _gpu_settings(seen: Examined) -> Iterator[MachineFinding]:
    for _, gpus in _by(seen, lambda gpu: ["off"] if gpu.persistence is False else []).items():
        yield MachineFinding(
            "note",
            f"{gpus}: persistence mode is off",
            "the driver initialises the GPU for every process: seconds of start-up, cold clocks",
            "nvidia-smi --persistence-mode=1 (as root)",
        )
    for _, gpus in _by(seen, lambda gpu: ["mig"] if gpu.mig else []).items():
        yield MachineFinding(
            "warning",
            f"{gpus}: MIG is on",
            "a slice has a share of the memory and copy engines, and no peer access",
            "measure whole GPUs: nvidia-smi --multi-instance-gpu 0 (as root, resets the GPU)",
        )
    for _, gpus in _by(seen, lambda gpu: ["off"] if gpu.ecc is False else []).items():
        yield MachineFinding(
            "note", f"{gpus}: ECC is off", "memory figures are higher than with it", "mention it in a comparison"
        )


def _surroundings(seen: Examined) -> Iterator[MachineFinding]:
    if seen.state.virtualised:
        yield MachineFinding(
            "note",
            "this is a virtual machine",
            "the PCIe and NUMA topology may not be the real one, and neighbours may share the host",
            "compare with figures of the same instance type",
        )
    if seen.state.container:
        yield MachineFinding(
            "note",
            f"this runs in a container ({seen.state.container})",
            "limits and masks of the container apply; other containers' processes are not seen",
            "start it with the whole node's CPUs, memory and GPUs",
        )


def _missing_tools(seen: Examined) -> Iterator[MachineFinding]:
    wanted = {
        "c++": "the engine cannot be built or rebuilt",
        "cmake": "the engine cannot be built or rebuilt",
        "libnuma": "host memory cannot be bound to a NUMA node",
    }
    if seen.vendor == "cuda":
        wanted["nvcc"] = "the CUDA engine cannot be rebuilt with the system's compiler"
    if seen.vendor == "hip":
        wanted["hipcc"] = "the HIP engine cannot be built"
    for name, why in wanted.items():
        if seen.state.tools.get(name) is False:
            built = any(seen.engines.values()) and name != "libnuma"
            severity = "note" if built else "warning" if name in ("libnuma", "nvcc") else "problem"
            yield MachineFinding(
                severity, f"{name} is not installed", why, f"install {name}, or run `make run` as root"
            )


def _by(seen: Examined, key: Callable[[GpuState], Sequence[str | None]]) -> dict[str, str]:
    """{key: "gpu:0, gpu:1"}: the GPUs that a finding is true of, in one line."""
    groups: dict[str, list[str]] = {}
    for gpu in seen.state.gpus:
        for value in key(gpu):
            groups.setdefault(str(value), []).append(gpu.id)
    return {value: ", ".join(ids) for value, ids in groups.items()}


_CHECKS: tuple[Callable[[Examined], Iterator[MachineFinding]], ...] = (
    _engines,
    _interfaces,
    _neighbours,
    _clocks,
    _pcie,
    _peer_path,
    _cpu,
    _memory,
    _gpu_settings,
    _surroundings,
    _missing_tools,
)
