"""State: what of the machine can change between two runs and move a figure. Read, never changed."""

from __future__ import annotations

import ctypes.util
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from linkscope.machine import kernel_log, nvml, sysfs
from linkscope.machine.files import Files, LiveFiles, boot_options
from linkscope.machine.health import Health, build_health, with_log

CPU = sysfs.CPUS
_HARMLESS_THROTTLE = {"idle", "application clocks", "display clocks", "sync boost"}


@dataclass(frozen=True)
class GpuState:
    """One GPU. Clocks in MHz, power in W, memory in bytes, ``busy`` a share of the last second; None where nobody says.

    ``throttle``: why the clock is held below its maximum, in words. ``processes``: others than this one.
    ``pcie_*``: as read at that moment (an idle GPU may lower the generation). ``iommu``: type of its group.
    ``fabric``: how far its registration with the NVLink fabric is; ``fabric_faults``: what that says is wrong;
    ``clique`` and ``cluster`` (a hash): GPUs that agree in both reach one another.
    """

    id: str
    name: str = ""
    clock_mhz: int | None = None
    clock_max_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle: tuple[str, ...] = ()
    power_w: float | None = None
    power_cap_w: float | None = None
    power_default_w: float | None = None
    temperature_c: int | None = None
    persistence: bool | None = None
    ecc: bool | None = None
    mig: bool | None = None
    compute_mode: int | None = None
    processes: int | None = None
    memory_used_bytes: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_lanes: int | None = None
    pcie_lanes_max: int | None = None
    iommu: str | None = None
    acs_redirect: bool | None = None
    busy: float | None = None
    bar1_bytes: int | None = None
    bar1_used_bytes: int | None = None
    fabric: str | None = None
    fabric_status: int | None = None
    fabric_faults: tuple[str, ...] = ()
    clique: int | None = None
    cluster: str | None = None

    @property
    def slowed_by(self) -> tuple[str, ...]:
        """Return what throttles its clock and is no choice of somebody's."""
        return tuple(reason for reason in self.throttle if reason not in _HARMLESS_THROTTLE)

    @property
    def capped(self) -> bool:
        """Return whether its power limit is below the default."""
        cap, default = self.power_cap_w, self.power_default_w
        return cap is not None and default is not None and cap < default

    @property
    def lanes_lacking(self) -> tuple[int, int] | None:
        """Return PCIe lanes, (8, 16) of 8 of 16, where it has fewer than it could."""
        return _below(self.pcie_lanes, self.pcie_lanes_max)

    @property
    def generation_lacking(self) -> tuple[int, int] | None:
        """Return the PCIe generation, (3, 5) of 3 of 5, where it is lower than it could be."""
        return _below(self.pcie_generation, self.pcie_generation_max)

    @property
    def translated(self) -> bool:
        """Return whether the IOMMU translates its addresses."""
        return (self.iommu or "").startswith("DMA")

    @staticmethod
    def from_json(data: dict[str, Any]) -> GpuState:
        """Names it does not know are left out."""
        known: dict[str, Any] = {f.name: data[f.name] for f in fields(GpuState) if f.name in data}
        return GpuState(**{**known, **{name: tuple(known.get(name, ())) for name in ("throttle", "fabric_faults")}})


def _below(value: int | None, limit: int | None) -> tuple[int, int] | None:
    return (value, limit) if value and limit and value < limit else None


