"""Tiles: the few results that a page shows first: what each kind of path reaches with its fastest method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars

from linkscope.figures.columns import RATE

MOST = 4
_GPU = ("gpu>gpu", "host>gpu", "gpu>host", "gpu")
_ALIKE = 0.01
"""Paths whose results are within this share are shown by their median."""


@dataclass(frozen=True)
class Tile:
    """``values``: GB/s or seconds, (median, median) or from the lowest path to the highest. ``ratios``: of what is
    expected, ``shares``: of the peak; both may be empty. ``where``: tier or cache, where several are shown."""

    movement: str
    where: str
    bytes: int
    way: str
    unit: str
    values: tuple[float, float]
    shares: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()


def tiles(results: polars.DataFrame) -> list[Tile]:
    """Return at most ``MOST``: transfers of a GPU alone, or of a node without one memcpy and load latency.

    ``results`` may have the column ``ratio``, measured over expected.
    """
    frame = results.filter(
        polars.col("value").is_not_null(),
        polars.col("flows") == 1,
        polars.col("background") == 0,
        polars.col("processes").fill_null(1) == 1,
        ~polars.col("calls_included").fill_null(value=False),
    )
    return list(_tiles(frame))[:MOST]


def _tiles(frame: polars.DataFrame) -> Iterator[Tile]:
    rates = frame.filter(polars.col("unit") == RATE)
    if "ratio" not in rates.columns:
        rates = rates.with_columns(ratio=polars.lit(None, polars.Float64))
    for movement in _GPU:
        lines = rates.filter(polars.col("movement") == movement, polars.col("clock") != "host")
        lines = lines.with_columns(tier=polars.col("tier").str.split(", ").list.first())
        tiers = lines.unique("tier", maintain_order=True).sort("peak_gbps", descending=True, nulls_last=True)["tier"]
        for tier in tiers:
            yield _tile(lines.filter(polars.col("tier") == tier), tier if len(tiers) > 1 else "")
    memcpy = rates.filter(polars.col("movement") == "host")
    for cache, lines in (("cold", memcpy.filter(polars.col("cache") != "warm")), ("warm", memcpy)):
        lines = lines.filter(polars.col("cache") == "warm") if cache == "warm" else lines
        if lines.height:
            yield _tile(lines, cache)
    loads = frame.filter(polars.col("movement") == "cpu-reads-own", polars.col("unit") != RATE)
    if loads.height:
        line = loads.sort("bytes", "value", descending=[True, False]).row(0, named=True)
        yield Tile(line["movement"], "", line["bytes"], "", line["unit"], (line["value"], line["value"]))


def _tile(lines: polars.DataFrame, where: str) -> Tile:
    """Return what the fastest method reaches at the size of most paths; of a warm cache at the size that is fastest."""
    fastest = lines.sort("value", descending=True)["bytes"][0]
    most = lines.group_by("bytes").agg(polars.col("path").n_unique()).sort("path", "bytes", descending=True)["bytes"][0]
    lines = lines.filter(polars.col("bytes") == (fastest if where == "warm" else most))
    ways = lines.group_by("way", "memories", maintain_order=True).agg(polars.col("value").median())
    best = ways.sort("value", descending=True, maintain_order=True).row(0, named=True)
    lines = lines.filter(polars.col("way") == best["way"], polars.col("memories") == best["memories"])
    low, high = lines["value"].min(), lines["value"].max()
    middle = lines["value"].median()
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert isinstance(middle, float)
    values = (middle, middle) if high <= low * (1 + _ALIKE) else (low, high)
    shares, ratios = (lines[name].drop_nulls() for name in ("of_peak", "ratio"))
    spans = [(some.min(), some.max()) if some.len() else () for some in (shares, ratios)]
    size = lines["bytes"][0]
    return Tile(lines["movement"][0], where, size, best["way"], RATE, values, *spans)  # type: ignore[arg-type]
