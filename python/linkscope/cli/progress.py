"""Progress of a run on standard error: a live picture on a terminal, a line for each row of a suite elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from linkscope.cli.live_progress import LiveProgress
from linkscope.cli.progress_lines import ProgressLines
from linkscope.launch.job import Job
from linkscope.launch.run import Listener
from linkscope.messages.catalog import sentence
from linkscope.plan.model_gaps import model_gaps
from linkscope.plan.modelled import NOT_MODELLED
from linkscope.plan.planned_case import PlannedCase
from linkscope.report import wording

WORTH_TELLING = 1.3
"""By how much more the longest time is than the likely one, so that a word is said of it."""


@contextmanager
def progress(console: Console) -> Iterator[Listener]:
    """A listener that shows on ``console`` how the run goes on."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield ProgressLines(console, ahead).listener()
        return
    live = LiveProgress(console, ahead)
    with live.shown():
        yield live.listener()


def ahead(job: Job, cases: Sequence[PlannedCase]) -> str:
    """What a described node has no model for, then the extent of ``cases``, in lines."""
    return "\n".join((*not_modelled(job), extent(job, cases)))


def not_modelled(job: Job) -> list[str]:
    """Return which tests of ``job`` a machine model has no data for, and why, in lines; none of a real node."""
    if not job.node.modelled:
        return []
    asked = (one for one in job.cases if one.skip is None or NOT_MODELLED in one.case.get("labels", {}))
    cases = ((str(one.case["suite"]), str(one.case["name"]), one.skip) for one in asked)
    return [sentence(one) for one in model_gaps(cases, job.node.name, job.request.machine or job.node.name)]


def extent(job: Job, cases: Sequence[PlannedCase]) -> str:
    """How many of ``cases`` will be measured, where, how often and how long that takes: "42 cases on node-a, each in 3
    rounds, about 60 s, 4 min where all figures scatter".
    """
    run = [one for one in cases if one.skip is None]
    if not run:
        return f"none of {wording.cases_on(len(cases), job.node)} can run: all are skipped"
    rounds = job.rounds.least
    told = [f"{'at most ' if job.node.modelled else ''}{wording.cases_on(len(run), job.node)}"]
    if job.request.budget is not None and not job.node.modelled and job.rounds.most > rounds:
        told.append("each in as many rounds as fit")
    elif rounds > 1:
        told.append(f"each in {rounds} rounds")
    estimate = job.estimate(run)
    told.append(f"about {wording.duration(estimate.likely_s)}")
    if estimate.most_s > WORTH_TELLING * estimate.likely_s:
        told.append(f"{wording.duration(estimate.most_s)} where all figures scatter")
    if len(run) < len(cases):
        more = len(cases) - len(run)
        least = "at least " if job.node.modelled else ""  # a model skips more while it plays
        told.append(f"{least}{more} more {'is' if more == 1 else 'are'} skipped")
    return ", ".join(told)