@dataclass(frozen=True)
class MachineState:
    """The whole machine at one moment. ``when``: idle, load. ``boot_options``: those that move transfers.

    ``at_s``: the moment, since 1970. ``cpu_busy_s``: what all CPUs worked since the machine started; ``own_cpu_s``:
    what this process and those that it has waited for did of it. Bytes, counts, words; None where nobody says.
    """

    when: str = "idle"
    kernel: str | None = None
    architecture: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    boot_options: tuple[str, ...] = ()
    governors: tuple[str, ...] = ()
    turbo: bool | None = None
    smt: bool | None = None
    numa_balancing: bool | None = None
    transparent_huge_pages: str | None = None
    huge_pages_free: int | None = None
    cpus_online: int | None = None
    cpus_allowed: int | None = None
    cpu_quota: float | None = None
    memory_available_bytes: int | None = None
    memory_limit_bytes: int | None = None
    load: float | None = None
    virtualised: bool | None = None
    container: str | None = None
    iommu: bool | None = None
    tools: Mapping[str, bool] = field(default_factory=dict)
    gpus: tuple[GpuState, ...] = ()
    at_s: float | None = None
    cpu_busy_s: float | None = None
    own_cpu_s: float | None = None
    health: Health = field(default_factory=Health)

    @property
    def others_cpu_s(self) -> float | None:
        """Return the CPU seconds of other programs; only differences between states of one process are meaningful."""
        return None if self.cpu_busy_s is None or self.own_cpu_s is None else self.cpu_busy_s - self.own_cpu_s

    def to_json(self) -> dict[str, Any]:
        """For the run file's header and state records."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> MachineState:
        """The inverse of ``to_json``; names it does not know are left out."""
        known = {f.name: data[f.name] for f in fields(MachineState) if f.name in data}
        gpus = tuple(GpuState.from_json(gpu) for gpu in known.pop("gpus", ()))
        known["health"] = Health.from_json(known.get("health", {}))
        for name in ("boot_options", "governors"):
            known[name] = tuple(known.get(name, ()))
        return MachineState(**known, gpus=gpus)


def read_state(
    description: dict[str, Any], root: str | Path = "/", nvml_answers: dict[str, Any] | None = None, when: str = "idle"
) -> MachineState:
    """The state of the machine whose files are below ``root``. NVML is asked unless its answers are given."""
    live = Path(root) == Path("/")
    answers = nvml_answers if nvml_answers is not None else nvml.read() if live else {}
    state = build_state(description, LiveFiles(Path(root)), answers, when)
    if not live:
        return state
    own = os.times()
    return replace(
        state,
        tools=_tools(),
        at_s=time.time(),
        own_cpu_s=own.user + own.system + own.children_user + own.children_system,
        health=with_log(state.health, kernel_log.read()),
    )


def build_state(
    description: dict[str, Any], files: Files, nvml_answers: dict[str, Any], when: str = "idle"
) -> MachineState:
    """The state from an engine's description, files and NVML's answers."""
    status = files.read("/proc/self/status") or ""
    allowed = re.search(r"Cpus_allowed_list:\s*(\S+)", status)
    online = sysfs.cpu_list(files.read(f"{CPU}/online"))
    memory = _colon_table(files.read("/proc/meminfo"))
    driver: dict[str, str] = {k: str(nvml_answers[k]) for k in ("driver", "nvml", "cuda") if k in nvml_answers}
    amdgpu = files.read("/sys/module/amdgpu/version")
    gpus = list(_gpus(description, files, nvml_answers))
    return MachineState(
        when=when,
        kernel=files.read("/proc/sys/kernel/osrelease"),
        architecture=files.read("/proc/sys/kernel/arch"),
        versions={**driver, **({"amdgpu": amdgpu} if amdgpu else {}), **description.get("versions", {})},
        boot_options=boot_options(files.read("/proc/cmdline") or ""),
        governors=_governors(files, online),
        turbo=_turbo(files),
        smt=_flag(files.read(f"{CPU}/smt/active")),
        numa_balancing=_flag(files.read("/proc/sys/kernel/numa_balancing")),
        transparent_huge_pages=_bracketed(files.read("/sys/kernel/mm/transparent_hugepage/enabled")),
        huge_pages_free=memory.get("HugePages_Free"),
        cpus_online=len(online) or None,
        cpus_allowed=len(sysfs.cpu_list(allowed.group(1))) if allowed else None,
        cpu_quota=_cpu_quota(files),
        memory_available_bytes=memory["MemAvailable"] * 1024 if "MemAvailable" in memory else None,
        memory_limit_bytes=_memory_limit(files),
        load=_load(files),
        virtualised=_virtualised(files),
        container=_container(files),
        iommu=bool(files.entries("/sys/class/iommu")),
        cpu_busy_s=_cpu_busy_s(files),
        gpus=tuple(_gpu_state(device, answers, facts) for device, answers, facts in gpus),
        health=build_health([(device["id"], answers, facts) for device, answers, facts in gpus], files),
    )


def _gpus(
    description: dict[str, Any], files: Files, nvml_answers: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any], sysfs.PcieFacts | None]]:
    """Yield each GPU as the engine describes it, with NVML's answers and PCIe's facts."""
    by_pci = {gpu.get("pci"): gpu for gpu in nvml_answers.get("gpus", ())}
    named = [d for d in description.get("devices", ()) if d["id"].startswith("gpu:")]
    for device in named or [{**gpu, "id": f"gpu:{gpu['index']}"} for gpu in by_pci.values()]:
        pci = sysfs.normal_pci(device["pci"]) if device.get("pci") else None
        yield device, by_pci.get(pci, {}), sysfs.pcie(files, pci) if pci else None


def _gpu_state(device: dict[str, Any], answers: dict[str, Any], facts: sysfs.PcieFacts | None) -> GpuState:
    told = dict(answers.get("state", {}))
    link = answers.get("pcie", {})
    counters = answers.get("counters", {})
    fabric, bar1 = counters.get("fabric", {}), counters.get("bar1", {})
    mask = told.pop("throttle_mask", None)
    names = {f.name for f in fields(GpuState)}
    return GpuState(
        id=device["id"],
        name=device.get("name", ""),
        throttle=nvml.reasons(mask),
        memory_used_bytes=answers.get("memory_used_bytes"),
        pcie_generation=link.get("generation", facts.current.generation if facts else None),
        pcie_generation_max=link.get("generation_max", facts.maximum.generation if facts else None),
        pcie_lanes=link.get("lanes", facts.current.lanes if facts else None),
        pcie_lanes_max=link.get("lanes_max", facts.maximum.lanes if facts else None),
        iommu=facts.iommu if facts else None,
        acs_redirect=facts.acs_redirect if facts else None,
        bar1_bytes=bar1.get("bytes"),
        bar1_used_bytes=bar1.get("used_bytes"),
        fabric=fabric.get("state"),
        fabric_status=fabric.get("status"),
        fabric_faults=tuple(fabric.get("faults", ())),
        clique=fabric.get("clique"),
        cluster=fabric.get("cluster"),
        **{name: value for name, value in told.items() if name in names},
    )


def _tools() -> dict[str, bool]:
    """Return what building an engine and binding memory needs, and whether it is here."""
    programs = {"c++": ("c++", "g++", "clang++"), "cmake": ("cmake",), "nvcc": ("nvcc",), "hipcc": ("hipcc",)}
    found = {name: any(map(shutil.which, names)) for name, names in programs.items()}
    found["nvcc"] = found["nvcc"] or Path("/usr/local/cuda/bin/nvcc").exists()
    return {**found, "libnuma": ctypes.util.find_library("numa") is not None}


def _governors(files: Files, online: tuple[int, ...]) -> tuple[str, ...]:
    found = {files.read(f"{CPU}/cpu{cpu}/cpufreq/scaling_governor") for cpu in online}
    return tuple(sorted(governor for governor in found if governor))


def _turbo(files: Files) -> bool | None:
    """intel_pstate says when turbo is off; cpufreq says when boost is on."""
    off = _flag(files.read(f"{CPU}/intel_pstate/no_turbo"))
    return not off if off is not None else _flag(files.read(f"{CPU}/cpufreq/boost"))


def _cpu_quota(files: Files) -> float | None:
    """CPUs' worth of time the control group may use; None: no limit."""
    words = (files.read("/sys/fs/cgroup/cpu.max") or "").split()
    if len(words) != 2:
        words = [files.read(f"/sys/fs/cgroup/cpu/cpu.cfs_{name}_us") or "" for name in ("quota", "period")]
    if not (words[0].isdigit() and words[1].isdigit()):
        return None
    return int(words[0]) / int(words[1])


