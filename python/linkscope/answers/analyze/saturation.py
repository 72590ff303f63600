"""Saturation: from which size on a path gives half, 80% and 90% of its final rate; of rates that fall, where."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, at
from linkscope.answers.answer import Column, Kind
from linkscope.messages.finding import Finding, note
from linkscope.statistics.crossing import Curve, crossing

Json = dict[str, Any]

SHARES = {"half": 0.5, "share80": 0.8, "share90": 0.9}
RISING = 0.02
"""A rate that still grew by more with the last step of size has not reached its end."""
KEPT = 0.9
"""Share of the largest rate: below it a rate has fallen."""


def saturation(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each size series of rates, in the order of the run.

    ``half_bytes``, ``share80_bytes``, ``share90_bytes``: from there on every rate is at least that share of ``gbps``,
    the rate at the largest size; with bounds, see ``crossing``. Null where already the smallest size reaches it.
    ``rising``: the last step of size still brought more than 2%, so that all of these are lower bounds.

    ``best_gbps`` at ``best_bytes``: the largest rate, where the one at the largest size is surely below another, and
    below 90% of the largest; up to ``kept_bytes`` 90% of it are kept. Null elsewhere. ``falling``: it is so and not
    ``rising``: there is no size from which on it saturates (all null). ``cached``: CPUs of one process moved it alone,
    and nothing was done against caches, so that these may have served small sizes.
    """
    series = by.size_series(results.filter(polars.col("gbps").is_not_null()))
    return by.frame_of({**key, **_line(lines)} for key, lines in series)


def _line(lines: polars.DataFrame) -> Json:
    rates = [(line["bytes"], by.interval(line, "gbps")) for line in lines.iter_rows(named=True)]
    (_, before), (largest, last) = rates[-2:]
    rising, below = last.value > (1 + RISING) * before.value, falls(rates)
    falling = below and not rising
    crossed = {name: None if falling else crossing(rates, last.scaled(share)) for name, share in SHARES.items()}
    best_bytes, best = max(rates, key=lambda one: one[1].value)
    kept = list(
        takewhile(lambda one: one[1].value >= KEPT * best.value, (one for one in rates if one[0] >= best_bytes))
    )
    most = {"best_gbps": best.value, "best_bytes": best_bytes, "kept_bytes": kept[-1][0]}
    first = lines.row(0, named=True)
    single = first["processes"] == 1 and first["flows"] == 1 and first["members"] is None
    return {
        **{"largest_bytes": largest, "gbps": last.value, "rising": rising, "falling": falling},
        **{key: value for name, size in crossed.items() for key, value in by.spread(f"{name}_bytes", size).items()},
        **(most if below else dict.fromkeys(most)),
        "cached": single and first["cache"] == "warm" and str(first["executor"]).startswith("numa:"),
    }


def falls(rates: Curve) -> bool:
    """Return whether the last rate is surely below another, and below 90% of the largest."""
    last = rates[-1][1]
    below = last.value < KEPT * max(rate.value for _, rate in rates)
    return below and any(rate.low > last.high for _, rate in rates)


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
    return frame.with_columns(at(), words.when(rises).then(polars.lit("rises")).alias("shape"))


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
