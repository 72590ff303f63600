"""Anisotropy: which pairs of devices are faster in one direction than in the other."""

from __future__ import annotations

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, by_most, columns
from linkscope.answers.answer import Column, Kind

_PAIR = ("between", "a", "a_memory", "b", "b_memory", "driver")
_KIND = (*by.alike("movement", "tier", "role", "memories"), "bytes")
GPUS, HOST, NUMA = "gpus", "host", "numa"


def anisotropy(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each two devices, method and size measured in both directions, one after the other.

    ``between``: "gpus", "numa", or "host" for a GPU, ``b``, and the host. ``driver``: push or pull; the device that
    drives both directions where one end is the host. ``there`` and ``back`` are in ``unit``. ``ratio``: the time from
    ``b`` back to ``a`` over the time there, of rates as of latencies, with its 95% interval; ``beyond``: whether the
    ratio is beyond noise.
    """
    single = by.with_cost(by.alone(results)).filter(
        polars.col("figure").is_in(("first", "latency")) & (polars.col("source") != polars.col("destination"))
    )
    gpus = [polars.col(end).str.starts_with("gpu:") for end in ("source", "destination")]
    numbers = [polars.col(end).str.extract(r"(\d+)$").cast(polars.Int32) for end in ("source", "destination")]
    there = polars.when(gpus[0] == gpus[1]).then(numbers[0] < numbers[1]).otherwise(gpus[1])
    between = polars.when(gpus[0] & gpus[1]).then(polars.lit(GPUS)).when(gpus[0] | gpus[1]).then(polars.lit(HOST))
    role = polars.when(polars.col("executor") == polars.col("source")).then(polars.lit("push"))
    placed = single.with_columns(
        there.alias("there"),
        between.otherwise(polars.lit(NUMA)).alias("between"),
        polars.when(gpus[0] != gpus[1]).then("executor").otherwise(role.otherwise(polars.lit("pull"))).alias("driver"),
        *(
            polars.when(there).then(f"{one}{memory}").otherwise(f"{other}{memory}").alias(f"{end}{memory}")
            for end, one, other in (("a", "source", "destination"), ("b", "destination", "source"))
            for memory in ("", "_memory")
        ),
    ).unique([*_PAIR, *_KIND, "there"], keep="first", maintain_order=True)
    forth, back = placed.filter("there"), placed.filter(~polars.col("there"))
    both = forth.join(back, on=[*_PAIR, *_KIND], suffix="_back", nulls_equal=True, maintain_order="left")
    found = by.with_ratio(both, "_back", "", ("between", "driver", *_KIND), "ratio")
    values = (polars.col("value").alias("there"), polars.col("value_back").alias("back"))
    return found.select(*_PAIR, *by.DESCRIBED, "bytes", "unit", *values, "^ratio(_low|_high)?$", "beyond")


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
    conclude=by_most(
        "by",
        polars.col("beyond"),
        ("analyze.anisotropy-faster", "analyze.anisotropy-unclear", "analyze.anisotropy-none"),
        "faster",
    ),
    columns=(*columns(Kind.VALUE, "there", "back"), Column("by", Kind.CHANGE), Column("state")),
    names=("path", "called"),
    order=_order,
)
