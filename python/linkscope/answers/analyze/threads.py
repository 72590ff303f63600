"""Threads: what more threads of a CPU get out of memory, and from how many on no more comes."""

from __future__ import annotations

from typing import Any

import polars

from linkscope.answers.analyze import comparing as by
from linkscope.answers.analyze.inquiry import Inquiry, columns
from linkscope.answers.answer import Column, Kind
from linkscope.messages.finding import Finding, note
from linkscope.statistics.best import dearer

Json = dict[str, Any]

ENOUGH = 0.95
"""Share of the best rate that is enough."""
_NUMBER = r"\bthreads=(\d+) ?"
_SERIES = (*by.alike("parameters"), "path", "others", "bytes")


def threads(results: polars.DataFrame) -> polars.DataFrame:
    """Return a line for each copy or access by a CPU that was measured with several numbers of threads; none of warm
    caches, whose rates are not memory's and may grow faster than the threads.

    ``gbps`` is the best rate, with ``best_threads``; ``enough_threads``: the fewest that reach 95% of it, as far as was
    measured. ``speedup``: the best rate over that of ``fewest_threads``; ``efficiency``: speedup over how many times
    more ``enough_threads`` are. ``clear``: the intervals of these two rates differ, or the two are one.
    ``surely_best``: the interval of the best rate differs from that of every other number of threads. ``others``: the
    parameters but the threads.
    """
    parameters = polars.col("parameters")
    series = by.alone(results).filter(
        (polars.col("cache") != "warm") & (polars.col("gbps_low") > 0),
        polars.col("executor").str.starts_with("numa:") & parameters.str.contains(_NUMBER),
    )
    series = series.with_columns(
        parameters.str.extract(_NUMBER).cast(polars.Int32).alias("threads"),
        parameters.str.replace(_NUMBER, "").str.strip_chars().alias("others"),
        polars.col("way").str.replace(_NUMBER, "").str.strip_chars(),
    ).filter(polars.col("threads") > 0)
    several = series.unique([*_SERIES, "threads"], keep="first", maintain_order=True)
    several = several.filter(polars.len().over(_SERIES) >= 2)
    return by.frame_of(_line(lines.sort("threads")) for _, lines in several.group_by(_SERIES, maintain_order=True))


def _line(series: polars.DataFrame) -> Json:
    first, best = series.row(0, named=True), series.sort("gbps", maintain_order=True).row(-1, named=True)
    enough = int(series.filter(polars.col("gbps") >= ENOUGH * best["gbps"])["threads"][0])
    speedup = best["gbps"] / first["gbps"]
    others = [line for line in series.iter_rows(named=True) if line["threads"] != best["threads"]]
    return {
        **{name: first[name] for name in (*by.DESCRIBED, "path", "bytes", "others")},
        **{"fewest_threads": first["threads"], "most_threads": series["threads"][-1]},
        **{"fewest_gbps": first["gbps"], "best_threads": best["threads"], "enough_threads": enough},
        **by.interval(best, "gbps").columns("gbps"),
        **{"speedup": speedup, "efficiency": speedup / (enough / first["threads"])},
        "surely_best": all(_faster(best, other) for other in others),
        "clear": best["threads"] == first["threads"] or _faster(best, first),
    }


def _faster(line: Json, other: Json) -> bool:
    """Return whether a rate is above another by more than 1% and both intervals."""
    return dearer(by.interval(other, "gbps").inverse, by.interval(line, "gbps").inverse)


def _conclude(frame: polars.DataFrame) -> Finding:
    largest = frame.filter(polars.col("bytes") == polars.col("bytes").max())
    best = largest.sort("gbps", maintain_order=True).row(-1, named=True)
    facts = {"gbps": best["gbps"], "speedup": best["speedup"], "way": best["called"]}
    facts |= {"threads": best["enough_threads"], "fewest": best["fewest_threads"]}
    if best["enough_threads"] == best["fewest_threads"]:
        return note("analyze.threads-fewest" if best["surely_best"] else "analyze.threads-tie", **facts)
    if not best["clear"]:
        return note("analyze.threads-unclear", **facts)
    open_ended = best["enough_threads"] == best["most_threads"]
    return note("analyze.threads-most" if open_ended else "analyze.threads-enough", **facts)


answer = Inquiry(
    key="analyze.threads",
    find=lambda run: threads(by.usable(run)),
    conclude=_conclude,
    columns=(
        *columns(Kind.NUMBER, "fewest_gbps", "gbps"),
        *columns(Kind.COUNT, "best_threads", "enough_threads"),
        Column("speedup", Kind.FACTOR, mark="open"),
        Column("efficiency", Kind.PERCENT),
    ),
    names=("called",),
    order=lambda frame: frame.sort("bytes", descending=True, maintain_order=True),
)
