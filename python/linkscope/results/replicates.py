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

from linkscope.order_statistics import reciprocal_median, t975
from linkscope.results.member_time import of_replicates
from linkscope.results.row import FlowResult, Row, Stats
from linkscope.results.spread import two_modes, why_wide

OF_SAMPLES = "the interval is their range"
"""So says an engine's note on a replicate of few samples; the interval between replicates is another."""
WIDEST = math.log(1e12)
"""What is as open as this is not known, and exp() of samples a thousandfold apart has no value."""
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
    modes = _modes(good)
    if len(rows) == 1 and not (good and noise) and not any(modes):
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
    flows = tuple(_flow([row.flows[i] for row in good], modes[i], lost, noise) for i in range(len(last.flows)))
    aggregates = [row.aggregate for row in good if row.aggregate is not None]
    whole = across(aggregates, noise) if len(aggregates) == len(good) else None
    stopped = next((row.stopped for row in good if row.stopped != "precision"), "precision")
    return replace(
        last,
        flows=flows,
        aggregate=_at_their_modes(whole, replace(last, flows=flows), modes) if whole else None,
        stopped=stopped,
        replicates=tuple(rows),
        noise=noise,
    )


def across(stats: Sequence[Stats], noise: float = 0.0) -> Stats:
    """Stats of the figure that replicates measured, in their unit.

    ``median`` is the ``reciprocal_median`` of their medians, ``low`` to ``high`` their 95 % interval, that holds it; of
    one replicate it is that replicate's own. ``noise`` is as of ``folded``. ``n`` is the sum, ``min`` and ``max`` are
    the extremes, the rest medians.
    """
    if len(stats) == 1:
        return with_noise(stats[0], noise)
    middle = reciprocal_median([one.median for one in stats])
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
    low, high = widened(stats.median, stats.low, stats.high, noise)
    return replace(stats, low=low, high=high)


def widened(middle: float, low: float, high: float, noise: float) -> tuple[float, float]:
    """The bounds of one replicate's interval with ``noise`` besides."""
    if not noise or low <= 0:
        return low, high
    below, above = math.hypot(math.log(middle / low), noise), math.hypot(math.log(high / middle), noise)
    return middle * math.exp(-below), middle * math.exp(above)


def interval(stats: Sequence[Stats], noise: float = 0.0) -> tuple[float, float]:
    """Of at least two replicates, in their unit: Student's interval, 95 %, of the logarithms of their medians.

    It is no narrower than what the samples leave open, for replicates may agree by chance or to a tick of the clock.
    """
    if min(one.median for one in stats) <= 0:
        return min(one.low for one in stats), max(one.high for one in stats)
    logs = [math.log(one.median) for one in stats]
    centre = sum(logs) / len(logs)
    variance = sum((log - centre) ** 2 for log in logs) / (len(logs) - 1)
    within = median((one.high - one.low) / 2 / one.median for one in stats)
    return bounds(len(logs), centre, variance, within, noise)


def bounds(count: int, centre: float, variance: float, within: float, noise: float) -> tuple[float, float]:
    """That interval from the mean and variance of the ``count`` logarithms, and the relative half width ``within`` that
    samples leave in one replicate."""
    between = t975(count - 1) * math.sqrt(variance / count)
    margin = min(math.hypot(max(between, within / math.sqrt(count)), noise), WIDEST)
    return math.exp(centre - margin), math.exp(centre + margin)


def reaching(stats: Stats, modes: tuple[float, float] | None) -> Stats:
    """The same with an interval that holds both modes, in its unit, where there are two."""
    return stats if modes is None else replace(stats, low=min(stats.low, modes[0]), high=max(stats.high, modes[1]))


def noted(replicates: Sequence[Sequence[str]], noise: float) -> list[str]:
    """What engines noted of each replicate, each note once; without those on an interval that is not the figure's."""
    own = dict.fromkeys(note for notes in replicates for note in notes)
    return [note for note in own if (len(replicates) == 1 and not noise) or OF_SAMPLES not in note]


def _modes(good: Sequence[Row]) -> list[tuple[float, float] | None]:
    """Of each flow's times."""
    count = len(good[-1].flows) if good else 0
    return [two_modes([row.flows[i].samples_s for row in good]) for i in range(count)]


def _at_their_modes(whole: Stats, row: Row, modes: Sequence[tuple[float, float] | None]) -> Stats:
    """An aggregate whose interval reaches from where all flows with two modes are slow to where they are fast."""
    found = [
        (result.seconds.median, *(two or (result.seconds.median,) * 2), flow["bytes"])
        for flow, result, two in zip(row.case["flows"], row.flows, modes, strict=False)
        if flow.get("role", "measured") == "measured" and result.seconds.median > 0
    ]
    usual, fast, slow = (sum(one[-1] / one[k] for one in found) for k in range(3))
    return reaching(whole, (whole.median * slow / usual, whole.median * fast / usual)) if usual else whole


def _flow(
    flows: Sequence[FlowResult], modes: tuple[float, float] | None, lost: Sequence[str], noise: float
) -> FlowResult:
    rates = [flow.gbps for flow in flows if flow.gbps is not None]
    seconds, gbps = across([flow.seconds for flow in flows], noise), across(rates, noise) if rates else None
    if modes is not None and seconds.median > 0:
        product = gbps.median * seconds.median if gbps else 0.0
        seconds = reaching(seconds, modes)
        gbps = reaching(gbps, (product / modes[1], product / modes[0])) if gbps else None
    notes = (*lost, *why_wide(flows, modes, noise), *noted([flow.notes for flow in flows], noise))
    parts = zip(*(flow.parts_s for flow in flows), strict=True)
    return replace(
        flows[-1],
        seconds=seconds,
        gbps=gbps,
        notes=tuple(dict.fromkeys(notes)),
        samples_s=tuple(sample for flow in flows for sample in flow.samples_s),
        parts_s=tuple(reciprocal_median(times) for times in parts),
        breakdown=of_replicates([flow.breakdown for flow in flows]),
    )
