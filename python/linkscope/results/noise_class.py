"""Noise class: what a case's bytes pass, and so which noise its results share with others."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from linkscope.machine.traits import memory_traits, method_traits
from linkscope.statistics.modes import FEWEST_PROCESSES

Json = dict[str, Any]

LARGE = 64 << 20
"""Bytes from which a copy's start and end no longer count."""
_FEWEST_OF_HOST = 6


class NoiseClass(IntEnum):
    """Classes in order: of a case whose flows differ in class, the last counts.

    ``FLAG``: flags between GPUs, whose time goes with where their memory lies. ``WAITED``: of GPUs, by the host's
    clock.
    """

    GPU_LARGE = 0
    GPU = 1
    FLAG = 2
    PINNED = 3
    WAITED = 4
    PAGEABLE = 5
    CPU = 6
    PROCESSES = 7

    @property
    def key(self) -> str:
        """Return the name in files and JSON: "gpu-large"."""
        return self.name.lower().replace("_", "-")

    @property
    def fewest_of_two_speeds(self) -> int:
        """Return from how many processes on these can show two speeds: what the host adds (waits, what others leave of
        caches and memory) makes a few of them look like two."""
        return FEWEST_PROCESSES if self < NoiseClass.WAITED else _FEWEST_OF_HOST


def noise_class(case: Json) -> NoiseClass:
    """Return the class of a plan's case, by its measured flows (devices, memories, bytes and their traits) and its
    clock."""
    measured = [flow for flow in case["flows"] if flow.get("role", "measured") == "measured"]
    if int(case.get("processes", 1)) > 1 or any("members" in flow for flow in measured):
        return NoiseClass.PROCESSES
    found = max(_of_flow(case, flow) for flow in measured)
    return NoiseClass.WAITED if found <= NoiseClass.PINNED and case.get("clock") == "host" else found


def _of_flow(case: Json, flow: Json) -> NoiseClass:
    ends = [flow[end] for end in ("source", "destination") if end in flow]
    devices = {flow["executor"], *(end["device"] for end in ends)}
    if not any(_on_gpu(device) for device in devices):
        return NoiseClass.CPU
    if all(_on_gpu(device) for device in devices):
        if method_traits(case, flow["method"]).dependent and "destination" in flow:
            return NoiseClass.FLAG
        return NoiseClass.GPU_LARGE if _pushed_large(flow) or _chase(case, flow) else NoiseClass.GPU
    locked = all(_locked(case, end["memory"]) for end in ends if not _on_gpu(end["device"]))
    return NoiseClass.PINNED if locked else NoiseClass.PAGEABLE


def _on_gpu(device: str) -> bool:
    return device.startswith("gpu:")


def _pushed_large(flow: Json) -> bool:
    """Return whether a GPU writes much to another's memory from its own."""
    if "destination" not in flow or flow["bytes"] < LARGE:
        return False
    source = flow.get("source", {}).get("device", flow["executor"])
    return bool(source == flow["executor"] != flow["destination"]["device"])


def _chase(case: Json, flow: Json) -> bool:
    """Return whether a flow is a walk through memory that stays where it is."""
    traits = method_traits(case, flow["method"])
    return traits.dependent and not traits.migrates and "destination" not in flow


def _locked(case: Json, memory: str) -> bool:
    """Return whether a driver has locked the pages, so that GPUs reach them without the system's help."""
    traits = memory_traits(case, memory)
    return traits.registered or traits.touched_by_driver
