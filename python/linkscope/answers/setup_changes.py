"""Setup changes: what two runs do not have in common in software, machine and the way of measuring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from linkscope.answers.health import held_down
from linkscope.figures.run import Run
from linkscope.machine.health_notes import works_unseen
from linkscope.machine.identity import Identity
from linkscope.results.row import origin_name

DEVICES = "devices"
"""The setting that says which devices there are."""
_OF_MACHINE = (
    *("kernel", "boot_options", "governors", "turbo", "smt", "numa_balancing", "transparent_huge_pages", "cpus_online"),
    *("cpus_allowed", "cpu_quota", "virtualised", "container", "iommu"),
)
_OF_GPU = (
    *("clock_max_mhz", "power_cap_w", "persistence", "ecc", "mig", "compute_mode", "pcie_generation_max", "iommu"),
    "acs_redirect",
)
_SAID_LATELY = ("bar1_bytes", "clique", "fabric")
"""Settings of GPUs that runs of older versions do not say: they differ where both runs say them alone."""
_CALLERS = {
    **{"MPI": "by_mpi", "MPI library": "by_mpi", "nccl": "by_xccl", "rccl": "by_xccl"},
    **dict.fromkeys(("PyTorch", "NCCL of PyTorch", "CUDA of PyTorch", "NIXL", "NVSHMEM"), "by_python"),
}
"""Library -> trait of the methods that call it."""
_ABSENT = "-"
_Key = tuple[str, str]
"""Device and setting."""


@dataclass(frozen=True)
class SetupChange:
    """A setting that differs. ``device``: "gpu:1", "gpu:0<>gpu:1" of a link between two, "" of the whole machine.
    ``setting``: what names.toml names. ``base`` and ``new``: "-" where a run does not say."""

    device: str
    setting: str
    base: str
    new: str


def setup_changes(base: Run, new: Run, methods: Collection[str]) -> list[SetupChange]:
    """Return what differs in versions, devices, links, settings and the plan's options.

    What varies by itself (clocks, load, free memory) is no setting, nor is a library that none of ``methods`` calls.
    Runs of different tools say little of the machine: only what both say counts. Another GPU under the same id counts
    where both runs are of one host.
    """
    before, after = _settings(base), _settings(new)
    if origin_name(base.header) != origin_name(new.header):
        before, after = ({key: one[key] for key in one if key in before and key in after} for one in (before, after))
    if before.get(("", "host")) == after.get(("", "host")):
        were, are = _gpus(base), _gpus(new)
        before |= {key: were[key] for key in were.keys() & are.keys()}
        after |= {key: are[key] for key in were.keys() & are.keys()}
    lately = {key for key in before.keys() ^ after.keys() if key[1] in _SAID_LATELY}
    before, after = ({key: one[key] for key in one if key not in lately} for one in (before, after))
    called = [traits for run in (base, new) for name, traits in run.traits.items() if name in methods]
    unused = {name for name, trait in _CALLERS.items() if not any(getattr(traits, trait) for traits in called)}
    return [change for change in _differing(before, after) if change.setting not in unused]


def disturbances(base: Run, new: Run) -> list[SetupChange]:
    """Return what differs in the state that GPUs were in: throttling, other processes, the PCIe link as trained."""
    return _differing(_states(base), _states(new))


def _differing(before: Mapping[_Key, str], after: Mapping[_Key, str]) -> list[SetupChange]:
    pairs = ((key, before.get(key, _ABSENT), after.get(key, _ABSENT)) for key in dict.fromkeys((*before, *after)))
    return [SetupChange(*key, old, new) for key, old, new in pairs if old != new]


def _settings(run: Run) -> dict[_Key, str]:
    header, plan = run.header, run.header.get("plan") or {}
    tool = origin_name(header)
    kinds = Counter(device.name or device.id for device in run.node.devices)
    found: dict[_Key, Any] = {("", "host"): header.get("host"), ("", "linkscope"): header.get("version")}
    found["", "source"] = tool or ("model" if run.node.modelled else "linkscope")
    found["", DEVICES] = [f"{count} x {name}" if count > 1 else name for name, count in kinds.items()]
    found |= {("", name): value for name, value in ((header.get("engine") or {}).get("versions") or {}).items()}
    found |= {("", name): value for name, value in (plan.get("options") or {}).items()}
    rounds = plan.get("rounds")
    found["", "rounds"] = f"{rounds.get('least')}-{rounds.get('most')}" if isinstance(rounds, Mapping) else rounds
    if run.states:
        state = run.states[0]
        found["", "driver"] = state.versions.get("driver")
        found |= {("", name): getattr(state, name) for name in _OF_MACHINE}
        found |= {(gpu.id, name): getattr(gpu, name) for gpu in state.gpus for name in (*_OF_GPU, *_SAID_LATELY)}
        found |= {(gpu.id, "fabric"): (gpu.fabric, *gpu.fabric_faults) for gpu in state.gpus if gpu.fabric}
    found |= _links(run)
    return {key: _words(value) for key, value in found.items() if value not in (None, "", (), [], {})}


def _links(run: Run) -> dict[_Key, Any]:
    """Return what is known of the width of links, by the GPUs that they end at and their kind."""
    lanes, tiers = Counter[_Key](), dict[_Key, str]()
    for link in run.node.links:
        ends = [end for end in (link.a, link.b) if end.startswith("gpu:")]
        key = "<>".join(sorted(dict.fromkeys(ends))) or f"{link.a}<>{link.b}", f"links-{link.kind}"
        lanes[key] += link.lanes or 0
        tiers[key] = link.tier or str(link.peak_gbps or "")
    return {key: str(lanes[key]) if lanes[key] else tier for key, tier in tiers.items()}


def _states(run: Run) -> dict[_Key, str]:
    """Return of all readings of each GPU's state the throttling and the processes that any saw, whether it worked for
    others that nobody sees, and the widest and fastest PCIe link, which idle GPUs lower."""
    found: dict[_Key, str] = {}
    held = held_down(run)
    for gpu in {gpu.id: gpu for state in run.states for gpu in state.gpus}:
        read = [one for state in run.states for one in state.gpus if one.id == gpu]
        throttled = [tuple(held.get(gpu, ())), *(one.slowed_by for one in read)]
        found[gpu, "throttled"] = ", ".join(next(filter(None, reversed(throttled)), ("no",)))
        found[gpu, "unseen"] = _words(works_unseen(read[0]))
        found[gpu, "processes"] = str(max(one.processes or 0 for one in read))
        for name in ("pcie_generation", "pcie_lanes"):
            values = [value for one in read if (value := getattr(one, name)) is not None]
            found |= {(gpu, name): str(max(values))} if values else {}
    return found


def _gpus(run: Run) -> dict[_Key, str]:
    """Return by what each GPU is known again: its number rather than its board's."""
    gpus = Identity.from_json(run.header.get("identity", {})).gpus
    return {(name, "identity"): number for name, gpu in gpus.items() if (number := gpu.uuid or gpu.serial)}


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
