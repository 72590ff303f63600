"""Joined: the results of several runs of one node as one frame, where a run's result is one replicate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import polars

from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.results.replicates import MOST_FAILURES, WIDEST
from linkscope.results.same_machine import same_machine
from linkscope.statistics.ranks import t975

_LINE = ["id", "place", "figure"]
_QUANTITIES = ("value", "gbps", "seconds")


def joined(runs: Sequence[Run]) -> polars.DataFrame:
    """Return every result of several runs once, with the columns of figures/columns.py; of one run what that has.

    A result is the median over the runs that have it; its interval is Student's over them, on logarithms, and no
    narrower than what samples leave open in one. ``replicate_values`` has a value of each run. Raises LinkscopeError
    where runs are of different nodes, are one run, or used different MPI libraries.
    """
    _check(runs)
    if len(runs) == 1:
        return runs[0].results
    every = polars.concat(run.results for run in runs).with_row_index("order")
    every = every.with_columns(polars.col("order").min().over(_LINE))
    failed = (polars.col("status") == "failed").sum().over(_LINE)
    usable = every.filter((failed <= MOST_FAILURES) & (polars.col("status") == "ok"))
    lost = every.join(usable, on=_LINE, how="anti", nulls_equal=True)
    lost = (
        lost.sort(polars.col("status") == "failed", maintain_order=True)
        .group_by(_LINE, maintain_order=True)
        .agg(_rest().last())
    )
    whole = usable.group_by(_LINE, maintain_order=True).agg(
        _rest().last(), polars.len().cast(polars.Int32).alias("runs"), *_spread()
    )
    freedom = {count: t975(count - 1) / count**0.5 for count in range(2, len(runs) + 1)}
    by_count = polars.col("runs").replace_strict(freedom, default=0.0, return_dtype=polars.Float64)
    whole = whole.with_columns(by_count.alias("by_count")).with_columns(
        *(column for name in _QUANTITIES for column in _interval(name)),
        polars.when(polars.col("runs") > 1).then(0.0).otherwise("noise").alias("noise"),
        *(polars.when(polars.col("runs") > 1).then(new).otherwise(old).alias(old) for new, old in _OF_RUNS.items()),
    )
    columns = ["order", *runs[0].results.columns]
    return polars.concat([lost.select(columns), whole.select(columns)]).sort("order").drop("order")


_OF_RUNS = {"all_n": "n", "runs": "replicates", "all_values": "replicate_values", "value_within": "of_samples"}
"""Column over several runs -> column that it replaces where several have the result."""


def _rest() -> polars.Expr:
    return polars.exclude(_LINE)


def _spread() -> Iterator[polars.Expr]:
    yield polars.col("n").sum().alias("all_n")
    yield polars.col("value").alias("all_values")
    for name in _QUANTITIES:
        value, low, high = (polars.col(f"{name}{end}") for end in ("", "_low", "_high"))
        yield value.log().median().exp().alias(f"{name}_median")
        yield value.log().mean().alias(f"{name}_mean")
        yield value.log().std().alias(f"{name}_std")
        yield ((high - low) / 2 / value).median().alias(f"{name}_within")
        yield low.min().alias(f"{name}_least")
        yield high.max().alias(f"{name}_most")
        yield value.min().alias(f"{name}_min")


def _interval(name: str) -> Iterator[polars.Expr]:
    """Yield the value over several runs and the bounds of its interval."""
    several, positive = polars.col("runs") > 1, polars.col(f"{name}_min") > 0
    middle, mean = polars.col(f"{name}_median"), polars.col(f"{name}_mean")
    between = polars.col(f"{name}_std") * polars.col("by_count")
    within = polars.col(f"{name}_within") / polars.col("runs").cast(polars.Float64).sqrt()
    margin = polars.max_horizontal(between, within).clip(upper_bound=WIDEST)
    low, high = (
        polars.min_horizontal((mean - margin).exp(), middle),
        polars.max_horizontal((mean + margin).exp(), middle),
    )
    yield polars.when(several & positive).then(middle).otherwise(name).alias(name)
    for bound, end, extreme in ((low, "low", "least"), (high, "high", "most")):
        of_several = polars.when(positive).then(bound).otherwise(f"{name}_{extreme}")
        yield polars.when(several).then(of_several).otherwise(f"{name}_{end}").alias(f"{name}_{end}")


def _check(runs: Sequence[Run]) -> None:
    for one, other in combinations(runs, 2):
        pair = {"one": str(one.path), "other": str(other.path)}
        if not same_machine(one.file, other.file):
            raise problem("choose.other-node", **pair)
        if one.file.rows and one.file.rows == other.file.rows:
            raise problem("choose.same-run", **pair)
    libraries: dict[str, dict[str, None]] = {}
    for row in (row for run in runs for row in run.file.rows):
        libraries.setdefault(row.id, {}).update(dict.fromkeys(row.libraries))
    for found in libraries.values():
        if len(found) > 1:
            raise problem("choose.other-library", libraries=list(found))
