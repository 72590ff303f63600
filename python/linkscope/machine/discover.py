"""Discover: this machine's Node, from what the engine, the kernel and the vendors' libraries say.

Nothing here touches the machine directly: files come through Files, NVML through its dict (nvml.read), so a
recording (recording.py) gives the same Node anywhere.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linkscope.machine import kfd, nvml, sysfs
from linkscope.machine.files import Files, LiveFiles
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.nominal import NVSWITCH

_XGMI_TIERS = {1: "single", 2: "dual", 4: "quad"}  # the papers' words


def discover(description: dict[str, Any], root: str | Path = "/", nvml_answers: dict[str, Any] | None = None) -> Node:
    """The Node of the machine whose engine printed ``description`` and whose files are below ``root``.

    NVML is asked on the live machine unless its answers are given. Never raises for what is missing: the
    Node then holds less, and ``notes`` says what and why.
    """
    live = Path(root) == Path("/")
    answers = nvml_answers if nvml_answers is not None else nvml.read() if live else {"problem": "not recorded"}
    return build_node(description, LiveFiles(Path(root)), answers)


def build_node(description: dict[str, Any], files: Files, nvml_answers: dict[str, Any]) -> Node:
    """The Node from an engine's description, files and NVML's answers."""
    numa = _numa_devices(description, files)
    sources = _Sources(
        files=files,
        nvml_by_pci={gpu["pci"]: gpu for gpu in nvml_answers.get("gpus", ()) if "pci" in gpu},
        kfd_nodes=kfd.read(files),
        numa_ids=tuple(device.id for device in numa),
    )
    gpus = [_gpu_device(device, sources) for device in _gpus_named(description, sources)]
    gpus = _with_packages(gpus, sources)
    links = [
        *_host_fabric(numa, files),
        *_nvlinks(gpus, sources),
        *_xgmi(gpus, sources),
        *_host_links(gpus, sources),
    ]
    switches = _switches(links, gpus)
    problem = description.get("problem") or ("" if sources.kfd_nodes else nvml_answers.get("problem"))
    notes = [problem] if gpus and problem else []
    if gpus and not any(link.a.startswith("gpu") and link.b.startswith(("gpu", "switch:nv")) for link in links):
        notes.append("no direct link between GPUs found: their traffic goes over PCIe and the host")
    return Node(_node_name(gpus, files), (*numa, *gpus, *switches), tuple(links), notes=tuple(notes))


@dataclass(frozen=True)
class _Sources:
    files: Files
    nvml_by_pci: dict[str, dict[str, Any]]
    kfd_nodes: tuple[kfd.KfdNode, ...]
    numa_ids: tuple[str, ...]

    def kfd_of(self, gpu: Device) -> kfd.KfdNode | None:
        return next((node for node in self.kfd_nodes if node.is_gpu and node.pci == gpu.pci), None)

    def numa_of_kfd(self, index: int) -> str | None:
        """KFD numbers its CPU nodes in NUMA order."""
        cpus = [node.index for node in self.kfd_nodes if not node.is_gpu]
        order = cpus.index(index) if index in cpus else len(self.numa_ids)
        return self.numa_ids[order] if order < len(self.numa_ids) else None

    def nvml_of(self, gpu: Device) -> dict[str, Any]:
        return self.nvml_by_pci.get(gpu.pci or "", {})


def _numa_devices(description: dict[str, Any], files: Files) -> list[Device]:
    """The engine's NUMA nodes where it lists any (it knows which it can allocate on), else the kernel's."""
    known = {facts.index: facts for facts in sysfs.numa_nodes(files)}
    listed = {int(d["id"].split(":")[1]): d for d in description.get("devices", ()) if d["id"].startswith("numa:")}
    model = _cpu_model(files)
    devices = []
    for index in sorted(listed or {i for i, f in known.items() if f.memory_bytes or f.cpus} or {0}):
        facts, named = known.get(index), listed.get(index, {})
        devices.append(
            Device(
                id=f"numa:{index}",
                kind="numa",
                name=model or named.get("name", ""),
                # The kernel's table counts what it has taken over by now: of a machine that grows, a part.
                memory_bytes=max(facts.memory_bytes or 0 if facts else 0, named.get("memory_bytes") or 0) or None,
                package=facts.package if facts else None,
                cpus=(facts.cpus if facts else ()) or tuple(named.get("cpus", ())),
                attributes=dict(named.get("attributes", {})),
            )
        )
    return devices


def _gpus_named(description: dict[str, Any], sources: _Sources) -> list[dict[str, Any]]:
    """The engine's GPUs; without an engine for them, those that NVML or KFD name, in PCI order."""
    listed = [d for d in description.get("devices", ()) if d["id"].startswith("gpu:")]
    if listed:
        return sorted(listed, key=lambda d: int(d["id"].split(":")[1]))
    named = [
        {"name": gpu.get("name", "NVIDIA GPU"), "pci": pci, "memory_bytes": gpu.get("memory_bytes")}
        for pci, gpu in sources.nvml_by_pci.items()
    ]
    named += [{"name": n.architecture or "AMD GPU", "pci": n.pci} for n in sources.kfd_nodes if n.is_gpu and n.pci]
    return [{**gpu, "id": f"gpu:{i}"} for i, gpu in enumerate(sorted(named, key=lambda gpu: str(gpu["pci"])))]


