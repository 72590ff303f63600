"""Expectation: what results should reach, and the one judgement of whether they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars

from linkscope.answers.answer import Outcome
from linkscope.figures.columns import RATE
from linkscope.statistics.interval import Interval

Relation = Literal["no-worse", "at-least", "at-most", "about"]
Number = float | polars.Expr
"""One for all results, or an expression over the frame."""
_NEEDED = ("value", "value_low", "value_high", "unit", "noise", "tolerance", "limit")
JUDGED = ("expected", "tolerance", "limit", "expected_source", "ratio", "outcome")
"""Columns that ``judge`` adds."""


@dataclass(frozen=True)
class Expectation:
    """Bound the results that ``select`` picks, in their unit.

    ``relation``: at least, at most or about ``value``; "no worse" is at least of rates and at most of times.
    ``tolerance``: the share by which a result may miss it. ``lenient``: the end of the expected value's own interval
    that is easier to reach, from which the tolerance counts; None: ``value``. ``source``: who says so.
    """

    select: polars.Expr
    value: Number
    relation: Relation = "no-worse"
    tolerance: Number = 0.0
    source: str | polars.Expr = ""
    lenient: Number | None = None


def judge(frame: polars.DataFrame, expectation: Expectation) -> polars.DataFrame:
    """Return the selected results that have a value, with the columns of ``JUDGED``.

    ``limit`` is what a result may just reach, ``ratio`` the result over ``expected``. ``outcome``: a result fails where
    its whole interval, and its value with the node's noise, are beyond the limit; it is unclear where a part is.
    """
    base = expectation.value if expectation.lenient is None else expectation.lenient
    frame = frame.filter(expectation.select, polars.col("value").is_not_null()).with_columns(
        expected=_expression(expectation.value).cast(polars.Float64),
        tolerance=_expression(expectation.tolerance).cast(polars.Float64),
        limit=_expression(base).cast(polars.Float64),
        expected_source=_expression(expectation.source),
    )
    judged = [_judged(line, expectation.relation) for line in frame.select(_NEEDED).iter_rows(named=True)]
    limits, outcomes = zip(*judged, strict=True) if judged else ((), ())
    return frame.with_columns(
        polars.Series("limit", limits, polars.Float64),
        (polars.col("value") / polars.col("expected")).alias("ratio"),
        polars.Series("outcome", outcomes, polars.String),
    )


def missing(line: Mapping[str, Any]) -> float:
    """Return the share by which a judged result is worse than expected: 0.05 of a rate 5% below, a time 5% longer."""
    return float(1 - line["ratio"] if line["unit"] == RATE else line["ratio"] - 1)


def _judged(line: Mapping[str, Any], relation: str) -> tuple[float, str]:
    """Return the limit of a result, and its outcome."""
    value, tolerance, base = line["value"], line["tolerance"], line["limit"]
    low, high = line["value_low"], line["value_high"]
    interval = Interval(value, value if low is None else low, value if high is None else high)
    known = base, tolerance, line["noise"] or 0.0
    if relation == "no-worse":
        relation = "at-least" if line["unit"] == RATE else "at-most"
    below = interval.below(*known) if relation != "at-most" else False
    above = interval.above(*known) if relation != "at-least" else False
    wrong = below or above
    if wrong is None or (not wrong and None in (below, above)):
        outcome = Outcome.UNCLEAR
    else:
        outcome = Outcome.FAILS if wrong else Outcome.HOLDS
    return base * (1 + tolerance if relation == "at-most" else 1 - tolerance), outcome.value


def _expression(value: Number | str) -> polars.Expr:
    return value if isinstance(value, polars.Expr) else polars.lit(value)
