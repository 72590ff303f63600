"""Cases: the row of a case that a machine model plays."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.modelled_methods import BACKEND, ModelledMethod, modelled_methods
from linkscope.machine.traits import assumed_memory
from linkscope.messages import numbers
from linkscope.modelled.collectives import collective
from linkscope.modelled.machine import ModelledMachine
from linkscope.modelled.sampling import sampled
from linkscope.modelled.schedules import schedule
from linkscope.modelled.transfers import transfer
from linkscope.modelled.work import NotModelledError, Work

Json = dict[str, Any]


def modelled_row(case: Json, machine: ModelledMachine) -> Json:
    """Return the row (schema/result.schema.json) of ``case``, whose flows hold their figures (plan/modelled.py).

    It says that it is a model's, and nothing of what would have been verified.
    """
    begun, started = time.monotonic(), datetime.now(timezone.utc)
    row: Json = {"record": "row", "id": case["id"], "modelled": True, "backend": BACKEND}
    try:
        works = [_work(flow, case, machine) for flow in case["flows"]]
        row |= {"status": "ok", **sampled(case, works, machine.capacities)}
    except NotModelledError as error:
        row |= {"status": "skipped", "reason": str(error)}
    except LinkscopeError as error:
        row |= {"status": "failed", "reason": str(error)}
    return row | {
        "started": started.isoformat(timespec="milliseconds"),
        "elapsed_s": round(time.monotonic() - begun, 6),
    }


def _work(flow: Json, case: Json, machine: ModelledMachine) -> Work:
    method: ModelledMethod = modelled_methods()[flow["method"]]
    ends = [*(flow[end] for end in ("source", "destination") if end in flow), *flow.get("members", ())]
    for end in ends:
        _check_memory(end)
    if method.motion == "schedule":
        if len(case["flows"]) > 1:
            raise NotModelledError("the model plays a schedule by itself")
        return schedule(flow, method, machine)
    work = (collective if method.motion == "collective" else transfer)(flow, method, machine)
    for end in ends:
        _check_room(flow["bytes"], end["device"], machine)
    return work


def _check_memory(end: Json) -> None:
    memory, device = end["memory"], end["device"]
    traits = assumed_memory(memory)
    if traits.lies_on == "host" and not device.startswith("numa:"):
        raise NotModelledError(f"{memory} memory lives on a NUMA node, not on {device}")
    if traits.lies_on == "gpu" and not device.startswith("gpu:"):
        raise NotModelledError(f"{memory} memory lives on a GPU, not on {device}")
    if "advice" in end and not traits.migrates:
        raise NotModelledError(f"{memory} memory takes no advice")


def _check_room(size: int, device: str, machine: ModelledMachine) -> None:
    has = machine.memory_bytes(device)
    if has is not None and size > has:
        raise NotModelledError(f"{numbers.size(size)} asked of {device}, which has {numbers.size(has)}")
