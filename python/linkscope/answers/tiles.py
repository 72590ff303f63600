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
    values: tuple[float, ...]
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
    for cache, warm in (("cold", False), ("warm", True)):
        lines = memcpy.filter((polars.col("cache") == "warm") == warm)
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
    values, shares, ratios = (_span(lines[name]) for name in ("value", "of_peak", "ratio"))
    low, high = values
    values = (best["value"], best["value"]) if high <= low * (1 + _ALIKE) else (low, high)
    return Tile(lines["movement"][0], where, lines["bytes"][0], best["way"], RATE, values, shares, ratios)


def _span(values: polars.Series) -> tuple[float, ...]:
    found = sorted(values.drop_nulls())
    return (found[0], found[-1]) if found else ()
