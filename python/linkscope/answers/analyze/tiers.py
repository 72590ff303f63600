"""Tiers: the speed classes that a measured matrix falls into, compared with those of the topology."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered
from linkscope.answers.analyze.comparing import DESCRIBED, alike, alone, usable
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.columns import SCHEMA as RESULTS
from linkscope.figures.run import Run
from linkscope.machine.paths import Paths
from linkscope.messages.finding import Finding, note
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

SAME, MERGED, OFF = "same", "merged", "off"
_MATRIX = alike("tier")
_TOLERANCE = {"gpu>gpu": 0.03}
_HOST_TOLERANCE = 0.05
"""How far healthy peers on one node may be apart: three times what recorded nodes show."""
_KEY = tuple(name for name in (*DESCRIBED, "bytes") if name != "tier")
SCHEMA: dict[str, Any] = {
    **{name: RESULTS[name] for name in _KEY},
    **{"agree": polars.String, "measured_tier": polars.Int32},
    **dict.fromkeys(("gbps_min", "gbps_median", "gbps_max"), polars.Float64),
    **{"pairs": polars.Int32, "tiers": polars.List(polars.String), "off": polars.List(polars.String)},
}


@dataclass(frozen=True)
class _Pair:
    """One result of a matrix; GB/s."""

    path: str
    gbps: Interval
    tier: str
    peak_gbps: float | None


def answer(run: Run) -> Answer:
    """Return whether rates fall into the topology's speed classes."""
    return answered(_QUESTION, run, tiers(usable(run), run.paths))


def tiers(results: polars.DataFrame, paths: Paths) -> polars.DataFrame:
    """Return a line for each measured tier of each matrix of at least two pairs, fastest first, in the run's order.

    Rates in ascending order are cut where one is above the next lower one by more than both 95% intervals (added in
    quadrature, on logarithms) and by more than healthy peers differ: single linkage (Sneath and Sokal, Numerical
    Taxonomy, 1973) in one dimension. Of several sizes the one with most pairs counts, and of those the largest.

    ``tiers``: those of the topology that the pairs have. ``agree``, of the whole matrix: "same"; "merged" where pairs
    of several peaks are equally fast, as where the method limits them; "off" where a pair is not in the measured tier
    in which most of its topology tier are. ``off`` names those pairs.
    """
    rates = alone(results).filter(
        polars.col("figure") == "first",
        polars.col("gbps_low") > 0,
        polars.col("hosts") == "",
        polars.col("source") != polars.col("destination"),
    )
    each = rates.unique([*_MATRIX, "bytes", "path"], keep="first", maintain_order=True)
    fullest = (
        each.with_columns(polars.len().over(*_MATRIX, "bytes").alias("known"))
        .sort("known", "bytes", descending=True, maintain_order=True)
        .unique(_MATRIX, keep="first", maintain_order=True)
        .select(*_MATRIX, "bytes")
    )
    matrices = each.join(fullest, on=[*_MATRIX, "bytes"], how="semi", nulls_equal=True, maintain_order="left")
    found: list[Json] = []
    for _, matrix in matrices.group_by(*_MATRIX, "bytes", maintain_order=True):
        found += _of_matrix(matrix, paths)
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _of_matrix(matrix: polars.DataFrame, paths: Paths) -> list[Json]:
    lines = list(matrix.iter_rows(named=True))
    pairs = [pair for line in lines if (pair := _pair(line, paths)) is not None]
    if len(pairs) < 2:
        return []
    groups = _clusters(pairs, math.log1p(_TOLERANCE.get(lines[0]["movement"], _HOST_TOLERANCE)))
    homes = {tier: _home(groups, tier) for tier in {pair.tier for pair in pairs}}
    peaks = {(homes[pair.tier], pair.peak_gbps) for pair in pairs}
    off = [[pair.path for pair in group if homes[pair.tier] != number] for number, group in enumerate(groups)]
    agree = OFF if any(off) else SAME if len(peaks) == len({home for home, _ in peaks}) else MERGED
    return [
        {
            **{name: lines[0][name] for name in _KEY},
            **{"agree": agree, "measured_tier": number + 1, "pairs": len(group), "off": off[number]},
            **{"gbps_min": group[-1].gbps.value, "gbps_max": group[0].gbps.value},
            **{"gbps_median": group[len(group) // 2].gbps.value},
            "tiers": list(dict.fromkeys(pair.tier for pair in group)),
        }
        for number, group in enumerate(groups)
    ]


def _pair(line: Json, paths: Paths) -> _Pair | None:
    """Return None where the recorded topology does not know the path."""
    try:
        path = paths.between(line["source"], line["destination"])
    except KeyError:
        return None
    if path is None:
        return None
    rate = Interval(line["gbps"], line["gbps_low"], line["gbps_high"])
    return _Pair(f"{line['source']}>{line['destination']}", rate, path.tier, path.peak_gbps)


def _clusters(pairs: Iterable[_Pair], tolerance: float) -> list[list[_Pair]]:
    """Return the groups, fastest first, and so each group's pairs."""
    ordered = sorted(pairs, key=lambda pair: -pair.gbps.value)
    groups = [[ordered[0]]]
    for faster, slower in pairwise(ordered):
        ratio = faster.gbps.over(slower.gbps)
        if math.log(ratio.value) > tolerance and ratio.low > 1:
            groups.append([])
        groups[-1].append(slower)
    return groups


def _home(groups: Sequence[Sequence[_Pair]], tier: str) -> int:
    """Return the measured tier with most pairs of a topology tier; of equals the fastest."""
    counts = [sum(pair.tier == tier for pair in group) for group in groups]
    return counts.index(max(counts))


def _conclude(frame: polars.DataFrame) -> Finding:
    matrices = frame.filter(polars.col("measured_tier") == 1)
    off = sorted({pair for pairs in frame["off"].to_list() for pair in pairs})
    if off:
        shared = set.intersection(*({*pair.split(">")} for pair in off))
        if len(off) > 1 and len(shared) == 1:
            return note("analyze.tiers-off-device", off=len(off), device=shared.pop(), pairs=off)
        return note("analyze.tiers-off", off=len(off), pairs=off)
    merged = matrices.filter(polars.col("agree") == MERGED).height
    if merged:
        return note("analyze.tiers-merged", merged=merged, matrices=matrices.height)
    return note("analyze.tiers-agree", matrices=matrices.height)


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    ends = polars.concat_list("gbps_min", "gbps_max").alias("gbps")
    return frame.sort(polars.col("agree") != OFF, maintain_order=True).with_columns(ends)


_QUESTION = Inquiry(
    key="analyze.tiers",
    conclude=_conclude,
    columns=(
        Column("measured_tier", Kind.COUNT),
        Column("gbps", Kind.NUMBER),
        Column("pairs", Kind.COUNT),
        Column("tiers"),
        Column("off", Kind.PATH, detail=True),
    ),
    order=_order,
    first=8,
)
