"""NUMA: what memory on another NUMA node than the nearest costs, per GPU and for CPUs."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered, grouped
from linkscope.answers.analyze.comparing import (
    DESCRIBED,
    alike,
    alone,
    named_values,
    usable,
    with_cost,
    with_ratio,
)
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

_ENDS = ("executor", "source", "destination", "movement", "role")
_KIND = ("device", "moved", "driver", *alike("movement", "tier", "role"), "bytes")


def answer(run: Run) -> Answer:
    """Return what memory on a farther NUMA node costs."""
    return answered(_QUESTION, run, numa(usable(run), run.node))


def numa(results: polars.DataFrame, node: Node) -> polars.DataFrame:
    """Return a line for each device, method and size, and each node farther than its nearest, in the run's order.

    ``device``: the GPU, or the NUMA node whose CPUs do it; ``near`` and ``far``: the nodes of the host memory at its
    ends, the nearest to the GPU, or the CPUs' own, and another one. ``cost``: the time (or 1 / rate) with ``far`` over
    the time with ``near``, less one: 0.12 where it takes 12% longer, below zero where ``far`` is faster; with its 95%
    interval. ``beyond``: true where that is beyond noise, null where noise leaves it open, false within 1%.
    """
    single = with_cost(
        alone(results).filter(
            polars.col("processes") == 1,
            polars.col("members").is_null(),
            polars.col("figure").is_in(("first", "latency")),
        )
    )
    ends = single.select(_ENDS).unique(maintain_order=True)
    told = polars.DataFrame(
        [{**line, **placed} for line in ends.iter_rows(named=True) if (placed := _placed(line, node))],
        schema=dict.fromkeys((*_ENDS, "device", "moved", "driver", "nodes"), polars.String)
        | {"nearest": polars.Boolean},
    )
    lines = single.join(told, on=_ENDS, nulls_equal=True, maintain_order="left").unique(
        ["nodes", *_KIND], keep="first", maintain_order=True
    )
    far, near = lines.filter(~polars.col("nearest")), lines.filter("nearest")
    both = far.join(near, on=_KIND, suffix="_near", nulls_equal=True, maintain_order="left")
    found = with_ratio(both, "", "_near", ("nodes", *_KIND), "cost_of_far", 1.0)
    return found.select(
        *("device", *DESCRIBED, "bytes", "unit"),
        polars.col("nodes_near").alias("near"),
        polars.col("nodes").alias("far"),
        *named_values({"_near": "with_near", "": "with_far"}),
        *(polars.col(f"cost_of_far{bound}").alias(f"cost{bound}") for bound in ("", "_low", "_high")),
        "beyond",
    )


def _placed(line: Json, node: Node) -> Json | None:
    """Return whose result it is, on which nodes its host memory is, and whether these are the nearest; or None."""
    ends = [line["source"], line["destination"]]
    nodes = [end for end in ends if end is not None and end.startswith("numa:")]
    gpus = {device for device in (line["executor"], *ends) if device is not None and device.startswith("gpu:")}
    if not nodes or len(gpus) > 1:
        return None
    if gpus:
        device = gpus.pop()
        nearest = next((f"numa:{one.numa}" for one in node.devices if one.id == device), None)
        told = {"moved": line["movement"], "driver": line["role"]}
    else:
        device = nearest = line["executor"]
        told = {"moved": "copy" if None not in ends else "read" if ends[0] else "write", "driver": ""}
    return {"device": device, **told, "nodes": ">".join(dict.fromkeys(nodes)), "nearest": set(nodes) == {nearest}}


def _conclude(frame: polars.DataFrame) -> Finding:
    dear = frame.filter(polars.col("beyond") & (polars.col("cost") > 0)).sort("cost", maintain_order=True)
    if dear.is_empty():
        unclear = frame["beyond"].null_count()
        return note("analyze.numa-unclear" if unclear else "analyze.numa-none", results=frame.height, unclear=unclear)
    worst, median = dear.row(-1, named=True), dear.row(dear.height // 2, named=True)
    facts = {"dear": dear.height, "results": frame.height, "median": median["cost"], "most": worst["cost"]}
    return note("analyze.numa-dear", **facts, device=worst["device"], far=worst["far"], way=worst["called"])


def _notes(frame: polars.DataFrame) -> list[Finding]:
    faster = frame.filter(polars.col("beyond") & (polars.col("cost") < 0)).height
    return [note("analyze.numa-far-faster", faster=faster)] if faster else []


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    clear = polars.col("beyond").replace_strict({True: 0, None: 1, False: 2}, return_dtype=polars.Int8)
    return frame.sort(clear, -polars.col("cost"), maintain_order=True).with_columns(
        polars.when(polars.col("beyond").is_null()).then(polars.lit("?")).alias("open"), results=1
    )


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    keys = ("movement", "called", "memories", "bytes", "open")
    return grouped(frame.drop("results"), keys, ("with_near", "with_far", "cost")).with_columns(
        device=polars.lit(None), near=polars.lit(None), far=polars.lit(None)
    )


_QUESTION = Inquiry(
    key="analyze.numa",
    conclude=_conclude,
    columns=(
        Column("device"),
        Column("near"),
        Column("far", Kind.PATH),
        Column("with_near", Kind.VALUE),
        Column("with_far", Kind.VALUE),
        Column("cost", Kind.CHANGE, mark="open"),
        Column("results", Kind.COUNT),
    ),
    order=_order,
    shown=_shown,
    notes=_notes,
)
