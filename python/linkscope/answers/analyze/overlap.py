"""Overlap: how much computation and communication slow each other, and what both at once save."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, columns
from linkscope.answers.analyze.shared_rates import AloneRates
from linkscope.answers.answer import Column, Kind
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding, note
from linkscope.results.row import Row
from linkscope.results.stats import stats_of
from linkscope.statistics.interval import Interval

Json = dict[str, Any]


def overlap(run: Run) -> polars.DataFrame:
    """Return a line for each result whose flows were measured together, each of which was measured alone as well.

    ``overlap``: the time from the common start to the last end over the sum of what both take alone, with its interval:
    1 where nothing is saved, 0.5 where two that last alike cost one of them nothing. Of computation on several GPUs the
    slowest counts. ``slowed``: time of one transfer beside the computation over that alone; ``compute_slowed``: the
    same of the computation, the slowest. ``sms``: multiprocessors that this was given, null: all. ``clear``: the
    interval excludes 1.
    """
    single = AloneRates(run)
    several = by.usable(run).filter(polars.col("background") > 0, polars.col("figure").is_in(("first", "latency")))
    return by.frame_of(line for one in several.iter_rows(named=True) for line in _line(run, single, one))


def _line(run: Run, single: AloneRates, line: Json) -> Iterator[Json]:
    flows, row = single.flows(line), run.rows[line["id"]]
    beside = [number for number, flow in enumerate(flows) if flow.get("role") == "alongside"]
    found = [single.of_its_size(flow, line) for flow in flows]
    if not beside or len(beside) + 1 != len(flows) or None in found:
        return
    alone = [by.interval(one, "seconds") for one in found if one is not None]
    slower = [result.seconds.median / one.value for result, one in zip(row.flows, alone, strict=True)]
    compute = flows[beside[0]]
    saved = _saved(row, alone)
    yield {
        **{name: line[name] for name in (*by.DESCRIBED, "path", "bytes")},
        **{"compute": compute["method"], "sms": compute.get("parameters", {}).get("sms") or None},
        **{"slowed": slower[0], "compute_slowed": max(slower[number] for number in beside)},
        **{"alone_s": alone[0].value, "compute_alone_s": max(alone[number].value for number in beside)},
        **saved.columns("overlap"),
        "clear": saved.high < 1 or saved.low > 1,
    }


def _saved(row: Row, alone: list[Interval]) -> Interval:
    """Return time together over the sum of times alone, by the samples of all replicates.

    All start together, so the last end is that of the longest. Bounds hold the samples' and the times' alone.
    """
    ratios = []
    for one in row.measured:
        counts = [flow.repeats * flow.operations for flow in one.flows]
        apart = [count * time.value for count, time in zip(counts, alone, strict=True)]
        for sample in zip(*(flow.samples_s for flow in one.flows), strict=True):
            longest = max(count * time for count, time in zip(counts, sample, strict=True))
            ratios.append(longest / (apart[0] + max(apart[1:])))
    together = stats_of(ratios)
    margin = Interval(1, min(one.low / one.value for one in alone), max(one.high / one.value for one in alone))
    return Interval(together.median, together.low, together.high).over(margin)


def _conclude(frame: polars.DataFrame) -> Finding:
    best, worst = (frame.sort("overlap", maintain_order=True).row(end, named=True) for end in (0, -1))
    facts = {name: best[name] for name in ("overlap", "called", "compute")}
    return note("analyze.overlap-found", **facts, results=frame.height, worst=worst["overlap"], least=worst["called"])


answer = Inquiry(
    key="analyze.overlap",
    find=overlap,
    conclude=_conclude,
    columns=(
        Column("compute"),
        Column("sms", Kind.COUNT),
        *columns(Kind.FACTOR, "slowed", "compute_slowed"),
        Column("overlap", Kind.PERCENT, mark="open", interval=True),
        *(Column(name, Kind.TIME, detail=True) for name in ("alone_s", "compute_alone_s")),
    ),
    order=lambda frame: frame.sort("movement", "compute", maintain_order=True),
    first=14,
)
