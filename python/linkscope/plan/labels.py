"""Labels: a case's id, and where its figure stands in the tables."""

from __future__ import annotations

import re
from functools import cache
from itertools import permutations
from typing import Any

from linkscope.documents.sizes import format_bytes
from linkscope.machine.paths import Paths
from linkscope.machine.traits import MethodTraits
from linkscope.plan.axes import AxisPoint, Varied, region_bytes
from linkscope.plan.candidates import FlowLayout, tier_of
from linkscope.plan.suite_row import SuiteRow

Json = dict[str, Any]

COUNTED = ("gpus", "members")
"""A curve's x where it tells the cases of a growing pattern apart."""
_LAUNCH_OF_DIRECT = {"device": "one-thread", "batch": "thread-per-gpu", "host": "thread-per-gpu"}
"""Who launches the kernels of a direct-collective in one process, by the clock: behind the closed gate of the device's
clock, whose time holds no launch, one thread for all GPUs; else a thread for each."""


def case_id(row: SuiteRow, layout: FlowLayout, point: AxisPoint, clock: str) -> str:
    """suite/row/where/axes: the same on every run of the same suite on the same machine, whatever else it measures.
    ``clock``: that of a row that declares none."""
    where = f"{layout.row}>{layout.column}" if layout.row else layout.column
    axes = [_compact(word) for word in point.named]
    if not (row.declared or row).clocks and point.clock not in (None, clock):
        sized = axes[-1:] == [format_bytes(point.size).replace(" ", "")]
        axes.insert(len(axes) - sized, f"{point.clock}-clock")
    return "/".join([row.suite, row.name, where.replace(" ", ""), *axes])


def case_labels(row: SuiteRow, paths: Paths, layout: FlowLayout, point: AxisPoint, method: MethodTraits) -> Json:
    """Return what tables need of the case (plan.schema.json: labels)."""
    names = _oriented(row, layout.row, layout.column)
    title = ", ".join([row.title, *(varied.word for varied in point.varied if varied.axis == "collective")])
    labels: Json = {"title": title, "show": row.show, **names, "figure": row.figure}
    if len(row.figures) > 1:
        labels["figures"] = list(row.figures)
    if row.table:
        labels["table"] = row.table
    if layout.places:
        labels["cells"] = [_oriented(row, *place) for place in layout.places]
    x_axes = _x_axes(row) if row.show == "curve" else ()
    told = _with_launch(row, paths, point, method)
    variants = [varied for varied in told if varied.axis not in ("collective", *x_axes)]
    words = [varied.word for varied in variants]
    if row.show == "curve":
        where = _between(row, layout) if row.x not in COUNTED else ""
        labels["series"] = ", ".join(part for part in (where, *words) if part)
        labels["x"] = _x(row, layout, point)
        labels["x_name"] = row.x
    elif variants and row.show == "matrix":
        labels["title"] = ", ".join([title, *words])
    elif variants:
        labels["variant"] = {varied.axis: varied.value for varied in variants}
    if row.variants:
        labels["environment"] = point.variant.name
    tiers = {tier_of(paths, *ends) for ends in _joined(layout)}
    labels["tier"] = tiers.pop() if len(tiers) == 1 else "mixed"
    if row.peer is not None:
        labels["peer"] = row.peer
    return labels


def _with_launch(row: SuiteRow, paths: Paths, point: AxisPoint, method: MethodTraits) -> list[Varied]:
    """The point's axes; where lines say all that tells interfaces apart, with the launch that no parameter of
    direct-collective says, before the clock. A machine model launches nothing."""
    told = list(point.varied)
    if not method.maps_members or point.processes == "each" or not row.names_all or paths.node.modelled:
        return told
    launch = _LAUNCH_OF_DIRECT[point.clock or "device"]
    place = next((place for place, varied in enumerate(told) if varied.axis == "clock"), len(told))
    return [*told[:place], Varied("launch", launch, launch), *told[place:]]


def _between(row: SuiteRow, layout: FlowLayout) -> str:
    """Return where the bytes come from and go to, as "gpu:0 > gpu:1"; and who moves them, where both memories are at
    the other end: "numa:0 > numa:0 by gpu:1".
    """
    ends = (layout.row, layout.column)
    if not all(ends) or ends[0] == ends[1]:
        return " > ".join(name for name in ends if name)
    away = [end.at == "other" and bool(end.memories) for end in (row.source, row.destination)]
    if away[0] == away[1]:
        return " > ".join(ends)
    here, driver = (ends[1], ends[0]) if away[0] else ends
    return f"{here} > {here} by {driver}"


def _joined(layout: FlowLayout) -> set[tuple[str, str]]:
    """Pairs of devices that measured bytes go between; of a collective every two members."""
    measured = {(slot.source, slot.destination) for slot in layout.slots if slot.role == "measured"}
    return measured | set(permutations(layout.members, 2))


@cache
def _compact(word: str) -> str:
    """Without spaces: "from pinned" is from-pinned, "512 MiB" 512MiB."""
    return re.sub(r"(?<=[a-z]) (?=[a-z])", "-", word).replace(" ", "")


def _x_axes(row: SuiteRow) -> tuple[str, ...]:
    """The axes that a curve's x tells apart."""
    if row.x != "bytes":
        return (row.x,)
    regions = row.parameters.get("region") if row.by_region else None
    if isinstance(regions, list) and len({region_bytes(region) for region in regions}) == len(regions):
        return ("size", "region")
    return ("size",)


def _x(row: SuiteRow, layout: FlowLayout, point: AxisPoint) -> Any:
    if row.x == "members":
        return len(layout.members)
    if row.x == "gpus":
        ends = {end for slot in layout.slots if slot.role == "measured" for end in (slot.source, slot.destination)}
        return sum(end.startswith("gpu:") for end in ends)
    counted = {"bytes": point.size, "flows": point.flows}
    return counted[row.x] if row.x in counted else point.parameters[row.x]


def _oriented(row: SuiteRow, source: str, destination: str) -> dict[str, str]:
    names = (source, destination) if row.rows == "source" else (destination, source)
    return {"row": names[0], "column": names[1]}
