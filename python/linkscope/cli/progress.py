"""Progress of a run on standard error: a live picture on a terminal, a line for each test of a suite elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from linkscope.cli.live_progress import LiveProgress
from linkscope.cli.progress_lines import ProgressLines
from linkscope.launch.job import Job
from linkscope.launch.run import Listener
from linkscope.messages.catalog import commands, sentence
from linkscope.messages.finding import Finding, note
from linkscope.plan.model_gaps import model_gaps
from linkscope.plan.modelled import NOT_MODELLED
from linkscope.plan.planned_case import PlannedCase

WORTH_TELLING = 1.3
"""Ratio of the longest time to the likely one from which it is printed."""


@contextmanager
def progress(console: Console) -> Iterator[Listener]:
    """Yield a listener that shows on ``console`` how the run goes on."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield ProgressLines(console, ahead).listener()
        return
    live = LiveProgress(console, ahead)
    with live.shown():
        yield live.listener()


def ahead(job: Job, cases: Sequence[PlannedCase]) -> str:
    """Return what a machine model has no data for, then the extent of ``cases``, in lines."""
    skipped = sum(one.skip is not None for one in cases)
    more = [note("plan.skipped-count", skipped=skipped)] if 0 < skipped < len(cases) else []
    gaps = [f"{commands(one)[0]} ({sentence(one)})" if commands(one) else sentence(one) for one in not_modelled(job)]
    return "\n".join([*gaps, ", ".join(map(sentence, (extent(job, cases), *more)))])


def not_modelled(job: Job) -> list[Finding]:
    """Return which tests of ``job`` a machine model has no data for, and why; empty for a real node."""
    if not job.node.modelled:
        return []
    asked = (one for one in job.cases if one.skip is None or NOT_MODELLED in one.case.get("labels", {}))
    cases = ((str(one.case["suite"]), str(one.case["name"]), one.skip) for one in asked)
    return model_gaps(cases, job.node.name, job.request.machine or job.node.name)


def extent(job: Job, cases: Sequence[PlannedCase]) -> Finding:
    """Return how many of ``cases`` will be measured, where, how often and how long that takes."""
    run = [one for one in cases if one.skip is None]
    if not run:
        return note("plan.nothing", cases=len(cases), node=job.node.name)
    estimate = job.estimate(run)
    facts = {"cases": len(run), "node": job.node.name, "likely": estimate.likely_s}
    if job.node.modelled:
        return note("plan.extent-model", **facts)
    if job.request.budget is not None and job.rounds.most > job.rounds.least:
        return note("plan.extent-budget", **facts)
    if estimate.most_s > WORTH_TELLING * estimate.likely_s:
        return note("plan.extent-wide", rounds=job.rounds.least, most=estimate.most_s, **facts)
    return note("plan.extent", rounds=job.rounds.least, **facts)
