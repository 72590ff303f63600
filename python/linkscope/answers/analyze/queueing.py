"""Queueing: how long a small copy waits while a large one runs, and what the large one loses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, by_most, columns
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.names import named
from linkscope.results.stats import stats_of
from linkscope.statistics.best import dearer

Json = dict[str, Any]

FEWEST_FOR_TAIL = 200
"""Samples of which the 99th percentile is more than the largest one (engine/measure/statistics.hpp)."""
_IN_PIECES = ("piece", "between")
"""Parameters that cut a copy up."""
_ARRIVES = r"\barrival=[1-9]"


def queueing(run: Run) -> polars.DataFrame:
    """Return a line for each copy that was timed one by one, at random times, beside one large copy, and alone.

    ``alone_s``, ``behind_s``: medians in seconds; ``p99_s``: null of fewer than 200 samples; ``max_s``. ``slower``:
    behind over alone, with its interval. ``beside``: movement of the large copy; ``piece``: bytes of its pieces, null
    where it is whole; ``separator``: what is between them. ``lost``: the share of the rate that it has whole and alone,
    null where that was not measured. ``clear``: the two medians differ.
    """
    single = AloneRates(run)
    several = by.usable(run).filter(
        polars.col("background") > 0, polars.col("parameters").str.contains(_ARRIVES), polars.col("figure") == "latency"
    )
    return by.frame_of(line for one in several.iter_rows(named=True) for line in _line(run, single, one))


def _line(run: Run, single: AloneRates, line: Json) -> Iterator[Json]:
    flows = single.flows(line)
    large = [number for number, flow in enumerate(flows) if flow.get("role") == "background"]
    alone = single.of_its_size(flows[0], line)
    if len(large) != 1 or len(flows) != 2 or alone is None:
        return
    flow, rate = flows[large[0]], run.rows[line["id"]].flows[large[0]].gbps
    asked = flow.get("parameters", {})
    whole = single.of_its_size(_whole(flow), line)
    samples = stats_of([one for row in run.rows[line["id"]].measured for one in row.flows[0].samples_s])
    behind, before = by.interval(line, "value"), by.interval(alone, "value")
    yield {
        **{name: line[name] for name in (*by.DESCRIBED, "path", "bytes", "beside")},
        "heading": named("queueing", "behind").format(
            named("movement", line["movement"]),
            line["method"],
            named("movement", line["beside"].removesuffix("/against")),
            flow["method"],
        ),
        **{"priority": flows[0]["parameters"].get("priority", "normal"), "large": flow["method"]},
        **{"piece": asked.get("piece") or None, "separator": asked.get("between")},
        **before.columns("alone_s"),
        **behind.columns("behind_s"),
        **{"p99_s": samples.p99 if samples.n >= FEWEST_FOR_TAIL else None, "max_s": samples.max, "samples": samples.n},
        **behind.over(before).columns("slower"),
        **{"large_gbps": rate.median if rate is not None else None},
        "lost": 1 - rate.median / whole["gbps"] if rate is not None and whole is not None and whole["gbps"] else None,
        "clear": dearer(behind, before) or dearer(before, behind),
    }


def _whole(flow: Json) -> Json:
    """Return the large copy as one call of its own."""
    asked = {name: value for name, value in flow.get("parameters", {}).items() if name not in _IN_PIECES}
    rest = {name: value for name, value in flow.items() if name != "parameters"}
    return rest | ({"parameters": asked} if asked else {})


answer = Inquiry(
    key="analyze.queueing",
    find=queueing,
    conclude=by_most(
        "slower",
        polars.col("clear"),
        ("analyze.queueing-waits", "analyze.queueing-alike", "analyze.queueing-alike"),
        *("bytes", "alone_s", "behind_s", "priority"),
    ),
    columns=(
        Column("bytes", Kind.SIZE),
        Column("piece", Kind.SIZE),
        Column("separator"),
        Column("alone_s", Kind.TIME, interval=True),
        Column("behind_s", Kind.TIME, interval=True, mark="open"),
        *columns(Kind.TIME, "p99_s", "max_s"),
        Column("lost", Kind.PERCENT),
    ),
    names=("priority",),
    group="heading",
    order=lambda frame: frame.sort(
        *("movement", "beside", "method", "large", "bytes", "separator", "piece", "priority"),
        descending=[True, True, False, False, False, False, True, True],
        nulls_last=False,
        maintain_order=True,
    ),
    first=14,
)