def _gpu_device(named: dict[str, Any], sources: _Sources) -> Device:
    pci = sysfs.normal_pci(named["pci"]) if named.get("pci") else None
    gpu = Device(id=named["id"], kind="gpu", name=named["name"], memory_bytes=named.get("memory_bytes"), pci=pci)
    node = sources.kfd_of(gpu)
    affinity = sysfs.pcie(sources.files, pci).numa if pci else None
    if node is not None:
        homes = [sources.numa_of_kfd(link.target) for link in node.links if link.is_direct]
        affinity = next((int(home.split(":")[1]) for home in homes if home), affinity)
    if affinity is None and named.get("numa", -1) >= 0:
        affinity = named["numa"]
    if affinity is None and len(sources.numa_ids) == 1:
        affinity = int(sources.numa_ids[0].split(":")[1])
    return replace(
        gpu,
        memory_gbps=nvml.memory_gbps(sources.nvml_of(gpu)) or (node.memory_gbps if node else None),
        numa=affinity,
        attributes=dict(named.get("attributes", {})),
    )


def _with_packages(gpus: list[Device], sources: _Sources) -> list[Device]:
    """Two MI250X dies (gfx90a) joined by four links sit on one module; elsewhere a GPU is its own package."""
    module: dict[str, int] = {}
    for link in _xgmi(gpus, sources):
        node = sources.kfd_of(next(gpu for gpu in gpus if gpu.id == link.a))
        if node is not None and node.architecture == "gfx90a" and link.lanes == 4:
            module[link.a] = module[link.b] = len(set(module.values()))
    return [replace(gpu, package=module.get(gpu.id)) for gpu in gpus]


def _host_fabric(numa: list[Device], files: Files) -> list[Link]:
    """Every pair of NUMA nodes: inside a socket or between sockets. The kernel knows distances, not rates."""
    vendor = re.search(r"vendor_id\s*:\s*(\w+)", files.read("/proc/cpuinfo") or "")
    between = {"GenuineIntel": "upi", "AuthenticAMD": "xgmi-cpu"}.get(vendor.group(1) if vendor else "", "inter-socket")
    distances = {facts.index: facts.distances for facts in sysfs.numa_nodes(files)}
    links = []
    for i, a in enumerate(numa):
        for b in numa[i + 1 :]:
            same = a.package is not None and a.package == b.package
            distance = distances.get(int(a.id[5:]), {}).get(int(b.id[5:]))
            detail = f"NUMA distance {distance}" if distance else ""
            links.append(Link(a.id, b.id, "on-die" if same else between, detail=detail))
    return links


def _nvlinks(gpus: list[Device], sources: _Sources) -> list[Link]:
    """Lanes counted from each GPU and bundled by what they reach: a GPU, a CPU, or the switches as one vertex."""
    by_pci = {gpu.pci: gpu.id for gpu in gpus if gpu.pci}
    bundles: dict[tuple[str, str], list[nvml.NvLink]] = {}
    for gpu in gpus:
        for lane in nvml.links(sources.nvml_of(gpu)):
            far = by_pci.get(lane.remote_pci or "") or (f"numa:{gpu.numa}" if lane.remote == "cpu" else NVSWITCH)
            if far in by_pci.values() and (far, gpu.id) in bundles:
                continue  # already counted from the other end
            bundles.setdefault((gpu.id, far), []).append(lane)
    return [
        Link(
            a=near,
            b=far,
            kind="nvlink",
            peak_gbps=None if any(lane.gbps is None for lane in lanes) else sum(lane.gbps or 0.0 for lane in lanes),
            lanes=len(lanes),
            tier=f"nvlink-{len(lanes)}",
            detail=f"NVLink {lanes[0].generation}" if lanes[0].generation else "",
        )
        for (near, far), lanes in bundles.items()
    ]


