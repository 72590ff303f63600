"""Engines: the most that each method gets out of a kind of link, and which method gets most."""

from __future__ import annotations

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry
from linkscope.answers.answer import Column, Kind
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.messages.finding import Finding, note

_LINK = ("likeness", "role", "memories")


def engines(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each method that drives a kind of link, where at least two do, the best first.

    Between two devices, rates of one flow, or of one flow in each direction at once. ``ceiling_gbps``: of each path the
    best size and parameters, of all paths that every method has the median; ``of_peak`` of that one. ``behind``: how
    much longer the method takes than ``best`` there, 0.06 for 6%, with its 95% interval; ``beyond``: true where that
    is beyond noise, null where noise leaves it open, false within 1%. Rates of caches are left out.
    """
    single = results.filter(
        polars.col("figure").is_in(("first", "sum")) & (polars.col("background") == 0),
        polars.col("together").is_in(("", "both")) & (polars.col("processes") == 1),
        polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
        polars.col("of_peak").fill_null(0.0) <= ABOVE_PEAK,
        polars.col("gbps_low") > 0,
    )
    best = by.with_cost(single).sort("gbps", descending=True, maintain_order=True)
    best = best.unique([*_LINK, "path", "method"], keep="first", maintain_order=True)
    count = polars.col("method").n_unique().over(_LINK)
    shared = best.filter((count >= 2) & (polars.len().over(*_LINK, "path") == count)).drop("paths")
    middle = polars.exclude("path").get((polars.len() - 1) // 2)
    methods = shared.sort("gbps", maintain_order=True).group_by(*_LINK, "method", maintain_order=True)
    median = methods.agg(middle, polars.len().alias("paths"))
    order = single.select(_LINK).unique(maintain_order=True).with_row_index("number")
    numbered = median.join(order, on=_LINK, maintain_order="left")
    ranked = numbered.sort("number", -polars.col("gbps"), maintain_order=True)
    first = ranked.unique("number", keep="first", maintain_order=True)
    both = ranked.join(first, on="number", suffix="_best", maintain_order="left")
    found = by.with_ratio(both, "", "_best", (*_LINK, "method"), "behind", 1.0)
    ceiling, winner = polars.col("gbps").alias("ceiling_gbps"), polars.col("method_best").alias("best")
    return found.select(*by.DESCRIBED, "paths", ceiling, "of_peak", winner, "^behind(_low|_high)?$", "beyond")


_IS_BEST = polars.col("method") == polars.col("best")


def _conclude(frame: polars.DataFrame) -> Finding:
    behind = frame.filter("beyond").sort("behind", maintain_order=True)
    wins = frame.filter(_IS_BEST)
    if behind.is_empty():
        return note("analyze.engines-alike", links=wins.height)
    best, count = wins["best"].value_counts(sort=True).row(0)
    worst = behind.row(-1, named=True)
    facts = {"method": worst["method"], "most": worst["behind"], "movement": worst["movement"]}
    return note("analyze.engines-best", best=best, wins=count, links=wins.height, **facts)


answer = Inquiry(
    key="analyze.engines",
    find=lambda run: engines(by.usable(run)),
    conclude=_conclude,
    columns=(
        Column("ceiling_gbps", Kind.NUMBER),
        Column("of_peak", Kind.PERCENT),
        Column("longer", Kind.CHANGE, mark="open"),
        Column("paths", Kind.COUNT),
    ),
    order=lambda frame: frame.with_columns(polars.when(~_IS_BEST).then("behind").alias("longer")),
)
