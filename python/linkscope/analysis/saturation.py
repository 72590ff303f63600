"""Saturation: from which size on a path gives half, 80 and 90 % of what it gives in the end, as measured; of rates that
fall with size where they do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

import polars

from linkscope.analysis.size_series import KEY_SCHEMA, size_series

Json = dict[str, Any]

SHARES = {"half": 0.5, "share80": 0.8, "share90": 0.9}
RISING = 0.02
"""A rate that still grew by more with the last step of size has not reached its end."""
KEPT = 0.9
"""Share of the largest rate: below it a rate has fallen."""
SCHEMA: dict[str, Any] = {
    **KEY_SCHEMA,
    **{"modelled": polars.Boolean, "largest_bytes": polars.Int64, "gbps": polars.Float64, "rising": polars.Boolean},
    **{"falling": polars.Boolean, "best_gbps": polars.Float64, "best_bytes": polars.Int64, "kept_bytes": polars.Int64},
    "cached": polars.Boolean,
    **{f"{name}_bytes{bound}": polars.Float64 for name in SHARES for bound in ("", "_low", "_high")},
}


@dataclass(frozen=True)
class Rate:
    """GB/s at a size in bytes; low to high is the 95 % interval."""

    size: int
    gbps: float
    low: float
    high: float


def saturation(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each size series of rates, in the order of the run.

    ``half_bytes``, ``share80_bytes``, ``share90_bytes``: from there on every rate is at least that share of ``gbps``,
    the rate at the largest size; interpolated between the two measured sizes around it, rates and sizes on logarithms.
    ``low`` and ``high``: the measured sizes between which that is for sure, since below ``low`` not even the upper
    bounds of the rates reach the share of the lower bound of the last rate, and from ``high`` on all lower bounds that
    of the upper one. Null where already the smallest size reaches it. ``rising``: the last step of size still brought
    more than 2 %, so that all of these are lower bounds.

    ``best_gbps`` at ``best_bytes``: the largest rate, where the one at the largest size is surely below another, and
    below 90 % of the largest; up to ``kept_bytes`` 90 % of it are kept. Null elsewhere. ``falling``: it is so and not
    ``rising``. Then there is no size from which on it saturates (all null). ``cached``: CPUs of one process moved it
    alone, and nothing was done against caches, so that these may have served small sizes.
    """
    found = []
    for key, lines in size_series(figures.filter(polars.col("gbps").is_not_null())):
        rates = [Rate(*line) for line in lines.select("bytes", "gbps", "gbps_low", "gbps_high").iter_rows()]
        last, before = rates[-1], rates[-2]
        line = {**key, "largest_bytes": last.size, "gbps": last.gbps}
        rising, below = last.gbps > before.gbps * (1 + RISING), falls(rates)
        line |= {"rising": rising, "falling": below and not rising, "cached": _cached(lines.row(0, named=True))}
        line |= _largest(rates) if below else {}
        if line["falling"]:
            found.append(line)
            continue
        for name, share in SHARES.items():
            sizes = reaching(rates, share)
            if sizes is not None:
                line |= dict(zip((f"{name}_bytes{b}" for b in ("", "_low", "_high")), sizes, strict=True))
        found.append(line)
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def falls(rates: Sequence[Rate]) -> bool:
    """Whether the last is surely below another, and below 90 % of the largest."""
    last = rates[-1]
    return last.gbps < KEPT * max(rate.gbps for rate in rates) and any(rate.low > last.high for rate in rates)


def _cached(line: Json) -> bool:
    alone = line["processes"] == 1 and line["flows"] == 1 and line["members"] is None
    return alone and line["cache"] == "warm" and str(line["executor"]).startswith("numa:")


def _largest(rates: Sequence[Rate]) -> dict[str, float]:
    """The largest rate, its size, and the last size from there on before one at which less than 90 % of it is left."""
    best = max(rates, key=lambda rate: rate.gbps)
    beyond = [rate for rate in rates if rate.size >= best.size]
    kept = list(takewhile(lambda rate: rate.gbps >= KEPT * best.gbps, beyond))
    return {"best_gbps": best.gbps, "best_bytes": best.size, "kept_bytes": kept[-1].size}


def reaching(rates: Sequence[Rate], share: float) -> tuple[float, float, float] | None:
    """Size from which on all rates are ``share`` of the last one, and its bounds; None where they all are."""
    last = rates[-1]
    middle = _crossing([(rate.size, rate.gbps) for rate in rates], share * last.gbps)
    if middle is None:
        return None
    low = _crossing([(rate.size, rate.high) for rate in rates], share * last.low) or rates[0].size
    high = _crossing([(rate.size, rate.low) for rate in rates], share * last.high) or middle
    return (
        middle,
        max(rate.size for rate in rates if rate.size <= max(min(low, middle), rates[0].size)),
        min(rate.size for rate in rates if rate.size >= min(max(high, middle), last.size)),
    )


def _crossing(rates: Sequence[tuple[int, float]], wanted: float) -> float | None:
    """Where the rates exceed what is wanted for good; the last size where they do not, None where they always do."""
    for (size, rate), (larger, more) in reversed(list(pairwise(rates))):
        if rate < wanted <= more:
            if rate <= 0 or size <= 0:
                return float(larger)
            return math.exp(math.log(size) + math.log(larger / size) * math.log(wanted / rate) / math.log(more / rate))
        if more < wanted:
            return float(larger)
    return None if rates[0][1] >= wanted else float(rates[-1][0])
