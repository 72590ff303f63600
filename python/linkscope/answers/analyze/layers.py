"""Layers: what PyTorch adds to the copy, message or collective that it calls, and MPI to copies by shared memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, by_most, columns
from linkscope.answers.answer import Column, Kind
from linkscope.answers.row_times import time_of
from linkscope.figures.run import Run
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.results.note_codes import HUGE_PAGES, LAUNCH_INSIDE, says
from linkscope.results.row import Row
from linkscope.statistics.best import LEAST_BOUND, dearer
from linkscope.statistics.interval import Interval

Json = dict[str, Any]

_PLAIN = {
    **{"form": "eager", "recorded": 1, "call": "send", "staging": "none", "type": "float32"},
    **{"non_blocking": "yes", "in_place": "no"},
}
"""Parameters as they are where a flow names none: only flows alike in all of them are compared."""
_LAYER_ALONE = ("backend", "non_blocking", "launch")
"""Parameters that one of the two interfaces alone has, and that make neither's work another."""
_APART = (LAUNCH_INSIDE, HUGE_PAGES)
"""Notes of a row whose time holds launches, and of memory in huge pages: both rows have it, or neither."""


def layers(run: Run) -> polars.DataFrame:
    """Return a line for each method, devices, clock and size whose counterpart below was measured alike.

    ``raw``: the method below. ``added_s``: what the layer adds in seconds, below zero where it is faster, with bounds
    by the two 95% intervals. ``clear``: the two differ.
    """
    found = by.frame_of(_pairs(run.rows.values()))
    lines = run.results.unique("id", keep="first").select("id", *by.DESCRIBED, "path", "bytes")
    return found.join(lines, on="id", maintain_order="left") if found.height else found


def _pairs(rows: Iterable[Row]) -> Iterable[Json]:
    single = [row for row in rows if row.status == "ok" and len(row.case["flows"]) == 1]
    below: dict[str, Row] = {}
    for row in single:
        below.setdefault(_alike(row, row.case["flows"][0]["method"]), row)
    for row in single:
        called = method_traits(row.case, row.case["flows"][0]["method"]).calls
        other = below.get(_alike(row, called)) if called else None
        if other is not None and _comparable(row, other):
            yield {"id": row.id, "raw": called, **_added(_known(row), _known(other))}


def _known(row: Row) -> Interval:
    time = time_of(row)
    return Interval(time.value, max(time.low, time.value * LEAST_BOUND), time.high)


def _added(above: Interval, below: Interval) -> Json:
    """Return the difference, whose bounds are those of the ratio and no further than the two intervals' ends."""
    ratio = above.over(below)
    low, high = (below.value * (bound - 1) for bound in (ratio.low, ratio.high))
    low, high = max(low, above.low - below.high), min(high, above.high - below.low)
    return {
        **{"layer_s": above.value, "raw_s": below.value, "ratio": ratio.value},
        **Interval(above.value - below.value, low, high).columns("added_s"),
        "clear": dearer(above, below) or dearer(below, above),
    }


def _alike(row: Row, method: str) -> str:
    """Return what a row and its counterpart by ``method`` have in common."""
    case, flow = row.case, row.case["flows"][0]
    parameters = {**_PLAIN, **flow.get("parameters", {})}
    shared = sorted((name, str(text)) for name, text in parameters.items() if name not in _LAYER_ALONE)
    timing = (case["clock"], case.get("cache"), case.get("processes", 1), sorted(row.environment.items()), row.hosts)
    ends = [*(flow[end] for end in ("source", "destination") if end in flow), *flow.get("members", ())]
    places = [(end["device"], _memory(case, end["memory"]), int(end.get("rank", 0))) for end in ends]
    return repr((method, flow["bytes"], places, timing, shared))


def _memory(case: Json, memory: str) -> str:
    """Return the memory, "ordinary" for pages that are as fast whoever may map them."""
    return "ordinary" if memory_traits(case, memory).ordinary else memory


def _comparable(layer: Row, raw: Row) -> bool:
    """Return whether the one can have called the other.

    That is by the same MPI, as far as both say by which; both until arrival, which by the host's clock a message of
    ``xccl`` does not wait for; both with launches in their time, or neither; both in huge pages, or neither.
    """
    rows = (layer, raw)
    if any(row.flows[0].seconds.median <= 0 for row in rows):
        return False
    if any(len({says(code, row.notes) for row in rows}) > 1 for code in _APART):
        return False
    said = [set(row.libraries) for row in rows]
    above, below = (method_traits(row.case, row.case["flows"][0]["method"]) for row in rows)
    if above.by_mpi and all(said) and said[0] != said[1]:
        return False
    return not (above.answered and not below.answered and layer.case["clock"] == "host")


answer = Inquiry(
    key="analyze.layers",
    find=layers,
    conclude=by_most(
        "ratio",
        polars.col("clear"),
        ("analyze.layers-added", "analyze.layers-alike", "analyze.layers-alike"),
        *("method", "raw", "bytes", "added_s"),
    ),
    columns=(
        Column("raw"),
        Column("bytes", Kind.SIZE),
        *columns(Kind.TIME, "layer_s", "raw_s"),
        Column("ratio", Kind.FACTOR, mark="open"),
    ),
    names=("path", "called"),
)
