"""Peaks: which share of the hardware's limit each method reaches on each kind of path, and what the limit is."""

from __future__ import annotations

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry
from linkscope.answers.answer import Column, Kind
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.messages.finding import Finding, note

_KIND = ("likeness", "role", "method", "memories")
_REPEATED = ("algorithm", "latency")
"""Beside these the same case has another result that is of the links (bus), or they are no rates."""


def peaks(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each kind of path and method, in the order of the run; of each path the best result counts.

    ``of_peak_min``, ``of_peak_median``, ``of_peak_max``: over the ``paths``. ``gbps``, ``peak_gbps`` and ``way`` are of
    the median path. ``binds``: the limits of all paths, without device numbers. ``above_peak``: paths with a rate
    above ``ABOVE_PEAK``, which a cache served; that rate is left out.
    """
    known = results.filter(
        (polars.col("background") == 0) & polars.col("of_peak").is_not_null(),
        ~polars.col("figure").is_in(_REPEATED),
    )
    share = polars.col("of_peak")
    above = share > ABOVE_PEAK
    best = known.with_columns(above.any().over(*_KIND, "path").alias("above_peak"), _binding().alias("binds"))
    best = best.filter(~above).sort("of_peak", descending=True, maintain_order=True)
    best = best.unique([*_KIND, "path"], keep="first", maintain_order=True).sort("of_peak", maintain_order=True)
    middle = (polars.len() - 1) // 2
    kinds = best.group_by(polars.col(_KIND).name.prefix("of_")).agg(
        polars.col(*by.DESCRIBED, "gbps", "peak_gbps").get(middle),
        polars.len().alias("paths"),
        *(share.min().alias("of_peak_min"), share.max().alias("of_peak_max")),
        share.get(middle).alias("of_peak_median"),
        polars.col("binds").unique().sort().str.join("; "),
        polars.col("above_peak").sum(),
    )
    order = known.select(polars.col(_KIND).name.prefix("of_")).unique(maintain_order=True)
    joined = order.join(kinds, on=order.columns, maintain_order="left")
    return joined.select(*by.DESCRIBED, polars.exclude(*by.DESCRIBED, *order.columns))


def _binding() -> polars.Expr:
    """Return the limits without the numbers of devices: "numa>gpu, memory:gpu"."""
    words = polars.col("bound_by").str.replace_all(r":\d+", "").str.replace_all("switch:", "")
    return words.str.split(" ").list.unique(maintain_order=True).list.join(", ")


def _conclude(frame: polars.DataFrame) -> Finding:
    least, high = frame.row(0, named=True), frame["of_peak_median"].max()
    return note("analyze.peaks-reached", low=least["of_peak_median"], high=high, movement=least["movement"])


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    ends = polars.concat_list("of_peak_min", "of_peak_max").alias("of_peak")
    limit = polars.col("binds").str.split("; ").list.first().str.split(", ").list.first().alias("limit")
    return frame.sort("of_peak_median", maintain_order=True).with_columns(ends, limit)


answer = Inquiry(
    key="analyze.peaks",
    find=lambda run: peaks(by.usable(run)),
    conclude=_conclude,
    columns=(
        Column("of_peak", Kind.PERCENT),
        Column("gbps", Kind.NUMBER),
        Column("limit", Kind.PATH, detail=True),
    ),
    order=_order,
)
