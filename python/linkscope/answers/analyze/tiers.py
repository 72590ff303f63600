"""Tiers: the speed classes that a measured matrix falls into, compared with those of the topology."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry
from linkscope.answers.answer import Column, Kind
from linkscope.machine.paths import Paths
from linkscope.messages.finding import Finding, note

Json = dict[str, Any]

SAME, MERGED, OFF = "same", "merged", "off"
_MATRIX = (*by.alike("tier"), "bytes")
_TOLERANCE, _HOST_TOLERANCE = {"gpu>gpu": 0.03}, 0.05
"""Greatest difference of healthy peers on one node: three times that of recorded nodes."""


def tiers(results: polars.DataFrame, paths: Paths) -> polars.DataFrame:
    """Return a line for each measured tier of each matrix of at least two pairs, fastest first, in the run's order.

    Rates in ascending order are cut where one is above the next lower one by more than both 95% intervals (added in
    quadrature, on logarithms) and by more than healthy peers differ: single linkage (Sneath and Sokal, Numerical
    Taxonomy, 1973) in one dimension. Of several sizes the one with most pairs counts, and of those the largest.

    ``tiers``: those of the topology that the pairs have. ``agree``, of the whole matrix: "same"; "merged" where pairs
    of several peaks are equally fast, as where the method limits them; "off" where a pair is not in the measured tier
    in which most of its topology tier are. ``off`` names those pairs.
    """
    rates = by.alone(results).filter(
        (polars.col("figure") == "first") & (polars.col("gbps_low") > 0),
        (polars.col("hosts") == "") & (polars.col("source") != polars.col("destination")),
    )
    each = rates.unique([*_MATRIX, "path"], keep="first", maintain_order=True)
    counted = each.with_columns(polars.len().over(_MATRIX).alias("known"))
    fullest = counted.sort("known", "bytes", descending=True, maintain_order=True)
    fullest = fullest.unique(_MATRIX[:-1], keep="first", maintain_order=True).select(_MATRIX)
    matrices = each.join(fullest, on=_MATRIX, how="semi", nulls_equal=True, maintain_order="left")
    groups = matrices.group_by(_MATRIX, maintain_order=True)
    return by.frame_of(line for _, matrix in groups for line in _of_matrix(matrix, paths))


def _of_matrix(matrix: polars.DataFrame, paths: Paths) -> Iterator[Json]:
    pairs = [line | known for line in matrix.iter_rows(named=True) if (known := _known(line, paths))]
    if len(pairs) < 2:
        return
    groups = _clusters(pairs, math.log1p(_TOLERANCE.get(pairs[0]["movement"], _HOST_TOLERANCE)))
    homes = {tier: _home(groups, tier) for tier in {pair["tier"] for pair in pairs}}
    peaks = {(homes[pair["tier"]], pair["peak"]) for pair in pairs}
    off = [[pair["path"] for pair in group if homes[pair["tier"]] != at] for at, group in enumerate(groups)]
    agree = OFF if any(off) else SAME if len(peaks) == len({home for home, _ in peaks}) else MERGED
    for at, group in enumerate(groups):
        rates = [pair["gbps"] for pair in group]
        yield {
            **{name: pairs[0][name] for name in (*by.DESCRIBED, "bytes") if name != "tier"},
            **{"agree": agree, "measured_tier": at + 1, "pairs": len(group), "off": off[at]},
            **{"gbps_min": rates[-1], "gbps_median": rates[len(rates) // 2], "gbps_max": rates[0]},
            "tiers": list(dict.fromkeys(pair["tier"] for pair in group)),
        }


def _known(line: Json, paths: Paths) -> Json:
    """Return the topology's tier and peak of a pair; nothing where the recorded topology does not know its path."""
    try:
        path = paths.between(line["source"], line["destination"])
    except KeyError:
        return {}
    return {"tier": path.tier, "peak": path.peak_gbps} if path is not None else {}


def _clusters(pairs: Sequence[Json], tolerance: float) -> list[list[Json]]:
    """Return the groups, fastest first, and so each group's pairs."""
    ordered = sorted(pairs, key=lambda pair: -pair["gbps"])
    groups = [[ordered[0]]]
    for faster, slower in pairwise(ordered):
        ratio = by.interval(faster, "gbps").over(by.interval(slower, "gbps"))
        if math.log(ratio.value) > tolerance and ratio.low > 1:
            groups.append([])
        groups[-1].append(slower)
    return groups


def _home(groups: Sequence[Sequence[Json]], tier: str) -> int:
    """Return the measured tier with most pairs of a topology tier; of equals the fastest."""
    counts = [sum(pair["tier"] == tier for pair in group) for group in groups]
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
    code = "analyze.tiers-merged" if merged else "analyze.tiers-agree"
    return note(code, merged=merged, matrices=matrices.height)


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    ends = polars.concat_list("gbps_min", "gbps_max").alias("gbps")
    return frame.sort(polars.col("agree") != OFF, maintain_order=True).with_columns(ends)


answer = Inquiry(
    key="analyze.tiers",
    find=lambda run: tiers(by.usable(run), run.paths),
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
