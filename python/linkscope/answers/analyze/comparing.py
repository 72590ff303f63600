"""Comparing: which results of a run a question takes, what they cost, and which ratios of them are beyond noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
TELLING_FIRST = polars.col("beyond").replace_strict({True: 0, None: 1, False: 2}, return_dtype=polars.Int8)
"""Order of lines of ``with_ratio``: beyond noise, open, alike."""
BOUNDS = ("", "_low", "_high")
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
        for bound in BOUNDS
    ]
    return run.results.filter(polars.col("status") == "ok", *possible)


def alone(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results of one flow with nothing beside it."""
    return results.filter(polars.col("flows") == 1, polars.col("background") == 0)


def with_cost(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results that have a cost, in ``cost``, ``cost_low`` and ``cost_high``: a latency or 1 / rate."""
    is_time = polars.col("figure") == "latency"
    inverse = zip(BOUNDS, (1 / polars.col(f"gbps{bound}") for bound in ("", "_high", "_low")), strict=True)
    costs = [
        polars.when(is_time).then(polars.col(f"seconds{bound}")).otherwise(cost).alias(f"cost{bound}")
        for bound, cost in inverse
    ]
    return results.with_columns(costs).filter(polars.col("cost_low") > 0)


def interval(line: Mapping[str, Any], name: str, suffix: str = "") -> Interval:
    """Return a column of a line with its bounds: "gbps", "seconds" or the "cost" of ``with_cost``."""
    return Interval(*(line[f"{name}{bound}{suffix}"] for bound in BOUNDS))


def spread(name: str, found: Interval | None) -> dict[str, float | None]:
    """Return an interval as the columns ``name``, ``name_low`` and ``name_high``; null where there is none."""
    values = (found.value, found.low, found.high) if found else (None, None, None)
    return dict(zip((f"{name}{bound}" for bound in BOUNDS), values, strict=True))


def frame_of(lines: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Return lines, all with the same keys, as a frame; without lines it has no columns."""
    return polars.DataFrame(list(lines), infer_schema_length=None)


def with_ratio(
    both: polars.DataFrame, of: str, over: str, kind: Sequence[str], name: str, less: float = 0.0
) -> polars.DataFrame:
    """Return lines with the cost of suffix ``of`` over that of ``over``, less ``less``, as ``name`` with its interval.

    ``beyond``: whether that is beyond noise among lines alike in the columns ``kind``; null where it is open.
    """
    ratios = [interval(line, "cost", of).over(interval(line, "cost", over)) for line in both.iter_rows(named=True)]
    kinds: dict[tuple[Any, ...], list[int]] = {}
    for number, line in enumerate(both.select(kind).iter_rows()):
        kinds.setdefault(line, []).append(number)
    beyond: dict[int, bool | None] = {}
    for members in kinds.values():
        surely = beyond_noise([ratios[number] for number in members], len(ratios))
        beyond |= {one: sure or _open(ratios[one]) for one, sure in zip(members, surely, strict=True)}
    spreads = (spread(name, Interval(one.value - less, one.low - less, one.high - less)) for one in ratios)
    schema = dict.fromkeys((f"{name}{bound}" for bound in BOUNDS), polars.Float64)
    added = polars.DataFrame(list(spreads), schema=schema)
    judged = polars.Series("beyond", [beyond[number] for number in range(len(ratios))], polars.Boolean)
    return polars.concat([both, added, judged.to_frame()], how="horizontal")


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
