"""Anisotropy: which pairs of devices are faster in one direction than in the other."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered
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
from linkscope.machine.paths import natural
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

_ENDS = ("source", "source_memory", "destination", "destination_memory", "executor")
_PAIR = ("between", "a", "a_memory", "b", "b_memory", "driver")
_KIND = (*alike("movement", "tier", "role", "memories"), "bytes")
GPUS, HOST, NUMA = "gpus", "host", "numa"


def answer(run: Run) -> Answer:
    """Return which pairs of devices are faster in one direction."""
    return answered(_QUESTION, run, anisotropy(usable(run)))


def anisotropy(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each two devices, method and size measured in both directions, one after the other.

    ``between``: "gpus", "numa", or "host" for a GPU, ``b``, and the host. ``driver``: push or pull; the device that
    drives both directions where one end is the host. ``ratio``: the time from ``b`` back to ``a`` over the time there,
    1.05 where the way back takes 5% longer, with its 95% interval; of rates and of latencies alike. ``beyond``: true
    where the ratio is beyond noise, null where noise leaves it open, false within 1%.
    """
    usable_ones = with_cost(
        alone(results).filter(
            polars.col("figure").is_in(("first", "latency")),
            polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
            polars.col("source") != polars.col("destination"),
        )
    )
    ends = usable_ones.select(_ENDS).unique(maintain_order=True)
    told = polars.DataFrame(
        [{**line, **_pair(line)} for line in ends.iter_rows(named=True)],
        schema=dict.fromkeys((*_ENDS, *_PAIR, "direction"), polars.String),
    )
    placed = usable_ones.join(told, on=_ENDS, nulls_equal=True, maintain_order="left")
    directions = {
        name: placed.filter(polars.col("direction") == name).unique([*_PAIR, *_KIND], keep="first", maintain_order=True)
        for name in ("there", "back")
    }
    both = directions["there"].join(
        directions["back"], on=[*_PAIR, *_KIND], suffix="_back", nulls_equal=True, maintain_order="left"
    )
    found = with_ratio(both, "_back", "", ("between", "driver", *_KIND), "ratio")
    values = named_values({"": "there", "_back": "back"})
    return found.select(*_PAIR, *DESCRIBED, "bytes", "unit", *values, "^ratio(_low|_high)?$", "beyond")


def _pair(line: Json) -> Json:
    """Return the two ends in the order in which every result of them has them, and which direction this one has."""
    ends = [(line[name], line[f"{name}_memory"]) for name in ("source", "destination")]
    gpus = [device.startswith("gpu:") for device, _ in ends]
    there = gpus == [False, True] or (gpus[0] == gpus[1] and natural(ends[0][0]) < natural(ends[1][0]))
    (a, a_memory), (b, b_memory) = ends if there else ends[::-1]
    role = "push" if line["executor"] == line["source"] else "pull"
    between = GPUS if all(gpus) else HOST if any(gpus) else NUMA
    return {
        **{"between": between, "driver": line["executor"] if between == HOST else role},
        **{"a": a, "a_memory": a_memory, "b": b, "b_memory": b_memory, "direction": "there" if there else "back"},
    }


def _conclude(frame: polars.DataFrame) -> Finding:
    unclear = frame["beyond"].null_count()
    faster = _ordered(frame.filter("beyond"))
    if faster.is_empty():
        code = "analyze.anisotropy-unclear" if unclear else "analyze.anisotropy-none"
        return note(code, results=frame.height, unclear=unclear)
    most = _shown(faster).row(0, named=True)
    facts = {"results": frame.height, "faster": faster.height, "unclear": unclear}
    return note("analyze.anisotropy-faster", **facts, most=most["by"], path=most["faster"], method=most["method"])


def _ordered(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the telling lines first."""
    clear = polars.col("beyond").replace_strict({True: 0, None: 1, False: 2}, return_dtype=polars.Int8)
    return frame.sort(clear, -polars.col("ratio").log().abs(), maintain_order=True)


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    longer = polars.col("ratio") > 1
    faster = polars.when(longer).then(polars.format("{}>{}", "a", "b")).otherwise(polars.format("{}>{}", "b", "a"))
    states = {True: "faster", None: "unclear", False: "alike"}
    return frame.with_columns(
        polars.format("{}>{}", "a", "b").alias("path"),
        faster.alias("faster"),
        (polars.max_horizontal("ratio", 1 / polars.col("ratio")) - 1).alias("by"),
        polars.col("beyond").replace_strict(states, return_dtype=polars.String).alias("state"),
    )


_QUESTION = Inquiry(
    key="analyze.anisotropy",
    conclude=_conclude,
    columns=(
        Column("there", Kind.VALUE),
        Column("back", Kind.VALUE),
        Column("by", Kind.CHANGE),
        Column("state"),
    ),
    names=("path", "called"),
    order=lambda frame: _shown(_ordered(frame)),
)
