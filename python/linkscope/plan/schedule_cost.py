"""Schedule cost: what a schedule of a plan roughly takes, for estimates of time alone."""

from __future__ import annotations

from collections import Counter
from typing import Any

from linkscope.workload.halo import GUARD, WORD
from linkscope.workload.particles import HEADER, PARTICLE

Json = dict[str, Any]

_MESSAGE_S = 40e-6  # packing, sending, waiting and unpacking one, beyond its bytes
_COLLECTIVE_S = 20e-6


def transfer_s(schedule: Json, gbps: float) -> float:
    """Seconds of the whole schedule: of each phase the rank that sends most at ``gbps``, and the gaps before it."""
    phases = (
        (loop.get("repeats", 1) // phase.get("every", 1)) * _phase_s(phase, gbps)
        for loop in schedule["loops"]
        for phase in loop["phases"]
    )
    return float(sum(phases))


def state_bytes(schedule: Json) -> int:
    """Return the bytes of all ranks' fields or particles; they are filled before a transfer and checked after it."""
    size = 0
    if grid := schedule.get("grid"):
        size += len(grid["fields"]) * sum(WORD * (chunk[2] + GUARD) * (chunk[3] + GUARD) for chunk in grid["chunks"])
    if particles := schedule.get("particles"):
        batches = sum(map(len, particles["neighbours"])) * (HEADER + PARTICLE * int(particles["batch"]))
        size += PARTICLE * sum(particles["stock"]) + batches
    return size


def _phase_s(phase: Json, gbps: float) -> float:
    bytes_of: Counter[int] = Counter()
    messages_of: Counter[int] = Counter()
    for source, destination, size in phase["messages"]:
        bytes_of[source] += size
        messages_of.update((source, destination))
    collectives = len(phase.get("collectives", ())) + (phase.get("termination", "none") != "none")
    size = max(bytes_of.values(), default=0)
    messages = max(messages_of.values(), default=0)
    gap = float(phase.get("gap_s", 0.0))
    return float(gap + size / (gbps * 1e9) + messages * _MESSAGE_S + collectives * _COLLECTIVE_S)
