"""Size series: results of one thing at several sizes, as fits and saturation sizes need them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from linkscope.answers.analyze.comparing import DESCRIBED, alike
from linkscope.figures.columns import SCHEMA as RESULTS

Json = dict[str, Any]

FEWEST = 4
"""Sizes: a line and its interval need three, and one more shows whether it is a line."""
_SERIES = (*alike("figure"), "path")
KEY_SCHEMA: dict[str, Any] = {name: RESULTS[name] for name in (*DESCRIBED, "path", "hosts")}


def size_series(results: polars.DataFrame) -> Iterator[tuple[Json, polars.DataFrame]]:
    """Yield for every series of at least ``FEWEST`` sizes what it is of, and its lines by size.

    Lines have the time of one flow, and a rate unless they are of messages there and back. The key has the columns of
    ``KEY_SCHEMA``.
    """
    there_and_back = (polars.col("class") == "processes") & (polars.col("call") == "ping-pong")
    series = (
        results.filter(
            (polars.col("background") == 0) & (polars.col("bytes") > 0),
            (polars.col("gbps_low") > 0) | there_and_back,
            polars.col("seconds_low") > 0,
        )
        .unique([*_SERIES, "bytes"], keep="first", maintain_order=True)
        .filter(polars.len().over(_SERIES) >= FEWEST)
    )
    for _, lines in series.group_by(_SERIES, maintain_order=True):
        yield lines.select(*KEY_SCHEMA).row(0, named=True), lines.sort("bytes")
