"""Comparing: which results of a run a question takes, what they cost, and which ratios of them are beyond noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars

from linkscope.figures.columns import LIKENESS
from linkscope.figures.run import Run
from linkscope.statistics.interval import Interval
from linkscope.statistics.many import THRESHOLD, beyond_noise

DESCRIBED = (
    *("movement", "tier", "together", "role", "method", "way", "memories", "parameters", "environment"),
    *("clock", "call", "cache", "load", "processes", "figure", "modelled"),
)
"""Columns that say of what a line is. Every frame has them."""
METHOD = ("role", "method", "parameters", "environment", "memories")
"""Columns that say how, beside those of likeness."""
_RATES, _TIMES = (1e-12, 1e9), (1e-15, 1e9)
"""GB/s and seconds that something can have."""


def alike(*free: str) -> tuple[str, ...]:
    """Return the columns that results to be compared share, all of likeness and method but ``free``."""
    return tuple(name for name in (*LIKENESS, *METHOD) if name not in free)


def usable(run: Run) -> polars.DataFrame:
    """Return the results of a run that are ok and possible, without background flows on other hosts."""
    possible = [
        polars.col(f"{name}{bound}").is_between(least, most).fill_null(True)
        for name, (least, most) in (("gbps", _RATES), ("seconds", _TIMES))
        for bound in ("", "_low", "_high")
    ]
    return run.results.filter(polars.col("status") == "ok", *possible)


def alone(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results of one flow with nothing beside it."""
    return results.filter(polars.col("flows") == 1, polars.col("background") == 0)


def with_cost(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results that have a cost, in ``cost``, ``cost_low`` and ``cost_high``: a latency or 1 / rate."""
    is_time = polars.col("figure") == "latency"
    bounds = (("", ""), ("_low", "_high"), ("_high", "_low"))
    costs = [
        polars.when(is_time)
        .then(polars.col(f"seconds{bound}"))
        .otherwise(1 / polars.col(f"gbps{other}"))
        .alias(f"cost{bound}")
        for bound, other in bounds
    ]
    return results.with_columns(costs).filter(polars.col("cost_low") > 0)


def cost(line: Mapping[str, Any], suffix: str = "") -> Interval:
    """Return the cost of a line of ``with_cost``."""
    return Interval(*(line[f"cost{bound}{suffix}"] for bound in ("", "_low", "_high")))


def with_ratio(
    both: polars.DataFrame, of: str, over: str, kind: Sequence[str], name: str, less: float = 0.0
) -> polars.DataFrame:
    """Return lines with the cost of suffix ``of`` over that of ``over``, less ``less``, as ``name`` with its interval.

    ``beyond``: whether that is beyond noise among lines alike in the columns ``kind``; null where it is open.
    """
    ratios = [cost(line, of).over(cost(line, over)) for line in both.iter_rows(named=True)]
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for number, line in enumerate(both.select(kind).iter_rows()):
        kinds.setdefault(line, []).append(number)
    beyond: dict[int, bool | None] = {}
    for members in kinds.values():
        surely = beyond_noise([ratios[number] for number in members], len(ratios))
        beyond |= {one: sure or _open(ratios[one]) for one, sure in zip(members, surely, strict=True)}
    return both.with_columns(
        polars.Series(name, [ratio.value - less for ratio in ratios], polars.Float64),
        polars.Series(f"{name}_low", [ratio.low - less for ratio in ratios], polars.Float64),
        polars.Series(f"{name}_high", [ratio.high - less for ratio in ratios], polars.Float64),
        polars.Series("beyond", [beyond[number] for number in range(len(ratios))], polars.Boolean),
    )


def _open(ratio: Interval) -> bool | None:
    """Return None for a ratio that differs from one by more than 1%, though not beyond noise; False for others."""
    return None if max(ratio.value, 1 / ratio.value) > 1 + THRESHOLD else False


def named_values(suffixes: Mapping[str, str]) -> list[polars.Expr]:
    """Return the rates and times of joined lines as columns: {"": "far", "_near": "near"} gives far_gbps, near_gbps
    and so on. Rates are null beside latencies; ``far`` and ``near`` hold what the line's ``unit`` says."""
    found = []
    for suffix, name in suffixes.items():
        rate = polars.when(polars.col("figure") != "latency").then(polars.col(f"gbps{suffix}"))
        time = polars.col(f"seconds{suffix}")
        found += [rate.alias(f"{name}_gbps"), time.alias(f"{name}_seconds")]
        found.append(rate.fill_null(time).alias(name))
    return found
