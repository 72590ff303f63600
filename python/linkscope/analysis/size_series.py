"""Size series: figures of one thing at several sizes, as fits and saturation sizes need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars

from linkscope.analysis.movement import there_and_back, with_movement

Json = dict[str, Any]

FEWEST = 4
"""Sizes: a line and its interval need three, and one more shows whether it is a line."""
_KEYS = (
    *("movement", "tier", "role", "method", "path", "source_memory", "destination_memory", "members_memory"),
    *("parameters", "regime", "cache", "load", "environment", "processes", "hosts", "together"),
)
KEY_SCHEMA: dict[str, Any] = dict.fromkeys(_KEYS, polars.String) | {"processes": polars.Int32}
"""The columns that name a series."""


def size_series(figures: polars.DataFrame) -> Iterator[tuple[Json, polars.DataFrame]]:
    """Of every series of at least ``FEWEST`` sizes what it is of, and its lines by size, times of one flow,
    and rates but of messages there and back.

    The key has the columns of ``KEY_SCHEMA`` and ``modelled``. Without background; figures of several flows together
    have no time.
    """
    usable = figures.filter(
        polars.col("status").cast(polars.String) == "ok",
        (polars.col("background") == 0) & (polars.col("bytes") > 0),
        (polars.col("gbps_low") > 0) | there_and_back(),
        polars.col("seconds_low") > 0,
    )
    each = with_movement(usable).unique([*_KEYS, "bytes"], keep="first", maintain_order=True)
    several = each.filter(polars.len().over(_KEYS) >= FEWEST)
    for _, lines in several.group_by(_KEYS, maintain_order=True):
        key: Mapping[str, Any] = lines.row(0, named=True)
        yield (
            {**{name: key[name] for name in KEY_SCHEMA}, "modelled": bool(lines["modelled"].any())},
            lines.sort("bytes"),
        )
