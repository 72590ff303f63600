"""Plays schedules on described nodes. For tests."""

from __future__ import annotations

from typing import Any

from linkscope.launch.engines import modelling_engine
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.modelled.cases import modelled_row
from linkscope.modelled.machine import ModelledMachine
from linkscope.plan.modelled import give_figures
from linkscope.workload.schedule import Schedule

Json = dict[str, Any]


def case_of(
    schedule: Schedule,
    order: tuple[str, ...],
    method: str = "mpi-schedule",
    memory: str = "device",
    environment: dict[str, str] | None = None,
    **parameters: str,
) -> Json:
    """A case of a plan with the schedule, its ranks on the devices of ``order``; fields and particles with them."""
    ends = [{"device": device, "memory": memory} for device in order]
    packed = schedule.grid is not None or schedule.particles is not None
    flow: Json = {
        "method": method,
        "executor": order[0],
        "bytes": schedule.bytes,
        "members": ends,
        **({"state": [dict(end) for end in ends]} if packed else {}),
        **({"parameters": parameters} if parameters else {}),
        "schedule": schedule.to_plan(),
    }
    return {
        "id": f"{schedule.name}/{','.join(order)}",
        "clock": "host",
        "cache": "warm",
        **({"environment": environment} if environment else {}),
        "flows": [flow],
    }


def why_not(case: Json, node: Node) -> str | None:
    """Why the description has no figures for the case; gives it those that it has."""
    return give_figures(case, Paths(node), modelling_engine().catalog())


def played(case: Json, node: Node) -> Json:
    """The row of the case."""
    reason = why_not(case, node)
    assert reason is None, reason
    return modelled_row(case, ModelledMachine(Paths(node)))


def seconds(row: Json) -> float:
    """Of the whole schedule, as its slowest rank has it."""
    found: float = row["flows"][0]["seconds"]["median"]
    return found


def messages_s(row: Json, schedule: Schedule) -> float:
    """Of the phases that have messages, their collectives included."""
    phases = zip(schedule.phases, row["flows"][0]["breakdown"][0]["phases_s"], strict=True)
    return float(sum(took for phase, took in phases if phase.messages))
