"""Saturation: from which size on a path gives half, 80% and 90% of its final rate; of rates that fall, where."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Any

import polars

from linkscope.answers.analyze.answered import Inquiry, answered
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.size_series import KEY_SCHEMA, size_series
from linkscope.answers.answer import Answer, Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

SHARES = {"half": 0.5, "share80": 0.8, "share90": 0.9}
RISING = 0.02
"""A rate that still grew by more with the last step of size has not reached its end."""
KEPT = 0.9
"""Share of the largest rate: below it a rate has fallen."""
SCHEMA: dict[str, Any] = {
    **KEY_SCHEMA,
    **{"largest_bytes": polars.Int64, "gbps": polars.Float64, "rising": polars.Boolean, "falling": polars.Boolean},
    **{"best_gbps": polars.Float64, "best_bytes": polars.Int64, "kept_bytes": polars.Int64, "cached": polars.Boolean},
    **{f"{name}_bytes{bound}": polars.Float64 for name in SHARES for bound in ("", "_low", "_high")},
}


@dataclass(frozen=True)
class Rate:
    """GB/s at a size in bytes."""

    size: int
    gbps: Interval


def answer(run: Run) -> Answer:
    """Return from which size on paths give 50%, 80% and 90% of their rate."""
    return answered(_QUESTION, run, saturation(usable(run)))


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
    found = []
    for key, lines in size_series(results.filter(polars.col("gbps").is_not_null())):
        points = lines.select("bytes", "gbps", "gbps_low", "gbps_high").iter_rows()
        found.append({**key, **_line([Rate(size, Interval(*bounds)) for size, *bounds in points]), **_cached(lines)})
    return polars.DataFrame(found, schema=SCHEMA, orient="row")


def _line(rates: Sequence[Rate]) -> Json:
    last, before = rates[-1], rates[-2]
    rising = last.gbps.value > (1 + RISING) * before.gbps.value
    below = falls(rates)
    line: Json = {
        "largest_bytes": last.size,
        "gbps": last.gbps.value,
        "rising": rising,
        "falling": below and not rising,
    }
    line |= _largest(rates) if below else {}
    for name, share in SHARES.items():
        sizes = None if line["falling"] else reaching(rates, share)
        if sizes is not None:
            line |= dict(zip((f"{name}_bytes{b}" for b in ("", "_low", "_high")), sizes, strict=True))
    return line


def falls(rates: Sequence[Rate]) -> bool:
    """Return whether the last rate is surely below another, and below 90% of the largest."""
    last = rates[-1].gbps
    below = last.value < KEPT * max(rate.gbps.value for rate in rates)
    return below and any(rate.gbps.low > last.high for rate in rates)


def _cached(lines: polars.DataFrame) -> Json:
    line = lines.row(0, named=True)
    single = line["processes"] == 1 and line["flows"] == 1 and line["members"] is None
    return {"cached": single and line["cache"] == "warm" and str(line["executor"]).startswith("numa:")}


def _largest(rates: Sequence[Rate]) -> Json:
    """Return the largest rate, its size, and the last size from there on at which 90% of it is kept."""
    best = max(rates, key=lambda rate: rate.gbps.value)
    beyond = [rate for rate in rates if rate.size >= best.size]
    kept = list(takewhile(lambda rate: rate.gbps.value >= KEPT * best.gbps.value, beyond))
    return {"best_gbps": best.gbps.value, "best_bytes": best.size, "kept_bytes": kept[-1].size}


def reaching(rates: Sequence[Rate], share: float) -> tuple[float, float, float] | None:
    """Return the size from which on all rates are ``share`` of the last one, and its bounds; None where all are."""
    last = rates[-1].gbps
    middle = _crossing([(rate.size, rate.gbps.value) for rate in rates], share * last.value)
    if middle is None:
        return None
    low = _crossing([(rate.size, rate.gbps.high) for rate in rates], share * last.low) or rates[0].size
    high = _crossing([(rate.size, rate.gbps.low) for rate in rates], share * last.high) or middle
    return (
        middle,
        max(rate.size for rate in rates if rate.size <= max(min(low, middle), rates[0].size)),
        min(rate.size for rate in rates if rate.size >= min(max(high, middle), rates[-1].size)),
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
    known = frame.filter(polars.col("share90_bytes").is_not_null(), ~polars.col("rising"))
    if known.is_empty():
        return note("analyze.saturation-none", rates=frame.height)
    ordered = known.sort("share90_bytes", maintain_order=True)
    first, last = (ordered.row(place, named=True) for place in (0, -1))
    facts = {"first": first["share90_bytes"], "last": last["share90_bytes"]}
    return note("analyze.saturation-reached", **facts, movement=last["movement"], way=last["called"])


def _notes(frame: polars.DataFrame) -> list[Finding]:
    found = []
    rising = frame.filter("rising").height
    if rising:
        found.append(note("analyze.saturation-rising", rising=rising, rates=frame.height))
    fell = frame.filter(polars.col("best_gbps").is_not_null())
    if fell.height:
        highest = fell.sort("best_gbps", maintain_order=True).row(-1, named=True)
        facts = {name: highest[name] for name in ("best_gbps", "best_bytes", "gbps")}
        facts["way"] = highest["called"]
        code = "analyze.saturation-cached" if fell["cached"].all() else "analyze.saturation-falling"
        found.append(note(code, falling=fell.height, rates=frame.height, **facts))
    return found


def _shown(frame: polars.DataFrame) -> polars.DataFrame:
    falls, rises = polars.col("best_gbps").is_not_null(), polars.col("rising")
    words = polars.when(falls & rises).then(polars.lit("falls, rises")).when(falls).then(polars.lit("falls"))
    return frame.with_columns(words.when(rises).then(polars.lit("rises")).alias("shape"))


_QUESTION = Inquiry(
    key="analyze.saturation",
    conclude=_conclude,
    columns=(
        Column("gbps", Kind.NUMBER),
        Column("half_bytes", Kind.SIZE),
        Column("share80_bytes", Kind.SIZE),
        Column("share90_bytes", Kind.SIZE, interval=True),
        Column("shape"),
    ),
    names=("path", "called"),
    order=_shown,
    notes=_notes,
)
