"""Collectives: what a layout of members becomes in a plan."""

from __future__ import annotations

from typing import Any

from linkscope.machine.paths import Paths
from linkscope.plan.axes import AxisPoint
from linkscope.plan.candidates import FlowLayout
from linkscope.plan.flows import endpoint, kind_of

Json = dict[str, Any]

IN_BLOCKS = ("reduce-scatter", "all-gather", "all-to-all")
"""Collectives whose larger buffer is made of a block for each member."""
ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int32": 4}
_ALIGNED_BYTES = 16
"""nccl-tests cuts blocks to multiples of this; smaller blocks are cut to whole elements."""


def collective_flow(paths: Paths, layout: FlowLayout, point: AxisPoint) -> Json:
    """The one flow of a case of ``layout.members``; ranks count in their order, each with as many as the others."""
    assert point.source is not None
    assert point.collective is not None
    processes = processes_of(point, len(layout.members))
    ranks = [index * processes // len(layout.members) for index in range(len(layout.members))]
    members = [
        endpoint(point.source, paths, device, device) | ({"rank": rank} if rank else {})
        for device, rank in zip(layout.members, ranks, strict=True)
    ]
    size = whole_bytes(point, len(members))
    named = (
        point.method,
        point.collective,
        "+".join(layout.members),
        kind_of(point.source),
        point.processes,
        size,
        *_worded(point.parameters),
    )
    return {
        "method": point.method,
        "executor": layout.members[0],
        "bytes": size,
        "members": members,
        "parameters": {"collective": point.collective, **point.parameters},
        "tuning_group": "/".join(map(str, named)),
    }


def processes_of(point: AxisPoint, members: int) -> int:
    """Return how many processes so many members have."""
    return {"one": 1, "each": members}.get(point.processes) or int(point.processes)


def undivided(point: AxisPoint, members: int) -> str | None:
    """Return why ``members`` cannot be shared out to the point's processes; None where they can."""
    processes = processes_of(point, members)
    return f"{members} members do not divide into {processes} processes" if members % processes else None


def _worded(parameters: Json) -> list[str]:
    return [f"{name}={value}" for name, value in parameters.items()]


def whole_bytes(point: AxisPoint, members: int) -> int:
    """The point's size rounded down to whole elements, of a collective in blocks to a whole block for each member.

    Blocks of 16 bytes and more are cut to multiples of that, as nccl-tests does; so powers of two stay what they are
    among 2, 4 and 8 members. 0 where nothing is left (``uneven`` says so).
    """
    blocks = members if point.collective in IN_BLOCKS else 1
    element = _element_bytes(point)
    unit = blocks * (_ALIGNED_BYTES if blocks > 1 and point.size >= blocks * _ALIGNED_BYTES else element)
    return point.size // unit * unit


def uneven(point: AxisPoint, members: int) -> str | None:
    """Return why ``members`` cannot share the point's bytes out; None where they can."""
    if point.collective == "barrier" or whole_bytes(point, members):
        return None
    each = f" for each of {members} members" if point.collective in IN_BLOCKS else ""
    return f"{point.size} B is not a whole number of {point.parameters.get('type', 'float32')}{each}"


def _element_bytes(point: AxisPoint) -> int:
    return ELEMENT_BYTES.get(str(point.parameters.get("type", "float32")), 4)
