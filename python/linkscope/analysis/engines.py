"""Engines: the most that copy engines and each kind of kernel get out of a link, and which of them gets more."""

from __future__ import annotations

import math
from typing import Any

import polars

from linkscope.analysis.beyond_noise import CostRatio, cost_of, marked, with_cost
from linkscope.analysis.movement import with_movement
from linkscope.analysis.peak import ABOVE

Json = dict[str, Any]

_LINK = ("movement", "tier", "role", "source_memory", "destination_memory", "together", "figure", "regime", "load")
_PATH = (*_LINK, "path")
SCHEMA: dict[str, Any] = {
    **dict.fromkeys((*_LINK, "method"), polars.String),
    **{"paths": polars.Int32, "ceiling_gbps": polars.Float64, "of_peak": polars.Float64, "best": polars.String},
    **dict.fromkeys(("behind", "behind_low", "behind_high"), polars.Float64),
    **{"beyond": polars.Boolean, "modelled": polars.Boolean},
}


def engines(figures: polars.DataFrame) -> polars.DataFrame:
    """A line for each method that drives a kind of link, where at least two do, the best first, in the run's order.

    Between two devices, rates of one flow, or of one flow both ways at once. ``ceiling_gbps``: of each path the best
    size and parameters, of all paths that every method has the one in the middle; ``of_peak`` of that one. ``behind``:
    what the method takes longer than ``best`` there, 0.06 for 6 %, with its 95 % interval; ``beyond``: whether that is
    more than noise (``beyond_noise``). Figures of caches, above 1.03 of their peak, are left out.
    """
    alone = with_movement(
        figures.filter(
            polars.col("status").cast(polars.String) == "ok",
            polars.col("figure").cast(polars.String).is_in(("first", "sum")) & (polars.col("background") == 0),
            polars.col("together").cast(polars.String).is_in(("", "both ways")) & (polars.col("processes") == 1),
            polars.col("source").is_not_null() & polars.col("destination").is_not_null(),
            polars.col("of_peak").fill_null(0.0) <= ABOVE,
            polars.col("gbps_low") > 0,
        )
    )
    best = (
        with_cost(alone)
        .sort("gbps", descending=True, maintain_order=True)
        .unique([*_PATH, "method"], keep="first", maintain_order=True)
    )
    found: list[tuple[CostRatio, Json]] = []
    order = alone.select(_LINK).unique(maintain_order=True).with_row_index("number")
    links = best.join(order, on=_LINK, nulls_equal=True).sort("number", maintain_order=True)
    for _, link in links.group_by("number", maintain_order=True):
        found += _of_link(link)
    return polars.DataFrame(marked(found, (*_LINK, "method")), schema=SCHEMA, orient="row")


def _of_link(link: polars.DataFrame) -> list[tuple[CostRatio, Json]]:
    methods = link["method"].n_unique()
    shared = link.filter(polars.len().over("path") == methods)
    if methods < 2 or shared.is_empty():
        return []
    middle = [
        lines.sort("gbps", maintain_order=True).row((len(lines) - 1) // 2, named=True)
        for _, lines in shared.group_by("method", maintain_order=True)
    ]
    middle.sort(key=lambda line: -line["gbps"])
    return [_line(line, middle[0], shared["path"].n_unique()) for line in middle]


def _line(line: Json, best: Json, paths: int) -> tuple[CostRatio, Json]:
    ratio = CostRatio.of(cost_of(line), cost_of(best))
    return ratio, {
        **{name: line[name] for name in (*_LINK, "method", "of_peak", "modelled")},
        **{"paths": paths, "ceiling_gbps": line["gbps"], "best": best["method"]},
        **{"behind": math.expm1(ratio.middle), "behind_low": math.expm1(ratio.low)},
        "behind_high": math.expm1(ratio.high),
    }
