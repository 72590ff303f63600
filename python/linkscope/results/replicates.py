"""Replicates of a case as one row: the result that another run on this node would find, and how well it is known.

A replicate is one measurement of a case by an engine process of its own, in memory of its own. What pages the kernel
gave and how a process started varies between replicates, never within one: so the interval comes from the replicates'
medians, and from the samples only where there is but one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from msgspec.structs import astuple, replace

from linkscope.results.member_time import of_replicates
from linkscope.results.note_codes import FEW_SAMPLES, says
from linkscope.results.row import Aggregate, FlowResult, Row
from linkscope.results.stats import Stats, modes_of
from linkscope.results.usual_noise import FREEDOM, NONE, UsualNoise
from linkscope.statistics.modes import middle
from linkscope.statistics.ranks import reciprocal_median, t975

WIDEST = math.log(1e12)
"""Widest known interval, as a logarithm; exp() of samples a thousandfold apart overflows."""
MOST_FAILURES = 1
"""Replicates of a case that may fail before it has failed."""

Modes = tuple[float, float] | None


def folded(rows: Sequence[Row], noise: float = 0.0, usual: UsualNoise = NONE) -> Row:
    """Return one row out of all that a run has of a case, in order of replicate; it holds them as ``replicates``.

    ``noise``: what calibration found to vary from run to run besides, as the relative half width of a 95% interval.
    ``usual``: what results of this kind vary by on healthy nodes, which replicates that agree by chance do not show.
    The row is ok where a replicate is and at most one failed, else failed, else skipped. Raises ValueError where there
    are no rows.
    """
    if not rows:
        raise ValueError("no rows")
    good = [row for row in rows if row.status == "ok"]
    failed = sum(row.status == "failed" for row in rows)
    modes = [_modes([row.flows[i] for row in good]) for i in range(len(good[-1].flows))] if good else []
    if len(rows) == 1 and not (good and noise) and not any(modes):
        return rows[0]
    elapsed_s = sum(row.elapsed_s for row in rows)
    if not good or failed > MOST_FAILURES:
        worst = [row for row in rows if row.status == "failed"][-1] if failed else rows[-1]
        return replace(worst, replicates=tuple(rows), elapsed_s=elapsed_s)
    last = good[-1]
    flows = tuple(_flow([row.flows[i] for row in good], modes[i], noise, usual) for i in range(len(last.flows)))
    found = replace(
        last,
        flows=flows,
        together=None,
        stopped=next((row.stopped for row in good if row.stopped != "precision"), "precision"),
        elapsed_s=elapsed_s,
        replicates=tuple(rows),
        noise=noise,
        usual=usual,
    )
    found.together = _aggregate(good, found, modes)
    return found


def _modes(flows: Sequence[FlowResult]) -> Modes:
    return modes_of([flow.seconds for flow in flows], [flow.samples_s for flow in flows])


def _aggregate(good: Sequence[Row], found: Row, modes: Sequence[Modes]) -> Aggregate | None:
    """Return the aggregate of a row whose flows are folded; None where not all replicates have one."""
    own = [row.together.gbps for row in good if row.together is not None]
    if len(own) < len(good):
        return None
    alike = all(one is row.flows[0].gbps for one, row in zip(own, good, strict=True))
    if alike and not any(modes) and found.flows[0].gbps is not None:
        return Aggregate(found.flows[0].gbps)
    whole = across(own, found.noise, found.usual)
    return Aggregate(_at_their_modes(whole, found, modes) if any(modes) else whole)


def across(stats: Sequence[Stats], noise: float = 0.0, usual: UsualNoise = NONE) -> Stats:
    """Return the statistics of the result that replicates measured, in their unit.

    ``median`` is the ``reciprocal_median`` of their medians, ``low`` to ``high`` their 95% interval, that holds it; of
    one replicate it is that replicate's own. ``noise`` and ``usual`` are as of ``folded``. ``n`` is the sum, ``min``
    and ``max`` are the extremes, the rest medians.
    """
    if len(stats) == 1:
        return with_noise(stats[0], noise)
    n, medians, _, _, mean, least, p5, p95, p99, most = zip(*map(astuple, stats), strict=True)
    median = reciprocal_median(medians)
    low, high = interval(stats, noise, usual)
    return Stats(
        sum(n),
        median,
        min(low, median),
        max(high, median),
        middle(mean),
        min(least),
        middle(p5),
        middle(p95),
        middle(p99),
        max(most),
    )


def with_noise(stats: Stats, noise: float) -> Stats:
    """Return the statistics with an interval that holds ``noise`` (relative half width) besides, each side for
    itself."""
    if not noise or stats.low <= 0:
        return stats
    below, above = (
        math.hypot(math.log(ratio), noise) for ratio in (stats.median / stats.low, stats.high / stats.median)
    )
    return replace(stats, low=stats.median * math.exp(-below), high=stats.median * math.exp(above))


def interval(stats: Sequence[Stats], noise: float = 0.0, usual: UsualNoise = NONE) -> tuple[float, float]:
    """Return Student's 95% interval of the logarithms of at least two replicates' medians, in their unit.

    It is no narrower than what the samples leave open, for replicates may agree by chance or to a tick of the clock;
    nor than where their variance is drawn towards the ``usual`` one (Smyth 2004).
    """
    if min([one.median for one in stats]) <= 0:
        return min(one.low for one in stats), max(one.high for one in stats)
    count = len(stats)
    logs = [math.log(one.median) for one in stats]
    centre = sum(logs) / count
    variance = sum([(log - centre) ** 2 for log in logs]) / (count - 1)
    within = middle([(one.high - one.low) / 2 / one.median for one in stats])
    between = t975(count - 1) * math.sqrt(variance / count)
    if usual.processes:
        freedom = count - 1 + FREEDOM
        drawn = (FREEDOM * usual.processes**2 + (count - 1) * variance) / freedom
        between = max(between, t975(freedom) * math.sqrt(drawn / count))
    margin = min(math.hypot(max(between, within / math.sqrt(count)), noise or usual.margin), WIDEST)
    return math.exp(centre - margin), math.exp(centre + margin)


def reaching(stats: Stats, modes: Modes) -> Stats:
    """Return the statistics with an interval that holds both modes, in its unit, where there are two."""
    return stats if modes is None else replace(stats, low=min(stats.low, modes[0]), high=max(stats.high, modes[1]))


def noted(replicates: Sequence[Sequence[str]], noise: float) -> list[str]:
    """Return what engines noted of each replicate, each note once; without notes on few samples of one replicate: the
    interval between replicates is another."""
    own = dict.fromkeys(chain.from_iterable(replicates))
    return [note for note in own if (len(replicates) == 1 and not noise) or not says(FEW_SAMPLES, [note])]


def _at_their_modes(whole: Stats, row: Row, modes: Sequence[Modes]) -> Stats:
    """Return an aggregate whose interval reaches from where all flows with two modes are slow to where they are
    fast."""
    found = [
        (result.seconds.median, *(two or (result.seconds.median,) * 2), flow["bytes"])
        for flow, result, two in zip(row.case["flows"], row.flows, modes, strict=False)
        if flow.get("role", "measured") == "measured" and result.seconds.median > 0
    ]
    usual, fast, slow = (sum(one[-1] / one[k] for one in found) for k in range(3))
    return reaching(whole, (whole.median * slow / usual, whole.median * fast / usual)) if usual else whole


def _flow(flows: Sequence[FlowResult], modes: Modes, noise: float, usual: UsualNoise) -> FlowResult:
    last = flows[-1]
    rates = [flow.gbps for flow in flows if flow.gbps is not None]
    seconds = across([flow.seconds for flow in flows], noise, usual)
    gbps = across(rates, noise, usual) if rates else None
    if modes is not None and seconds.median > 0:
        product = gbps.median * seconds.median if gbps else 0.0
        seconds = reaching(seconds, modes)
        gbps = reaching(gbps, (product / modes[1], product / modes[0])) if gbps else None
    return FlowResult(
        repeats=last.repeats,
        operations=last.operations,
        seconds=seconds,
        gbps=gbps,
        touched_bytes=last.touched_bytes,
        setting=last.setting,
        notes=tuple(noted([flow.notes for flow in flows], noise)),
        parts_s=tuple(reciprocal_median(times) for times in zip(*(flow.parts_s for flow in flows), strict=True)),
        breakdown=of_replicates([flow.breakdown for flow in flows]) if last.breakdown else (),
        tuned=last.tuned,
    )