def _xgmi(gpus: list[Device], sources: _Sources) -> list[Link]:
    """Direct xGMI bundles between GPUs, once per pair."""
    by_index = {node.index: gpu.id for gpu in gpus if (node := sources.kfd_of(gpu)) is not None}
    links: dict[frozenset[str], Link] = {}
    for node in sources.kfd_nodes:
        for way in node.links:
            near, far = by_index.get(way.source), by_index.get(way.target)
            if near is None or far is None or way.type != kfd.TYPE_XGMI or not way.is_direct:
                continue
            tier = _XGMI_TIERS.get(way.lanes or 0, f"xgmi-{way.lanes}" if way.lanes else "xgmi")
            link = Link(near, far, "xgmi", way.peak_gbps, way.lanes, tier)
            links.setdefault(frozenset((near, far)), link)
    return list(links.values())


def _host_links(gpus: list[Device], sources: _Sources) -> list[Link]:
    """Each GPU to its NUMA node: xGMI where KFD says so, else PCIe, over a switch where GPUs share a root port."""
    facts = {gpu.id: sysfs.pcie(sources.files, gpu.pci) for gpu in gpus if gpu.pci}
    sharing = Counter(fact.upstream[0] for fact in facts.values() if len(fact.upstream) > 1)
    links: list[Link] = []
    uplinks: dict[str, Link] = {}
    for gpu in gpus:
        host = f"numa:{gpu.numa}" if f"numa:{gpu.numa}" in sources.numa_ids else sources.numa_ids[0]
        direct = _xgmi_to_host(gpu, host, sources)
        if direct is not None:
            links.append(direct)
            continue
        upstream = facts[gpu.id].upstream if gpu.id in facts else ()
        port = upstream[0] if upstream and sharing[upstream[0]] > 1 else None
        far = f"switch:pcie-{port}" if port else host
        links.append(_pcie_link(gpu, far, facts.get(gpu.id), sources.nvml_of(gpu)))
        if port:
            width = sysfs.link_of_bridge(sources.files, port)
            uplinks[port] = Link(far, host, "pcie", width.gbps, width.lanes, _pcie_tier(width), "shared uplink")
    return [*links, *uplinks.values()]


def _xgmi_to_host(gpu: Device, host: str, sources: _Sources) -> Link | None:
    node = sources.kfd_of(gpu)
    ways = [w for w in node.links if w.type == kfd.TYPE_XGMI and sources.numa_of_kfd(w.target) == host] if node else []
    if node is None or not ways:
        return None
    way = ways[0]
    if way.weight == kfd.WEIGHT_IN_PACKAGE:
        return Link(gpu.id, host, "on-package", gpu.memory_gbps, tier="on-package")  # one memory, nothing in between
    peak = kfd.CPU_LINK_GBPS.get(node.architecture or "", way.peak_gbps)
    return Link(gpu.id, host, "xgmi-cpu", peak, way.lanes, "cpu")


def _pcie_link(gpu: Device, far: str, facts: sysfs.PcieFacts | None, answers: dict[str, Any]) -> Link:
    """The most the link can do: kernel's and NVML's maxima, the smaller; what it does now stands in ``detail``."""
    asked = answers.get("pcie", {})
    generations = [facts.maximum.generation if facts else None, asked.get("generation_max")]
    lanes = [facts.maximum.lanes if facts else None, asked.get("lanes_max")]
    width = sysfs.PcieWidth(
        min((g for g in generations if g), default=None),
        min((n for n in lanes if n), default=None),
    )
    now = facts.current if facts else sysfs.PcieWidth(None, None)
    now = sysfs.PcieWidth(asked.get("generation", now.generation), asked.get("lanes", now.lanes))
    detail = f"now generation {now.generation} x{now.lanes}" if now.generation and now != width else ""
    return Link(gpu.id, far, "pcie", width.gbps, width.lanes, _pcie_tier(width), detail)


def _pcie_tier(width: sysfs.PcieWidth) -> str:
    return f"pcie{width.generation}-x{width.lanes}" if width.gbps else "pcie"


def _switches(links: list[Link], gpus: list[Device]) -> list[Device]:
    ids = dict.fromkeys(end for link in links for end in (link.a, link.b) if end.startswith("switch:"))
    return [Device(id=i, kind="switch", name="NVSwitch" if i == NVSWITCH else "PCIe switch") for i in ids]


def _cpu_model(files: Files) -> str:
    model = re.search(r"^(?:model name|cpu)\s*:\s*(.+)$", files.read("/proc/cpuinfo") or "", re.MULTILINE)
    return model.group(1).strip() if model else ""


def _node_name(gpus: list[Device], files: Files) -> str:
    if not gpus:
        return _cpu_model(files) or "host without a GPU"
    return " + ".join(f"{count} x {name}" for name, count in Counter(gpu.name for gpu in gpus).items())
