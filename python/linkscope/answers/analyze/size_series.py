"""Size series: results of one thing at several sizes, as fits and saturation sizes need them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from linkscope.answers.analyze.comparing import DESCRIBED, alike

Json = dict[str, Any]

FEWEST = 4
"""Sizes: a line and its interval need three, and one more shows whether it is a line."""
_SERIES = (*alike("figure"), "path")


def size_series(results: polars.DataFrame) -> Iterator[tuple[Json, polars.DataFrame]]:
    """Yield for every series of at least ``FEWEST`` sizes what it is of, and its lines by size.

    Lines have the time of one flow, and a rate unless they are of messages there and back.
    """
    there_and_back = (polars.col("class") == "processes") & (polars.col("call") == "ping-pong")
    known = results.filter(
        (polars.col("background") == 0) & (polars.col("bytes") > 0) & (polars.col("seconds_low") > 0),
        (polars.col("gbps_low") > 0) | there_and_back,
    )
    series = known.unique([*_SERIES, "bytes"], keep="first", maintain_order=True)
    for _, lines in series.filter(polars.len().over(_SERIES) >= FEWEST).group_by(_SERIES, maintain_order=True):
        yield lines.select(*DESCRIBED, "path", "hosts").row(0, named=True), lines.sort("bytes")
