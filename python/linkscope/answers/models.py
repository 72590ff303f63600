"""Models: which models of devices a result is of, so that results of several nodes are the same thing."""

from __future__ import annotations

import polars

from linkscope.machine.node import Node


def models(node: Node) -> polars.Expr:
    """Return "NVIDIA H200 > NVIDIA H200" of a result, source to destination; of a collective each model once."""
    names = {device.id: device.name or device.kind for device in node.devices}
    of_members = (
        polars.col("members")
        .str.split(" ")
        .list.eval(polars.element().replace_strict(names, default="?"))
        .list.unique(maintain_order=True)
        .list.join(", ")
    )
    ends = (
        polars.coalesce(end, "executor").replace_strict(names, default="?", return_dtype=polars.String)
        for end in ("source", "destination")
    )
    return (
        polars.when(polars.col("members").fill_null("") != "")
        .then(of_members)
        .otherwise(polars.concat_str(list(ends), separator=" > "))
    )
