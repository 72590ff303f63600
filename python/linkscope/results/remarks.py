"""Remarks: what a row's replicates say of its result besides: which were lost, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from linkscope.messages.finding import Finding, note
from linkscope.results.row import FlowResult, Row
from linkscope.results.stats import modes_of
from linkscope.statistics.modes import middle

WIDE = 0.02
"""Replicates that differ by less need no reason."""
_FEWEST_FOR_DRIFT = 4


def remarks(row: Row) -> Iterator[Finding]:
    """Yield what to know of a row's interval; nothing of a row without results."""
    if row.status != "ok":
        return
    lines = row.replicates or (row,)
    for number, line in enumerate(lines, start=1):
        if line.status != "ok":
            facts = {"number": number, "replicates": len(lines), "status": line.status, "reason": line.reason or ""}
            yield note("spread.lost", **facts)
    yield from interference(row.measured)
    for index in range(len(row.flows)):
        yield from _why_they_differ([line.flows[index] for line in row.measured])
    if row.noise >= WIDE:
        yield note("spread.calibrated", share=row.noise)
    if lines[-1].round is not None and len(row.measured) < 2 and not row.noise:
        yield note("spread.one-replicate")


def interference(lines: Sequence[Row]) -> Iterator[Finding]:
    """Yield what the machine took from the measured threads, and the samples that do not count because of that."""
    if starts := sum(line.discarded.get("load-ended", 0) for line in lines):
        yield note("spread.load-ended", starts=starts)
    if starts := sum(line.discarded.get("run-queue", 0) for line in lines):
        yield note("spread.run-queue", starts=starts)
    told = [line.interference for line in lines if line.interference is not None]
    if switches := sum(one.switches for one in told):
        yield note("spread.switches", switches=switches, waited=max(one.waited_s for one in told))
    if (stolen := sum(one.stolen_s for one in told)) > 0:
        yield note("spread.steal", stolen=stolen)


def _why_they_differ(flows: Sequence[FlowResult]) -> Iterator[Finding]:
    medians = [flow.seconds.median for flow in flows]
    if min(medians) <= 0:
        return
    share = max(medians) / min(medians) - 1
    modes = modes_of([flow.seconds for flow in flows], [flow.samples_s for flow in flows])
    if modes is not None:
        yield note("spread.two-modes", fast=modes[0], slow=modes[1])
    if share < WIDE:
        return
    steps = {a < b for a, b in pairwise(medians)}
    if len(medians) >= _FEWEST_FOR_DRIFT and len(steps) == 1:
        yield note("spread.slower" if steps == {True} else "spread.faster", share=share)
    elif modes is None:
        more = share > middle((flow.seconds.high - flow.seconds.low) / flow.seconds.median for flow in flows)
        yield note("spread.visits" if more else "spread.samples", share=share)