def _memory_limit(files: Files) -> int | None:
    """Bytes the control group may use; None: no limit (version 1 says so with a huge number)."""
    paths = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
    text = next((found for found in map(files.read, paths) if found), "")
    return int(text) if text.isdigit() and int(text) < 1 << 60 else None


def _load(files: Files) -> float | None:
    words = (files.read("/proc/loadavg") or "").split()
    return float(words[0]) if words else None


def _cpu_busy_s(files: Files) -> float | None:
    """Seconds of work (user, nice, system and both kinds of interrupts) that the kernel counted on all CPUs."""
    words = (files.read("/proc/stat") or "").split("\n", 1)[0].split()
    if len(words) < 8 or words[0] != "cpu" or not all(word.isdigit() for word in words[1:8]):
        return None
    user, nice, system, _, _, interrupts, soft = map(int, words[1:8])
    return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")


def _virtualised(files: Files) -> bool | None:
    flags = re.search(r"^flags\s*:(.*)$", files.read("/proc/cpuinfo") or "", re.MULTILINE)
    return " hypervisor" in flags.group(1) if flags else None


def _container(files: Files) -> str | None:
    """Return what kind of container this runs in, where one left a trace."""
    if files.resolve("/.dockerenv"):
        return "docker"
    if files.resolve("/run/.containerenv"):
        return "podman"
    if files.resolve("/.singularity.d"):
        return "apptainer"
    trace = re.search(r"kubepods|docker|lxc|containerd", files.read("/proc/1/cgroup") or "")
    return trace.group() if trace else None


def _colon_table(text: str | None) -> dict[str, int]:
    """Lines "Name:  123 kB" as {Name: 123}."""
    return {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+)", text or "", re.MULTILINE)}


def _bracketed(text: str | None) -> str | None:
    """The chosen one of "always [madvise] never"."""
    chosen = re.search(r"\[(\S+)\]", text or "")
    return chosen.group(1) if chosen else None


def _flag(text: str | None) -> bool | None:
    return None if text is None or not text.isdigit() else text != "0"
