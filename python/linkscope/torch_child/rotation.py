"""Rotation: through how much memory calls must cycle so that no cache serves them."""

from __future__ import annotations

from collections.abc import Iterable

from linkscope.torch_child import installation, system
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import FlowDevice, Regime

_TURNS_OF_GPU_CACHE = 8  # a GPU's does not evict the oldest line first (engine/backend/gpu/gpu_method.cpp)
_TURNS_OF_CPU_CACHE = 2
_UNKNOWN_GPU_CACHE_BYTES = 128 << 20  # no less than any has
_MOST_SLOTS = 1 << 16
ONE_SLOT = "repeats one slot: caches may serve it"
"""For rows of rotated calls that have the same memory every time; the engine's own words (engine/run/executor.cpp)."""


def slots(regime: Regime, size: int, devices: Iterable[FlowDevice]) -> tuple[int, list[str]]:
    """Pieces of ``size`` bytes that calls take in turn, and remarks on that for the row. Raises ChildError."""
    if regime.cache == "flushed":
        raise unsupported("PyTorch cannot flush caches; warm or rotated")
    if regime.cache == "warm" or size == 0:
        return 1, []
    through = max(
        _TURNS_OF_GPU_CACHE * (installation.l2_bytes(device.index) or _UNKNOWN_GPU_CACHE_BYTES)
        if device.kind == "gpu"
        else _TURNS_OF_CPU_CACHE * system.largest_cache_bytes(device.index)
        for device in devices
    )
    wanted = max(1, -(-through // size))
    if wanted <= _MOST_SLOTS:
        return wanted, []
    return _MOST_SLOTS, [f"rotated through {_MOST_SLOTS} tensors only: caches hold a part of them"]
