"""Planned schedule: the schedule that a plan's flow holds, read back."""

from __future__ import annotations

from typing import Any

from linkscope.workload.schedule import Loop, Message, Phase, Schedule

Json = dict[str, Any]


def planned_schedule(flow: Json, name: str) -> Schedule:
    """Read the schedule of a flow (schema/plan.schema.json), whose members are the ranks: loops, phases and messages;
    what they are packed from and collectives are left out. Raises KeyError or TypeError where it is none.
    """
    loops = tuple(_loop(loop) for loop in flow["schedule"]["loops"])
    return Schedule(name, len(flow["members"]), loops)


def _loop(loop: Json) -> Loop:
    repeats = int(loop.get("repeats", 1))
    return Loop(repeats, tuple(_phase(phase, repeats) for phase in loop["phases"]))


def _phase(phase: Json, repeats: int) -> Phase:
    every = int(phase.get("every", 1))
    messages = tuple(Message(*message) for message in phase["messages"])
    return Phase(str(phase.get("name", "")), messages, repeats // every, every, float(phase.get("gap_s", 0.0)))
