"""Doctor and the state it judges: recorded and made-up machines in, findings out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linkscope.machine.doctor import examine
from linkscope.machine.files import RecordedFiles
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.recording import load_recording
from linkscope.machine.state import GpuState, MachineState, build_state
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, Level

FIXTURES = Path(__file__).parents[1] / "fixtures/machines"
CUDA: dict[str, Any] = {"backend": "cuda", "devices": []}
QUIET_GPU = GpuState("gpu:0", processes=0, persistence=True, pcie_generation=5, pcie_generation_max=5)
HEALTHY = MachineState(cpus_online=64, cpus_allowed=64, memory_available_bytes=1 << 38, gpus=(QUIET_GPU,))
NODE = Node(
    "one GPU",
    (Device("numa:0", "numa"), Device("numa:1", "numa"), Device("gpu:0", "gpu", name="NVIDIA H200")),
    (Link("gpu:0", "numa:0", "pcie", 63.0),),
)


def findings(state: MachineState, node: Node = NODE, **engines: dict[str, Any] | None) -> list[Finding]:
    return examine(node, state, engines or {"cuda": CUDA})


def gpu(**changes: Any) -> MachineState:
    return replace(HEALTHY, gpus=(replace(QUIET_GPU, **changes),))


def test_a_process_on_two_gpus_is_one() -> None:
    both = replace(HEALTHY, gpus=tuple(replace(QUIET_GPU, id=name, processes=1) for name in ("gpu:0", "gpu:1")))
    (found,) = [one for one in findings(both) if one.code == "doctor.other-processes"]
    assert (found.facts["processes"], found.where) == (1, ("gpu:0", "gpu:1"))


def test_a_healthy_machine_has_no_findings() -> None:
    assert findings(HEALTHY) == []


@pytest.mark.parametrize(
    ("state", "level", "code", "facts"),
    [
        (gpu(processes=2), "error", "other-processes", {"processes": 2}),
        (gpu(memory_used_bytes=40 << 30), "warning", "memory-held", {}),
        (gpu(throttle=("thermal (hardware)",)), "warning", "throttled", {"reason": "thermal (hardware)"}),
        (gpu(power_cap_w=300.0, power_default_w=700.0), "note", "power-cap", {}),
        (gpu(pcie_lanes=8, pcie_lanes_max=16), "error", "pcie-narrow", {"lanes": 8, "most": 16}),
        (gpu(pcie_generation=1), "note", "pcie-idle", {"generation": 1, "most": 5}),
        (replace(gpu(pcie_generation=4), when="load"), "error", "pcie-slow", {"generation": 4, "most": 5}),
        (gpu(iommu="DMA-FQ"), "warning", "iommu-translates", {"kind": "DMA-FQ"}),
        (gpu(acs_redirect=True), "note", "acs", {}),
        (gpu(persistence=False), "note", "no-persistence", {}),
        (gpu(mig=True), "warning", "mig", {}),
        (gpu(ecc=False), "note", "no-ecc", {}),
        (replace(HEALTHY, iommu=True), "note", "iommu-on", {}),
        (replace(HEALTHY, governors=("powersave",)), "warning", "governor", {"governors": ["powersave"]}),
        (replace(HEALTHY, turbo=False), "note", "turbo-off", {}),
        (replace(HEALTHY, smt=True), "note", "hyper-threads", {}),
        (replace(HEALTHY, numa_balancing=True), "warning", "numa-balancing", {}),
        (replace(HEALTHY, transparent_huge_pages="never"), "note", "no-huge-pages", {}),
        (replace(HEALTHY, memory_available_bytes=1 << 29), "error", "little-memory", {"available": 1 << 29}),
        (replace(HEALTHY, memory_limit_bytes=3 << 30), "warning", "little-memory", {"available": 3 << 30}),
        (replace(HEALTHY, cpus_online=1, cpus_allowed=1), "warning", "one-cpu", {}),
        (replace(HEALTHY, cpus_allowed=8), "note", "cpu-mask", {"allowed": 8, "online": 64}),
        (replace(HEALTHY, cpu_quota=4.0), "warning", "cpu-quota", {"quota": 4.0}),
        (replace(HEALTHY, load=40.0), "warning", "load", {"load": 40.0, "cpus": 64}),
        (replace(HEALTHY, virtualised=True), "note", "virtual-machine", {}),
        (replace(HEALTHY, container="docker"), "note", "container", {"container": "docker"}),
        (replace(HEALTHY, tools={"libnuma": False}), "warning", "no-libnuma", {}),
    ],
)
def test_one_thing_wrong_is_one_finding(state: MachineState, level: str, code: str, facts: dict[str, Any]) -> None:
    (finding,) = findings(state)
    assert (finding.level.value, finding.code, finding.facts) == (level, f"doctor.{code}", facts)
    assert len(sentence(finding)) <= 100


def test_idle_clocks_are_no_finding() -> None:
    assert findings(gpu(throttle=("idle",))) == []


def test_numa_balancing_is_harmless_on_one_numa_node() -> None:
    single = replace(NODE, devices=tuple(device for device in NODE.devices if device.id != "numa:1"))
    assert findings(replace(HEALTHY, numa_balancing=True), single) == []


def test_acs_matters_more_where_peers_meet_over_pcie() -> None:
    second = (Device("gpu:1", "gpu", name="NVIDIA L40"),)
    over_pcie = replace(NODE, devices=NODE.devices + second, links=(*NODE.links, Link("gpu:1", "numa:0", "pcie", 31.5)))
    linked = replace(over_pcie, links=(*over_pcie.links, Link("gpu:0", "gpu:1", "nvlink", 50.0)))
    assert findings(gpu(acs_redirect=True), over_pcie)[0].level is Level.WARNING
    assert findings(gpu(acs_redirect=True), linked)[0].level is Level.NOTE


def test_one_line_names_all_gpus_concerned() -> None:
    both = replace(HEALTHY, gpus=(replace(QUIET_GPU, mig=True), replace(QUIET_GPU, id="gpu:1", mig=True)))
    (finding,) = findings(both)
    assert finding.where == ("gpu:0", "gpu:1")


def test_no_engine() -> None:
    found = findings(HEALTHY, host=None, cuda=None)
    assert [(f.level, f.code) for f in found] == [
        (Level.ERROR, "doctor.no-engine"),
        (Level.ERROR, "doctor.no-gpu-engine"),
    ]
    assert found[1].facts == {"engine": "cuda"}


def test_an_engine_without_a_usable_gpu() -> None:
    (finding,) = findings(HEALTHY, cuda={**CUDA, "problem": "no CUDA-capable device is detected"})
    assert finding.level is Level.ERROR
    assert finding.facts == {"engine": "cuda", "problem": "no CUDA-capable device is detected"}


def test_a_missing_compiler_matters_less_where_an_engine_is_built() -> None:
    without = replace(HEALTHY, tools={"c++": False})
    assert findings(without)[0].level is Level.NOTE
    assert {f.level for f in findings(without, host=None)} == {Level.ERROR}


def test_findings_come_gravest_first() -> None:
    state = replace(gpu(processes=1, persistence=False, mig=True), numa_balancing=True, virtualised=True)
    found = findings(state)
    assert [finding.level.value for finding in found] == ["error", "warning", "warning", "note", "note"]


@pytest.mark.parametrize("name", ["frontier", "h200-nvswitch"])
def test_state_survives_a_run_file(name: str) -> None:
    state = load_recording(FIXTURES / f"{name}.json").state()
    assert MachineState.from_json(json.loads(json.dumps(state.to_json()))) == state


def test_state_of_the_constructed_h200_node() -> None:
    recording = load_recording(FIXTURES / "h200-nvswitch.json")
    state = recording.state()
    assert state.versions["driver"] == "580.0"
    assert [g.throttle for g in state.gpus] == [("idle",)] * 4
    assert (state.gpus[0].pcie_generation, state.gpus[0].pcie_lanes, state.gpus[0].ecc) == (5, 16, True)
    assert findings(state, recording.node()) == []


KEPT = ("iommu=pt", "intel_idle.max_cstate=1")
"""Of a command line, what moves transfers."""


def test_state_from_files() -> None:
    files = RecordedFiles(
        texts={
            "/proc/cpuinfo": "flags\t\t: fpu hypervisor sse",
            "/proc/meminfo": "MemTotal:  8 kB\nMemAvailable:  4 kB\nHugePages_Free:     3",
            "/proc/loadavg": "1.50 1 1 1/2 3",
            "/proc/cmdline": "root=/dev/secret iommu=pt --listen 4.5.6.7 intel_idle.max_cstate=1 console=ttyS0",
            "/proc/self/status": "Cpus_allowed_list:\t0-1",
            "/sys/devices/system/cpu/online": "0-3",
            "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave",
            "/sys/devices/system/cpu/intel_pstate/no_turbo": "1",
            "/sys/devices/system/cpu/smt/active": "1",
            "/sys/fs/cgroup/cpu.max": "150000 100000",
            "/sys/fs/cgroup/memory.max": "max",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
            "/proc/1/cgroup": "0::/kubepods/x",
        },
        listings={"/sys/class/iommu": ["dmar0"]},
    )
    state = build_state({"devices": []}, files, {})
    assert (state.virtualised, state.container, state.iommu) == (True, "kubepods", True)
    assert (state.governors, state.turbo, state.smt) == (("powersave",), False, True)
    assert (state.cpus_online, state.cpus_allowed, state.cpu_quota) == (4, 2, 1.5)
    assert (state.memory_available_bytes, state.memory_limit_bytes, state.huge_pages_free) == (4096, None, 3)
    assert (state.load, state.transparent_huge_pages, state.boot_options) == (1.5, "madvise", KEPT)


def test_nothing_readable_is_nothing_known() -> None:
    state = build_state({"devices": []}, RecordedFiles(), {})
    assert (state.turbo, state.numa_balancing, state.cpu_quota, state.virtualised, state.load) == (None,) * 5
    assert findings(state, Node("nothing", (), ()), host={}) is not None


def test_libraries_loaded_at_run_time_that_are_missing_are_notes_with_what_to_do() -> None:
    def method(name: str, reason: str | None) -> dict[str, Any]:
        return {"name": name, "available": reason is None, **({"reason": reason} if reason else {})}

    absent = "no MPI library: looked for libmpi_abi.so"
    methods = [method("mpi", absent), method("mpi-collective", absent), method("stream", "no")]
    methods += [method("torch-copy", None), method("torch-mpi", "mpi4py is not installed")]
    found = findings(MachineState(), cuda={**CUDA, "methods": methods})
    assert {finding.level for finding in found} == {Level.NOTE}
    assert [(finding.code, finding.facts["methods"]) for finding in found] == [
        ("doctor.no-mpi", ["mpi", "mpi-collective"]),
        ("doctor.no-torch", ["torch-mpi"]),
    ]
