"""Anisotropy: which pairs of devices are faster in one direction than in the other."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, columns
from linkscope.answers.answer import Column, Kind
from linkscope.machine.paths import natural
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

_ENDS = ("source", "source_memory", "destination", "destination_memory", "executor")
_PAIR = ("between", "a", "a_memory", "b", "b_memory", "driver")
_KIND = (*by.alike("movement", "tier", "role", "memories"), "bytes")
GPUS, HOST, NUMA = "gpus", "host", "numa"


def anisotropy(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each two devices, method and size measured in both directions, one after the other.

    ``between``: "gpus", "numa", or "host" for a GPU, ``b``, and the host. ``driver``: push or pull; the device that
    drives both directions where one end is the host. ``ratio``: the time from ``b`` back to ``a`` over the time there,
    1.05 where the way back takes 5% longer, with its 95% interval; of rates and of latencies alike. ``beyond``: true
    where the ratio is beyond noise, null where noise leaves it open, false within 1%.
    """
    single = by.with_cost(by.alone(results)).filter(
        polars.col("figure").is_in(("first", "latency")) & (polars.col("source") != polars.col("destination"))
    )
    ends = single.select(_ENDS).unique(maintain_order=True)
    pairs = polars.DataFrame(
        [{**line, **_pair(line)} for line in ends.iter_rows(named=True)],
        schema=dict.fromkeys((*_ENDS, *_PAIR, "direction"), polars.String),
    )
    placed = single.join(pairs, on=_ENDS, nulls_equal=True, maintain_order="left")
    placed = placed.unique([*_PAIR, *_KIND, "direction"], keep="first", maintain_order=True)
    there, back = (placed.filter(polars.col("direction") == one) for one in ("there", "back"))
    both = there.join(back, on=[*_PAIR, *_KIND], suffix="_back", nulls_equal=True, maintain_order="left")
    found = by.with_ratio(both, "_back", "", ("between", "driver", *_KIND), "ratio")
    values = by.named_values({"": "there", "_back": "back"})
    return found.select(*_PAIR, *by.DESCRIBED, "bytes", "unit", *values, "^ratio(_low|_high)?$", "beyond")


def _pair(line: Json) -> Json:
    """Return the two ends in the order in which every result of them has them, and which direction this one has."""
    ends = [(line[name], line[f"{name}_memory"]) for name in ("source", "destination")]
    gpus = [device.startswith("gpu:") for device, _ in ends]
    there = gpus == [False, True] or (gpus[0] == gpus[1] and natural(ends[0][0]) < natural(ends[1][0]))
    (a, a_memory), (b, b_memory) = ends if there else ends[::-1]
    between = GPUS if all(gpus) else HOST if any(gpus) else NUMA
    driver = line["executor"] if between == HOST else "push" if line["executor"] == line["source"] else "pull"
    pair = dict(zip(_PAIR, (between, a, a_memory, b, b_memory, driver), strict=True))
    return {**pair, "direction": "there" if there else "back"}


def _conclude(frame: polars.DataFrame) -> Finding:
    facts = {"results": frame.height, "unclear": frame["beyond"].null_count()}
    faster = frame.filter("beyond")
    if faster.is_empty():
        return note("analyze.anisotropy-unclear" if facts["unclear"] else "analyze.anisotropy-none", **facts)
    most = faster.row(0, named=True)
    return note("analyze.anisotropy-faster", **facts, faster=faster.height, most=most["by"], path=most["faster"])


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the telling lines first, with the faster direction and by how much it is."""
    states = {True: "faster", None: "unclear", False: "alike"}
    path, reverse = (polars.format("{}>{}", *ends) for ends in (("a", "b"), ("b", "a")))
    return frame.with_columns(
        path.alias("path"),
        polars.when(polars.col("ratio") > 1).then(path).otherwise(reverse).alias("faster"),
        (polars.max_horizontal("ratio", 1 / polars.col("ratio")) - 1).alias("by"),
        polars.col("beyond").replace_strict(states, return_dtype=polars.String).alias("state"),
    ).sort(by.TELLING_FIRST, -polars.col("by"), maintain_order=True)


answer = Inquiry(
    key="analyze.anisotropy",
    find=lambda run: anisotropy(by.usable(run)),
    conclude=_conclude,
    columns=(*columns(Kind.VALUE, "there", "back"), Column("by", Kind.CHANGE), Column("state")),
    names=("path", "called"),
    order=_order,
)
