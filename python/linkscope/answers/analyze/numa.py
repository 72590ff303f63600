"""NUMA: what memory on another NUMA node than the nearest costs, per GPU and for CPUs."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, by_most, columns, grouped
from linkscope.answers.answer import Column, Kind
from linkscope.machine.node import Node
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

_ENDS = ("executor", "source", "destination", "movement", "role")
_PLACE = ("device", "moved", "driver", "nodes", "nearest")
_KIND = ("device", "moved", "driver", *by.alike("movement", "tier", "role"), "bytes")


def numa(results: polars.DataFrame, node: Node) -> polars.DataFrame:
    """Return a line for each device, method and size, and each node farther than its nearest, in the run's order.

    ``device``: the GPU, or the NUMA node whose CPUs do it; ``near`` and ``far``: the nodes of the host memory at its
    ends, the nearest to the GPU, or the CPUs' own, and another one; ``with_near`` and ``with_far`` are in ``unit``.
    ``longer``: the time with ``far`` over the time with ``near``, less one, below zero where ``far`` is faster, with
    its 95% interval; ``beyond``: whether that is beyond noise.
    """
    single = by.with_cost(by.alone(results)).filter(
        (polars.col("processes") == 1) & polars.col("members").is_null(),
        polars.col("figure").is_in(("first", "latency")),
    )
    ends = single.select(_ENDS).unique(maintain_order=True)
    places = polars.DataFrame(
        [{**line, **placed} for line in ends.iter_rows(named=True) if (placed := _placed(line, node))],
        schema=dict.fromkeys((*_ENDS, *_PLACE), polars.String) | {"nearest": polars.Boolean},
    )
    lines = single.join(places, on=_ENDS, nulls_equal=True, maintain_order="left")
    lines = lines.unique(["nodes", *_KIND], keep="first", maintain_order=True)
    far, near = lines.filter(~polars.col("nearest")), lines.filter("nearest")
    both = far.join(near, on=_KIND, suffix="_near", nulls_equal=True, maintain_order="left")
    found = by.with_ratio(both, "", "_near", ("nodes", *_KIND), "longer", 1.0)
    names = {"nodes_near": "near", "nodes": "far", "value_near": "with_near", "value": "with_far"}
    kept = ("device", *by.DESCRIBED, "bytes", "unit", "beyond", *names.values(), "^longer(_low|_high)?$")
    return found.rename(names).select(kept)


def _placed(line: Json, node: Node) -> Json | None:
    """Return whose result it is, on which nodes its host memory is, and whether these are the nearest; or None."""
    ends = [line["source"], line["destination"]]
    nodes = [end for end in ends if end is not None and end.startswith("numa:")]
    gpus = {device for device in (line["executor"], *ends) if device is not None and device.startswith("gpu:")}
    if not nodes or len(gpus) > 1:
        return None
    moved, driver = line["movement"], line["role"]
    if gpus:
        device = gpus.pop()
        nearest = next((f"numa:{one.numa}" for one in node.devices if one.id == device), None)
    else:
        device = nearest = line["executor"]
        moved, driver = "copy" if None not in ends else "read" if ends[0] else "write", ""
    found = (device, moved, driver, ">".join(dict.fromkeys(nodes)), set(nodes) == {nearest})
    return dict(zip(_PLACE, found, strict=True))


def _notes(frame: polars.DataFrame) -> list[Finding]:
    faster = frame.filter(polars.col("beyond") & (polars.col("longer") < 0)).height
    return [note("analyze.numa-far-faster", faster=faster)] if faster else []


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    keys = ("movement", "called", "memories", "bytes", "open")
    return grouped(frame, keys, ("with_near", "with_far", "longer"), count="results").drop("device", "near", "far")


answer = Inquiry(
    key="analyze.numa",
    find=lambda run: numa(by.usable(run), run.node),
    conclude=by_most(
        "longer",
        polars.col("beyond") & (polars.col("longer") > 0),
        ("analyze.numa-dear", "analyze.numa-unclear", "analyze.numa-none"),
        *("device", "far"),
    ),
    columns=(
        *columns(Kind.PATH, "device", "near", "far"),
        *columns(Kind.VALUE, "with_near", "with_far"),
        Column("longer", Kind.CHANGE, mark="open"),
        Column("results", Kind.COUNT),
    ),
    order=lambda frame: frame.sort(by.TELLING_FIRST, -polars.col("longer"), maintain_order=True),
    shown=_shown,
    notes=_notes,
)
