"""Costs of figures: what each takes, a time or the inverse of a rate, and what is known of one path together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import polars

from linkscope.analysis.figures import RATE
from linkscope.analysis.headline import OF_ALL
from linkscope.analysis.movement import there_and_back
from linkscope.analysis.size_ranges import LEAST_BOUND
from linkscope.statistics.ranks import OF_RANGE

COSTS = ("cost", "cost_low", "cost_high")
"""Columns, in seconds: the median and its 95 % interval."""
SHORTEST_S, LONGEST_S = 1e-15, 1e6
"""Beyond which no cost is a time that anybody measured."""
OF_RUNS = "cost_of_runs"
"""Column, a list: in each of several runs, if all have it; of several paths or cases a list of them."""
_TIMES = ("seconds", "seconds_low", "seconds_high")


def with_costs(figures: polars.DataFrame, runs: int = 1) -> polars.DataFrame:
    """Ok figures that move bytes, those of messages there and back too, with the cost of each: its time, or that of as
    many bytes at its rate, as figures of several flows together have no one time. ``runs``: of how many the figures
    are, each a replicate."""
    rates = ("gbps", "gbps_high", "gbps_low")
    of_all = polars.col("figure").cast(polars.String).is_in(OF_ALL)
    costs = [
        polars.when(of_all | polars.col(time).is_null())
        .then(polars.col("bytes") / (polars.col(rate) * 1e9))
        .otherwise(polars.col(time))
        .alias(name)
        for time, rate, name in zip(_TIMES, rates, COSTS, strict=True)
    ]
    return (
        figures.filter(polars.col("status").cast(polars.String) == "ok", polars.col("background") == 0)
        .filter(polars.col("bytes") > 0, (polars.col("gbps") > 0) | there_and_back())
        .filter(~polars.col("isolated").fill_null(False))
        .with_columns(costs)
        .filter(polars.col("cost") > 0)
        .with_columns(_of_runs(runs))
        .with_columns(_of_few_samples())
        .with_columns(polars.max_horizontal("cost_low", polars.col("cost") * LEAST_BOUND))
        .unique(["id", "place"], keep="first", maintain_order=True)
    )


def _of_runs(runs: int) -> polars.Expr:
    """Of figures that each of several ``runs`` has; else null."""
    values, cost = polars.col("replicate_values"), polars.col("cost")
    by_rate = values.list.eval(1 / polars.element()) * (cost * polars.col("gbps"))
    by_time = values * (cost / polars.col("seconds"))
    every = polars.lit(runs > 1) & (values.list.len() == runs)
    return (
        polars.when(every).then(polars.when(polars.col("unit") == RATE).then(by_rate).otherwise(by_time)).alias(OF_RUNS)
    )


def _of_few_samples() -> list[polars.Expr]:
    """Bounds of costs that are but the range of a few samples of one replicate: ``interval_of_range`` of them."""
    cost, low, high = (polars.col(name) for name in COSTS)
    over_range = polars.col("n").replace_strict(OF_RANGE, default=None, return_dtype=polars.Float64)
    few = (polars.col("replicates") == 1) & (polars.col("noise") == 0) & over_range.is_not_null() & (low > 0)
    factor = (high / low).pow(over_range)
    return [
        polars.when(few).then(bound).otherwise(as_it_is).alias(name)
        for bound, as_it_is, name in ((cost / factor, low, "cost_low"), (cost * factor, high, "cost_high"))
    ]


def of_one_path() -> list[polars.Expr]:
    """Of what several cases measured, as rows of two suites or of two runs: the middle of costs and of bounds. Where
    intervals of two are disjoint, the bounds that hold all intervals, and as ``disagreement`` what the greatest cost is
    more than the least: 0.12 for 12 %, else 0. Flows of no one path, as the rounds of an all-to-all, and a model's, of
    which clocks are one, agree."""
    cost, low, high = (polars.col(name) for name in COSTS)
    one = polars.col("path").first().cast(polars.String) != ""
    disjoint = one & ~polars.col("modelled").any() & (low.max() > high.min())
    return [
        cost.median(),
        polars.when(disjoint).then(low.min()).otherwise(low.median()).alias("cost_low"),
        polars.when(disjoint).then(high.max()).otherwise(high.median()).alias("cost_high"),
        polars.when(disjoint).then(cost.max() / cost.min() - 1).otherwise(0.0).alias("disagreement"),
        polars.col(OF_RUNS),
        polars.col("of_samples").max(),
    ]


def in_each_run(of_runs: Sequence[Sequence[float] | None]) -> tuple[float, ...]:
    """Of what several paths or cases cost in each of several runs the middle ones; empty where one lacks any."""
    known = [one for one in of_runs if one is not None]
    usable = len(known) == len(of_runs) and all(SHORTEST_S < cost < LONGEST_S for one in known for cost in one)
    return tuple(median(costs) for costs in zip(*known, strict=True)) if usable else ()
