"""Setting changes: what of software, machine and measuring two runs do not have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from linkscope.machine.identity import Identity
from linkscope.machine.state import MachineState
from linkscope.results.calibration import devices_of
from linkscope.results.row import origin_name
from linkscope.results.run_stream import Run

DEVICES = "devices"
_OF_MACHINE = (
    *("kernel", "boot_options", "governors", "turbo", "smt", "numa_balancing", "transparent_huge_pages", "cpus_online"),
    *("cpus_allowed", "cpu_quota", "virtualised", "container", "iommu"),
)
_OF_GPU = (
    *("clock_max_mhz", "power_cap_w", "persistence", "ecc", "mig", "compute_mode", "pcie_generation_max", "pcie_lanes"),
    *("iommu", "acs_redirect"),
)


def setting_changes(base: Run, new: Run) -> tuple[tuple[str, str, str], ...]:
    """(what, in the base, in the new run) of versions, devices, settings and the plan's options; "-" where a run does
    not say. Of different tools' runs what both say: a tool's output says little of the machine. What varies by itself
    (clocks, load, free memory) is no setting. Another GPU is told where both runs are of one host and know theirs; on
    another host, all are.
    """
    before, after = _settings(base), _settings(new)
    names = dict.fromkeys((*before, *after))
    if origin_name(base.header) != origin_name(new.header):
        names = dict.fromkeys(name for name in names if name in before and name in after)
    pairs = [(name, before.get(name, "-"), after.get(name, "-")) for name in names]
    if before.get("host") == after.get("host"):
        were, are = _gpus(base), _gpus(new)
        pairs += [(f"{gpu} itself", were[gpu], are[gpu]) for gpu in were if gpu in are]
    return tuple((name, old, now) for name, old, now in pairs if old != now)


def _settings(run: Run) -> dict[str, str]:
    header = run.header
    found: dict[str, Any] = {"host": header.get("host"), "linkscope": header.get("version")}
    made = "modelled" if run.node.modelled else "measured"
    found["figures"] = f"imported from {tool}" if (tool := origin_name(header)) else f"{made} by linkscope"
    kinds = Counter(device.name or device.id for device in devices_of(run.node))
    found |= {DEVICES: ", ".join(f"{count} x {name}" if count > 1 else name for name, count in kinds.items())}
    found |= dict((header.get("engine") or {}).get("versions") or {})
    plan = header.get("plan") or {}
    found |= {f"option {name}": value for name, value in (plan.get("options") or {}).items()}
    found["rounds"] = plan.get("rounds")
    if header.get("state"):
        found |= _of_state(MachineState.from_json(header["state"]))
    return {name: _words(value) for name, value in found.items() if value not in (None, "", (), [], {})}


def _of_state(state: MachineState) -> dict[str, Any]:
    found: dict[str, Any] = {"driver": state.versions.get("driver")}
    found |= {name.replace("_", " "): getattr(state, name) for name in _OF_MACHINE}
    for gpu in state.gpus:
        found |= {f"{gpu.id} {name.replace('_', ' ')}": getattr(gpu, name) for name in _OF_GPU}
    return found


def _gpus(run: Run) -> dict[str, str]:
    """By what each is known again: its own number rather than its board's."""
    gpus = Identity.from_json(run.header.get("identity", {})).gpus
    known = {name: gpu.uuid or gpu.serial for name, gpu in gpus.items()}
    return {name: number for name, number in known.items() if number}


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {word}" for name, word in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)
