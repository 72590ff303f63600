"""Comparing: which results of a run a question takes, what they cost, and which ratios of them are beyond noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars

from linkscope.figures.columns import LIKENESS, TIME
from linkscope.figures.run import Run
from linkscope.statistics.interval import Interval
from linkscope.statistics.many import THRESHOLD, beyond_noise

Json = dict[str, Any]

DESCRIBED = (
    *("movement", "tier", "together", "role", "method", "way", "memories", "parameters", "environment"),
    *("clock", "call", "cache", "load", "processes", "figure", "modelled"),
)
"""Columns that say of what a line is. Every frame has them."""
METHOD = ("role", "method", "parameters", "environment", "memories")
"""Columns that say how, beside those of likeness."""
TELLING_FIRST = polars.col("beyond").replace_strict({True: 0, None: 1, False: 2}, return_dtype=polars.Int8)
"""Order of lines of ``with_ratio``: beyond noise, open, alike."""
BOUNDS = ("", "_low", "_high")
FEWEST = 4
"""Sizes of a series: a line and its interval need three, and one more shows whether it is a line."""
_POSSIBLE = {"gbps": (1e-12, 1e9), "seconds": (1e-15, 1e9)}
"""GB/s and seconds that something can have."""


def alike(*free: str) -> tuple[str, ...]:
    """Return the columns that results to be compared share, all of likeness and method but ``free``."""
    return tuple(name for name in (*LIKENESS, *METHOD) if name not in free)


def usable(run: Run) -> polars.DataFrame:
    """Return the results of a run that are ok and possible."""
    return run.results.filter(
        polars.col("status") == "ok",
        *(
            polars.all_horizontal(polars.col(f"^{name}(_low|_high)?$").is_between(*ends).fill_null(True))
            for name, ends in _POSSIBLE.items()
        ),
    )


def alone(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results of one flow with nothing beside it."""
    return results.filter(polars.col("flows") == 1, polars.col("background") == 0)


def with_cost(results: polars.DataFrame) -> polars.DataFrame:
    """Return the results that have a cost, in ``cost``, ``cost_low`` and ``cost_high``: a time or 1 / rate."""
    time = polars.col("unit") == TIME
    inverse = zip(BOUNDS, ("", "_high", "_low"), strict=True)
    return results.with_columns(
        polars.when(time).then(f"value{bound}").otherwise(1 / polars.col(f"value{other}")).alias(f"cost{bound}")
        for bound, other in inverse
    ).filter(polars.col("cost_low") > 0)


def size_series(results: polars.DataFrame) -> Iterator[tuple[Json, polars.DataFrame]]:
    """Yield for every series of at least ``FEWEST`` sizes what it is of, and its lines by size.

    Lines have the time of one flow, and a rate unless they are of messages there and back.
    """
    there_and_back = (polars.col("class") == "processes") & (polars.col("call") == "ping-pong")
    known = results.filter(
        (polars.col("background") == 0) & (polars.col("bytes") > 0) & (polars.col("seconds_low") > 0),
        (polars.col("gbps_low") > 0) | there_and_back,
    )
    alike_in = (*alike("figure"), "path")
    series = known.unique([*alike_in, "bytes"], keep="first", maintain_order=True)
    for _, lines in series.filter(polars.len().over(alike_in) >= FEWEST).group_by(alike_in, maintain_order=True):
        yield lines.select(*DESCRIBED, "path").row(0, named=True), lines.sort("bytes")


def interval(line: Mapping[str, Any], name: str, suffix: str = "") -> Interval:
    """Return a column of a line with its bounds: "gbps", "seconds" or the "cost" of ``with_cost``."""
    return Interval(*(line[f"{name}{bound}{suffix}"] for bound in BOUNDS))


def spread(name: str, found: Interval | None) -> dict[str, float | None]:
    """Return an interval as the columns ``name``, ``name_low`` and ``name_high``; null where there is none."""
    return {**found.columns(name)} if found else dict.fromkeys(f"{name}{bound}" for bound in BOUNDS)


def frame_of(lines: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Return lines, all with the same keys, as a frame; without lines it has no columns."""
    return polars.DataFrame(list(lines), infer_schema_length=None)


def with_ratio(
    both: polars.DataFrame, of: str, over: str, kind: Sequence[str], name: str, less: float = 0.0
) -> polars.DataFrame:
    """Return lines with the cost of suffix ``of`` over that of ``over``, less ``less``, as ``name`` with its interval.

    ``beyond``: true where that is beyond noise among lines alike in the columns ``kind``, null where noise leaves it
    open, false within 1%.
    """
    ratios = [interval(line, "cost", of).over(interval(line, "cost", over)) for line in both.iter_rows(named=True)]
    beyond: dict[int, bool | None] = {}
    for members in both.select(kind).with_row_index("at").group_by(kind).agg("at")["at"].to_list():
        surely = beyond_noise([ratios[at] for at in members], len(ratios))
        beyond |= {at: sure or _open(ratios[at]) for at, sure in zip(members, surely, strict=True)}
    added = [
        {**Interval(one.value - less, one.low - less, one.high - less).columns(name), "beyond": beyond[at]}
        for at, one in enumerate(ratios)
    ]
    schema = {**dict.fromkeys((f"{name}{bound}" for bound in BOUNDS), polars.Float64), "beyond": polars.Boolean}
    return both.hstack(polars.DataFrame(added, schema=schema))


def _open(ratio: Interval) -> bool | None:
    """Return None for a ratio that differs from one by more than 1%, though not beyond noise; False for others."""
    return None if max(ratio.value, 1 / ratio.value) > 1 + THRESHOLD else False
