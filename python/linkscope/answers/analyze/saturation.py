"""Saturation: from which size on a path gives half, 80% and 90% of its final rate; of rates that fall, where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import AT, Inquiry
from linkscope.answers.answer import Column, Kind
from linkscope.messages.finding import Finding, note
from linkscope.statistics.interval import Interval

Json = dict[str, Any]
Rates = Sequence[tuple[int, Interval]]
"""GB/s by size in bytes, ascending."""

SHARES = {"half": 0.5, "share80": 0.8, "share90": 0.9}
RISING = 0.02
"""A rate that still grew by more with the last step of size has not reached its end."""
KEPT = 0.9
"""Share of the largest rate: below it a rate has fallen."""


def saturation(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each size series of rates, in the order of the run.

    ``half_bytes``, ``share80_bytes``, ``share90_bytes``: from there on every rate is at least that share of ``gbps``,
    the rate at the largest size; interpolated between the two measured sizes around it, rates and sizes on logarithms.
    ``low`` and ``high``: the measured sizes between which that is for sure, since below ``low`` not even the upper
    bounds of the rates reach the share of the lower bound of the last rate, and from ``high`` on all lower bounds that
    of the upper one. Null where already the smallest size reaches it. ``rising``: the last step of size still brought
    more than 2%, so that all of these are lower bounds.

    ``best_gbps`` at ``best_bytes``: the largest rate, where the one at the largest size is surely below another, and
    below 90% of the largest; up to ``kept_bytes`` 90% of it are kept. Null elsewhere. ``falling``: it is so and not
    ``rising``. Then there is no size from which on it saturates (all null). ``cached``: CPUs of one process moved it
    alone, and nothing was done against caches, so that these may have served small sizes.
    """
    return by.frame_of(
        {**key, **_line([(line["bytes"], by.interval(line, "gbps")) for line in lines.iter_rows(named=True)])}
        | {"cached": _cached(lines.row(0, named=True))}
        for key, lines in by.size_series(results.filter(polars.col("gbps").is_not_null()))
    )


def _line(rates: Rates) -> Json:
    (_, before), (largest, last) = rates[-2:]
    rising, below = last.value > (1 + RISING) * before.value, falls(rates)
    sizes = {name: None if below and not rising else reaching(rates, share) for name, share in SHARES.items()}
    found = {key: value for name, size in sizes.items() for key, value in by.spread(f"{name}_bytes", size).items()}
    line: Json = {"largest_bytes": largest, "gbps": last.value, "rising": rising, "falling": below and not rising}
    return {**line, **found, **_largest(rates, below)}


def falls(rates: Rates) -> bool:
    """Return whether the last rate is surely below another, and below 90% of the largest."""
    last = rates[-1][1]
    below = last.value < KEPT * max(rate.value for _, rate in rates)
    return below and any(rate.low > last.high for _, rate in rates)


def _cached(line: Json) -> bool:
    single = line["processes"] == 1 and line["flows"] == 1 and line["members"] is None
    return single and line["cache"] == "warm" and str(line["executor"]).startswith("numa:")


def _largest(rates: Rates, below: bool) -> Json:
    """Return the largest rate, its size, and the last size from there on at which 90% of it is kept."""
    if not below:
        return dict.fromkeys(("best_gbps", "best_bytes", "kept_bytes"))
    size, best = max(rates, key=lambda one: one[1].value)
    kept = list(takewhile(lambda one: one[1].value >= KEPT * best.value, (one for one in rates if one[0] >= size)))
    return {"best_gbps": best.value, "best_bytes": size, "kept_bytes": kept[-1][0]}


def reaching(rates: Rates, share: float) -> Interval | None:
    """Return the size from which on all rates are ``share`` of the last one, with its bounds; None where all are."""
    sizes, last = [size for size, _ in rates], rates[-1][1]
    middle = _crossing([(size, rate.value) for size, rate in rates], share * last.value)
    if middle is None:
        return None
    low = _crossing([(size, rate.high) for size, rate in rates], share * last.low) or sizes[0]
    high = _crossing([(size, rate.low) for size, rate in rates], share * last.high) or middle
    return Interval(
        middle,
        max(size for size in sizes if size <= max(min(low, middle), sizes[0])),
        min(size for size in sizes if size >= min(max(high, middle), sizes[-1])),
    )


def _crossing(rates: Sequence[tuple[int, float]], wanted: float) -> float | None:
    """Return where rates exceed ``wanted`` for good; the last size where they never do, None where they always do."""
    for (size, rate), (larger, more) in reversed(list(pairwise(rates))):
        if rate < wanted <= more:
            if rate <= 0 or size <= 0:
                return float(larger)
            return math.exp(math.log(size) + math.log(larger / size) * math.log(wanted / rate) / math.log(more / rate))
        if more < wanted:
            return float(larger)
    return None if rates[0][1] >= wanted else float(rates[-1][0])


def _conclude(frame: polars.DataFrame) -> Finding:
    known = frame.filter(~polars.col("rising"))["share90_bytes"].drop_nulls()
    if known.is_empty():
        return note("analyze.saturation-none", rates=frame.height)
    return note("analyze.saturation-reached", first=known.min(), last=known.max())


def _notes(frame: polars.DataFrame) -> list[Finding]:
    rising = frame.filter("rising").height
    found = [note("analyze.saturation-rising", rising=rising, rates=frame.height)] if rising else []
    fell = frame.filter(polars.col("best_gbps").is_not_null())
    if fell.height:
        highest = fell.sort("best_gbps", maintain_order=True).row(-1, named=True)
        facts = {name: highest[name] for name in ("best_gbps", "best_bytes", "gbps")}
        code = "analyze.saturation-cached" if fell["cached"].all() else "analyze.saturation-falling"
        found.append(note(code, falling=fell.height, rates=frame.height, **facts))
    return found


def _order(frame: polars.DataFrame) -> polars.DataFrame:
    falls, rises = polars.col("best_gbps").is_not_null(), polars.col("rising")
    words = polars.when(falls & rises).then(polars.lit("falls, rises")).when(falls).then(polars.lit("falls"))
    return frame.with_columns(AT, words.when(rises).then(polars.lit("rises")).alias("shape"))


answer = Inquiry(
    key="analyze.saturation",
    find=lambda run: saturation(by.usable(run)),
    conclude=_conclude,
    columns=(
        Column("gbps", Kind.NUMBER),
        Column("half_bytes", Kind.SIZE),
        Column("share90_bytes", Kind.SIZE),
        Column("shape"),
    ),
    names=("at", "called"),
    order=_order,
    notes=_notes,
)
