"""Labels: a case's id, and where its figure stands in the tables."""

from __future__ import annotations

import re
from typing import Any

from linkscope.machine.paths import Paths
from linkscope.plan.axes import Point, region_bytes
from linkscope.plan.patterns import Layout, tier_of
from linkscope.plan.suite_row import SuiteRow

Json = dict[str, Any]


def case_id(row: SuiteRow, layout: Layout, point: Point) -> str:
    """suite/row/where/axes: the same on every run of the same suite on the same machine."""
    where = f"{layout.row}>{layout.column}" if layout.row else layout.column
    axes = [_compact(varied.word) for varied in point.varied]
    return "/".join([row.suite, row.name, where.replace(" ", ""), *axes])


def case_labels(row: SuiteRow, paths: Paths, layout: Layout, point: Point) -> Json:
    """What tables need of the case (plan.schema.json: labels)."""
    names = _oriented(row, layout.row, layout.column)
    labels: Json = {"title": row.title, "show": row.show, **names, "figure": row.figure}
    if layout.places:
        labels["cells"] = [_oriented(row, *place) for place in layout.places]
    x_axes = _x_axes(row) if row.show == "curve" else ()
    variants = [varied for varied in point.varied if varied.axis not in x_axes]
    words = [varied.word for varied in variants]
    if row.show == "curve":
        where = " > ".join(name for name in (layout.row, layout.column) if name) if row.x != "gpus" else ""
        labels["series"] = ", ".join(part for part in (where, *words) if part)
        labels["x"] = _x(row, layout, point)
        labels["x_name"] = row.x
    elif variants and row.show == "matrix":
        labels["title"] = ", ".join([row.title, *words])
    elif variants:
        labels["variant"] = {varied.axis: varied.value for varied in variants}
    if row.variants:
        labels["environment"] = point.variant.name
    tiers = {tier_of(paths, slot.source, slot.destination) for slot in layout.slots if slot.role == "measured"}
    labels["tier"] = tiers.pop() if len(tiers) == 1 else "mixed"
    if row.peer is not None:
        labels["peer"] = row.peer
    return labels


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


def _x(row: SuiteRow, layout: Layout, point: Point) -> Any:
    if row.x == "gpus":
        ends = {end for slot in layout.slots if slot.role == "measured" for end in (slot.source, slot.destination)}
        return sum(end.startswith("gpu:") for end in ends)
    counted = {"bytes": point.size, "flows": point.flows}
    return counted[row.x] if row.x in counted else point.parameters[row.x]


def _oriented(row: SuiteRow, source: str, destination: str) -> dict[str, str]:
    names = (source, destination) if row.rows == "source" else (destination, source)
    return {"row": names[0], "column": names[1]}
