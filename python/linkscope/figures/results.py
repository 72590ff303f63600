"""Results: a run file as the frame of figures/columns.py."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Any

import msgspec
import polars

from linkscope.figures.columns import OF_ONE_FLOW, RATE, SCHEMA, TIME
from linkscope.figures.kinds import KindResult, Kinds
from linkscope.figures.values import Value, place_of, value_of
from linkscope.machine.node import Node
from linkscope.results.member_time import slowest
from linkscope.results.replicates import noted
from linkscope.results.row import Row
from linkscope.results.stats import Stats
from linkscope.statistics.modes import ProcessModes, process_modes
from linkscope.without_collection import without_collection

Json = dict[str, Any]
Bounds = tuple[Any, Any, Any]
"""Value, low and high; None where unknown."""

_TITLES = {"first": "rate", "latency": "time", "algorithm": "algorithm bandwidth", "bus": "bus bandwidth"}
"""Words behind the title of a test with several figures; others use the figure's name."""
_OF_LINE = (
    *("id", "title", "series", "x", "variant", "status", "reason", "left_out", "noise", "assumed", "overlap", "notes"),
    *("part", "place", "bytes", "unit", "n", "replicates", "value", "value_low", "value_high"),
    *("gbps", "gbps_low", "gbps_high", "seconds", "seconds_low", "seconds_high", "replicate_values", "of_samples"),
    *("value_modes", "value_modes_in"),
    *("peak_gbps", "of_peak", "parts_s"),
)
"""Columns that are found line by line; all others are of kinds of cases."""
_NONE = (None, None, None)


def results(node: Node, rows: Iterable[Row]) -> polars.DataFrame:
    """Return every result of a node's rows, in order, with the columns of ``SCHEMA``; null where unknown."""
    kinds = Kinds(node)
    with without_collection():
        lines = [line for row in rows for line in _lines(row, kinds)]
    columns = zip(*lines, strict=True) if lines else ([] for _ in _OF_LINE)
    own = polars.DataFrame([_series(name, values) for name, values in zip(_OF_LINE, columns, strict=True)])
    shared = [name for name in SCHEMA if name not in _OF_LINE]
    parts = polars.DataFrame(kinds.columns, {name: SCHEMA[name] for name in shared}, orient="row")
    limited = polars.when(polars.col("peak_gbps").is_not_null()).then("bound_by").alias("bound_by")
    return polars.concat([own, parts[own["part"]]], how="horizontal").with_columns(limited).select(*SCHEMA)


def _series(name: str, values: Sequence[Any]) -> polars.Series:
    """Return a column. Lists go through JSON, which polars reads at once and not one by one."""
    kind = SCHEMA.get(name, polars.UInt32)
    if not isinstance(kind, polars.List):
        return polars.Series(name, values, kind)
    texts = [None if value is None else msgspec.json.encode(value).decode() for value in values]
    return polars.Series(name, texts, polars.String).str.json_decode(kind)


def _lines(row: Row, kinds: Kinds) -> Iterator[tuple[Any, ...]]:
    """Yield a line for every result of a row, in the order of ``_OF_LINE``."""
    labels = row.labels
    title = str(labels.get("title") or row.name or row.id)
    x = labels.get("x")
    variant = ", ".join(str(word) for word in labels.get("variant", {}).values())
    series = str(labels.get("series", ""))
    parts = kinds.of(row)
    together = len(parts[0].quantity.measured) > 1 and row.load == "once" and row.status == "ok"
    of_row = (
        *(row.id, series, float(x) if isinstance(x, (int, float)) else None, variant, row.status, row.reason),
        *(row.left_out, row.noise, row.assumed, row.overlap if together else None, _notes(row)),
    )
    for part in parts:
        named = title
        if labels.get("figures"):
            figure = part.quantity.figure
            named = f"{labels.get('title', row.name)}: {_TITLES.get(figure, figure)}"
        where = "|".join(place_of(row.case, part.quantity))
        size = 0 if part.sized is None else row.case["flows"][part.sized]["bytes"]
        yield (of_row[0], named, *of_row[1:], part.number, where, size, *_values(row, part))


def _values(row: Row, part: KindResult) -> tuple[Any, ...]:
    """Return the columns from ``unit`` on."""
    value = value_of(row, part.quantity)
    if value is None:
        return (None,) * (len(_OF_LINE) - _OF_LINE.index("unit"))
    first = row.flows[part.quantity.first]
    bounds = _bounds(value.stats, value.factor)
    rate = bounds if value.rate else _bounds(first.gbps) if first.gbps is not None else _NONE
    of_one = part.quantity.figure in OF_ONE_FLOW or not value.rate
    each = [one for one in (value_of(one, part.quantity) for one in row.measured) if one is not None]
    limit = part.peak.of(value.touched) if part.peak is not None and value.rate else None
    longest = slowest(first.breakdown)
    times = _bounds(first.seconds) if of_one else _NONE
    replicates, of_samples = [one.stats.median * one.factor for one in each], _of_samples(each)
    modes = process_modes(replicates, of_samples or 0.0, part.fewest_of_two_speeds)
    if modes is not None:
        beyond = math.hypot(row.noise or row.usual.margin, of_samples or 0.0)
        bounds, rate, times = _at_modes(modes, math.exp(beyond), value.rate, bounds, rate, times)
    return (
        *(RATE if value.rate else TIME, value.stats.n, len(row.measured), *bounds, *rate, *times),
        *(replicates, of_samples, *_of_modes(modes)),
        *(limit, bounds[0] / limit if limit else None, longest.in_order if longest else None),
    )


def _of_modes(modes: ProcessModes | None) -> tuple[list[float] | None, list[int] | None]:
    return (None, None) if modes is None else ([modes.low, modes.high], [modes.in_low, modes.in_high])


def _at_modes(modes: ProcessModes, beyond: float, rates: bool, *found: Bounds) -> list[Bounds]:
    """Return value, rate and time of a result with two speeds: at the one that most processes have, or at the slower,
    with intervals that reach from one to the other and by the factor ``beyond`` further: another run has one of them.
    """
    value = found[0][0]
    usual = value if modes.in_low != modes.in_high else modes.low if rates else modes.high
    moved = [one / value for one in (usual, modes.low, modes.high)]
    shares = {rates: moved, not rates: [1 / moved[0], 1 / moved[2], 1 / moved[1]]}
    return [
        bounds
        if (median := bounds[0]) is None
        else (median * shares[of][0], median * shares[of][1] / beyond, median * shares[of][2] * beyond)
        for of, bounds in zip((rates, True, False), found, strict=True)
    ]


def _bounds(stats: Stats, factor: float = 1.0) -> tuple[float, float, float]:
    return stats.median * factor, stats.low * factor, stats.high * factor


def _of_samples(values: list[Value]) -> float | None:
    """Return the relative half width that samples leave in one replicate."""
    shares = [(one.stats.high - one.stats.low) / 2 / one.stats.median for one in values if one.stats.median]
    return median(shares) if shares else None


def _notes(row: Row) -> list[str]:
    if row.status != "ok":
        return []
    return noted([[note for flow in one.flows for note in flow.notes] for one in _lines_of(row)], row.noise)


def _lines_of(row: Row) -> Iterator[Row]:
    """Yield the rows, as they were written, that a row is folded from."""
    for one in row.measured:
        if one.replicates:
            yield from _lines_of(one)
        else:
            yield one
