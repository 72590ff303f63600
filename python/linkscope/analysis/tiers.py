"""Tiers: the speed classes that a measured matrix falls into, against those of the topology."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars

from linkscope.analysis.ledger import SIBLING_TOLERANCE
from linkscope.analysis.movement import with_movement
from linkscope.machine.paths import Paths

Json = dict[str, Any]

SAME, MERGED, OFF = "same", "merged", "off"
_MATRIX = (
    *("movement", "role", "method", "source_memory", "destination_memory", "parameters", "bytes"),
    *("regime", "cache", "load", "environment", "processes"),
)
SCHEMA: dict[str, Any] = {
    **dict.fromkeys(_MATRIX, polars.String),
    **{"bytes": polars.Int64, "processes": polars.Int32, "agree": polars.String, "measured_tier": polars.Int32},
    **dict.fromkeys(("gbps_min", "gbps_median", "gbps_max"), polars.Float64),
    **{"pairs": polars.Int32, "tiers": polars.String, "off": polars.List(polars.String), "modelled": polars.Boolean},
}


@dataclass(frozen=True)
class _Pair:
    """One figure of a matrix; GB/s."""

    source: str
    destination: str
    gbps: float
    low: float
    high: float
    tier: str
    peak_gbps: float | None


def tiers(figures: polars.DataFrame, paths: Paths) -> polars.DataFrame:
    """A line for each measured tier of each matrix of at least two pairs, fastest first, matrices in the run's order.

    Rates in ascending order are cut where one is above the next lower one by more than both 95 % intervals (added in
    quadrature, on logarithms) and by more than healthy siblings differ (``SIBLING_TOLERANCE``): single linkage (Sneath
    and Sokal, Numerical Taxonomy, 1973) in one dimension. Of several sizes the one with
    most pairs counts, and of those the largest.

    ``tiers``: those of the topology that the pairs have. ``agree``, of the whole matrix: "same"; "merged" where pairs
    of several peaks are equally fast, as where the method limits them; "off" where a pair is
    not in the measured tier in which most of its topology tier are. ``off`` names those pairs.
    """
    alone = with_movement(
        figures.filter(
            (polars.col("status").cast(polars.String) == "ok") & (polars.col("figure").cast(polars.String) == "first"),
            (polars.col("flows") == 1) & (polars.col("background") == 0) & (polars.col("gbps_low") > 0),
            (polars.col("hosts").cast(polars.String) == "")
            & (polars.col("source").cast(polars.String) != polars.col("destination").cast(polars.String)),
        )
    ).unique([*_MATRIX, "path"], keep="first", maintain_order=True)
    fullest = (
        alone.with_columns(polars.len().over(_MATRIX).alias("known"))
        .sort("known", "bytes", descending=True, maintain_order=True)
        .unique([name for name in _MATRIX if name != "bytes"], keep="first", maintain_order=True)
        .select(_MATRIX)
    )
    matrices = alone.join(fullest, on=_MATRIX, how="semi", nulls_equal=True)
    found: list[Json] = []
    for _, matrix in matrices.group_by(_MATRIX, maintain_order=True):
        found += _of_matrix(matrix, paths)
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _of_matrix(matrix: polars.DataFrame, paths: Paths) -> list[Json]:
    lines = list(matrix.iter_rows(named=True))
    pairs = [pair for line in lines if (pair := _pair(line, paths)) is not None]
    if len(pairs) < 2:
        return []
    tolerance = math.log1p(SIBLING_TOLERANCE["peer" if lines[0]["movement"].startswith("GPU to GPU") else "host"])
    groups = _clusters(pairs, tolerance)
    homes = {tier: _home(groups, tier) for tier in {pair.tier for pair in pairs}}
    peaks = {(homes[pair.tier], pair.peak_gbps) for pair in pairs}
    off = [[pair for pair in group if homes[pair.tier] != number] for number, group in enumerate(groups)]
    agree = OFF if any(off) else SAME if len(peaks) == len({home for home, _ in peaks}) else MERGED
    key = {name: lines[0][name] for name in (*_MATRIX, "modelled")}
    return [
        {
            **key,
            "agree": agree,
            "measured_tier": number + 1,
            "gbps_min": group[-1].gbps,
            "gbps_median": group[len(group) // 2].gbps,
            "gbps_max": group[0].gbps,
            "pairs": len(group),
            "tiers": ", ".join(dict.fromkeys(pair.tier for pair in group)),
            "off": [f"{pair.source}>{pair.destination}" for pair in off[number]],
        }
        for number, group in enumerate(groups)
    ]


def _pair(line: Json, paths: Paths) -> _Pair | None:
    """None where the recorded topology does not know the way."""
    try:
        way = paths.between(line["source"], line["destination"])
    except KeyError:
        return None
    if way is None:
        return None
    rates = (line["gbps"], line["gbps_low"], line["gbps_high"])
    return _Pair(line["source"], line["destination"], *rates, way.tier, way.peak_gbps)


def _clusters(pairs: Iterable[_Pair], tolerance: float) -> list[list[_Pair]]:
    """Fastest first, also within each."""
    ordered = sorted(pairs, key=lambda pair: -pair.gbps)
    groups = [[ordered[0]]]
    for faster, slower in pairwise(ordered):
        gap = math.log(faster.gbps / slower.gbps)
        if gap > max(tolerance, math.hypot(math.log(faster.gbps / faster.low), math.log(slower.high / slower.gbps))):
            groups.append([])
        groups[-1].append(slower)
    return groups


def _home(groups: Sequence[Sequence[_Pair]], tier: str) -> int:
    """The measured tier with most pairs of a topology tier; of equals the fastest."""
    counts = [sum(pair.tier == tier for pair in group) for group in groups]
    return counts.index(max(counts))
