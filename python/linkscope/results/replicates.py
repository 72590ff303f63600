"""Replicates of a case as one row: the figure that another run on this node would find, and how well it is known.

A replicate is one measurement of a case by an engine process of its own, in memory of its own. What pages the kernel
gave and how a process started varies between replicates, never within one: so the interval comes from the replicates'
medians, and from the samples only where there is but one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from linkscope.order_statistics import t975
from linkscope.results.row import FlowResult, Row, Stats
from linkscope.results.spread import two_modes, why_wide

MOST_FAILURES = 1
"""Replicates of a case that may fail before it has failed."""


def folded(rows: Sequence[Row], noise: float = 0.0) -> Row:
    """One row out of all that a run has of a case, in order of replicate; it holds them as ``replicates``.

    ``noise``: what calibration found to vary from run to run besides, as the relative half width of a 95 % interval.
    It is ok where a replicate is and at most one failed, else failed, else skipped. Raises ValueError where there are
    none.
    """
    if not rows:
        raise ValueError("no rows")
    good = [row for row in rows if row.status == "ok"]
    failed = [row for row in rows if row.status == "failed"]
    if len(rows) == 1 and not (good and noise):
        return rows[0]
    if not good or len(failed) > MOST_FAILURES:
        worst = (failed or rows)[-1]
        return replace(worst, replicates=tuple(rows))
    last = good[-1]
    lost = tuple(
        f"replicate {rows.index(row) + 1} of {len(rows)} {row.status}: {row.reason}"
        for row in rows
        if row.status != "ok"
    )
    flows = tuple(_flow([row.flows[i] for row in good], lost, noise) for i in range(len(last.flows)))
    aggregates = [row.aggregate for row in good if row.aggregate is not None]
    stopped = next((row.stopped for row in good if row.stopped != "precision"), "precision")
    return replace(
        last,
        flows=flows,
        aggregate=across(aggregates, noise) if len(aggregates) == len(good) else None,
        stopped=stopped,
        replicates=tuple(rows),
        noise=noise,
    )


def across(stats: Sequence[Stats], noise: float = 0.0) -> Stats:
    """Stats of the figure that replicates measured, in their unit: ``median`` is the median of their medians.

    ``low`` to ``high`` is their 95 % interval, which holds ``median``; of one replicate it is that replicate's own.
    ``noise`` is as of ``folded``. ``n`` is the sum, ``min`` and ``max`` are the extremes, the rest medians.
    """
    if len(stats) == 1:
        return with_noise(stats[0], noise)
    middle = median(one.median for one in stats)
    low, high = interval(stats, noise)
    return Stats(
        n=sum(one.n for one in stats),
        median=middle,
        low=min(low, middle),
        high=max(high, middle),
        mean=median(one.mean for one in stats),
        min=min(one.min for one in stats),
        p5=median(one.p5 for one in stats),
        p95=median(one.p95 for one in stats),
        p99=median(one.p99 for one in stats),
        max=max(one.max for one in stats),
    )


def with_noise(stats: Stats, noise: float) -> Stats:
    """The same with an interval that holds ``noise`` (relative half width) besides, each side for itself."""
    if not noise or stats.low <= 0:
        return stats
    below, above = math.log(stats.median / stats.low), math.log(stats.high / stats.median)
    lower, upper = math.hypot(below, noise), math.hypot(above, noise)
    return replace(stats, low=stats.median * math.exp(-lower), high=stats.median * math.exp(upper))


def interval(stats: Sequence[Stats], noise: float = 0.0) -> tuple[float, float]:
    """Of at least two replicates, in their unit: Student's interval, 95 %, of the logarithms of their medians.

    It is no narrower than what the samples leave open, for replicates may agree by chance or to a tick of the clock.
    """
    if min(one.median for one in stats) <= 0:
        return min(one.low for one in stats), max(one.high for one in stats)
    logs = [math.log(one.median) for one in stats]
    centre = sum(logs) / len(logs)
    variance = sum((log - centre) ** 2 for log in logs) / (len(logs) - 1)
    between = t975(len(logs) - 1) * math.sqrt(variance / len(logs))
    within = median((one.high - one.low) / 2 / one.median for one in stats) / math.sqrt(len(stats))
    margin = math.hypot(max(between, within), noise)
    return math.exp(centre - margin), math.exp(centre + margin)


def _flow(flows: Sequence[FlowResult], lost: Sequence[str], noise: float) -> FlowResult:
    rates = [flow.gbps for flow in flows if flow.gbps is not None]
    seconds, gbps = across([flow.seconds for flow in flows], noise), across(rates, noise) if rates else None
    modes = two_modes([sample for flow in flows for sample in flow.samples_s])
    if modes is not None and seconds.median > 0:
        slower, faster = modes[1] / seconds.median, modes[0] / seconds.median
        seconds = _widened(seconds, faster, slower)
        gbps = _widened(gbps, 1 / slower, 1 / faster) if gbps else None
    notes = (*lost, *why_wide(flows, modes, noise), *(note for flow in flows for note in flow.notes))
    parts = zip(*(flow.parts_s for flow in flows), strict=True)
    return replace(
        flows[-1],
        seconds=seconds,
        gbps=gbps,
        notes=tuple(dict.fromkeys(notes)),
        samples_s=tuple(sample for flow in flows for sample in flow.samples_s),
        parts_s=tuple(median(times) for times in parts),
    )


def _widened(stats: Stats, lower: float, upper: float) -> Stats:
    """With an interval that reaches from ``lower`` to ``upper`` times the median at least."""
    return replace(stats, low=min(stats.low, stats.median * lower), high=max(stats.high, stats.median * upper))
