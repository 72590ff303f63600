"""Peaks: which share of the hardware's limit each method reaches on each kind of path, and what that limit is."""

from __future__ import annotations

import polars

from linkscope.analysis.movement import with_movement
from linkscope.analysis.peak import ABOVE

_KIND = ("movement", "tier", "together", "role", "method", "source_memory", "destination_memory", "members_memory")
_PATH = (*_KIND, "figure", "regime", "path")
_REPEATED = ("algorithm", "latency")
"""Figures beside which the same case has another that is of the links (bus), or which are no rates."""


def peaks(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each kind of path and method, in the order of the run; of each path what reaches most.

    ``of_peak_min``, ``_median``, ``_max``: over the ``paths``, measured over what the narrowest link, or with several
    flows their max-min fair rates, would allow (``Paths.concurrent_peak``). ``gbps`` and ``peak_gbps``: of the median
    path. ``binds``: the limits of all paths, device numbers left out. ``above_peak``: paths of which some figure was
    more than 1.03 of the peak, so that a cache served it: that figure is left out.
    """
    known = with_movement(figures.filter(polars.col("background") == 0, polars.col("of_peak").is_not_null()))
    known = known.filter(~polars.col("figure").cast(polars.String).is_in(_REPEATED))
    above = polars.col("of_peak") > ABOVE
    best = (
        known.with_columns(above.any().over(_PATH).alias("above_peak"))
        .filter(~above)
        .sort("of_peak", descending=True, maintain_order=True)
        .unique(_PATH, keep="first", maintain_order=True)
        .sort("of_peak", maintain_order=True)
    )
    at_median = polars.col("of_peak", "gbps", "peak_gbps").get((polars.len() - 1) // 2)
    kinds = best.group_by(*_KIND, "figure", "regime").agg(
        polars.len().alias("paths"),
        polars.col("of_peak").min().alias("of_peak_min"),
        polars.col("of_peak").max().alias("of_peak_max"),
        at_median,
        _binding().unique().sort().str.join("; ").alias("binds"),
        polars.col("above_peak").sum(),
        polars.col("modelled").any(),
    )
    order = known.select(*_KIND, "figure", "regime").unique(maintain_order=True)
    joined = order.join(kinds, on=order.columns, how="inner", nulls_equal=True, maintain_order="left")
    return joined.rename({"of_peak": "of_peak_median"})


def _binding() -> polars.Expr:
    """Such as "numa>gpu" or "memory of gpu", out of the words of ``Peak.why``."""
    words = polars.col("bound_by").cast(polars.String).str.replace_all(r":\d+", "")
    words = words.str.replace("limited by ", "").str.replace(r" and \d+ more$", "").str.replace_all("switch:", "")
    return words.str.split(", ").list.unique(maintain_order=True).list.join(", ")
