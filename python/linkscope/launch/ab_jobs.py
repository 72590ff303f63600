"""Jobs of sides: the same cases under the settings of each, and for how long they are sampled."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace

from linkscope.launch import costs
from linkscope.launch.ab_sides import TORCH, Side, check_loaded, mpiexec_of, uses
from linkscope.launch.engines import choose_engine
from linkscope.launch.fitting import MOST_ROUNDS, fitted
from linkscope.launch.job import Job, Request, prepare
from linkscope.messages.catalog import problem, sentence
from linkscope.messages.finding import note
from linkscope.plan.budget import RoundLimits, fit
from linkscope.statistics.paired import FEWEST_ROUNDS

NO_TIME = "the budget is too short"
"""Reason of a case that was left out."""
_FIRST_SHARE = 0.6
"""Share of the time that the first rounds of all cases are planned to take; the rest narrows differences down."""


def jobs_of(request: Request, sides: Sequence[Side], deadline: float) -> list[Job]:
    """Return the job of each side. Raises LinkscopeError where an engine has not loaded what its side asks for, where
    the sides have not the same cases, and where nothing can be measured until ``deadline`` (monotonic clock)."""
    return _shared(_affected([_job(request, side) for side in sides], sides), deadline)


def _job(request: Request, side: Side) -> Job:
    """Return the job of a side. Raises LinkscopeError where its engine has not loaded what was asked for."""
    launching = replace(request.launching, settings=side.variables)
    if request.machine is None:
        engine = choose_engine(request.engine, side.variables)
        check_loaded(side, engine.command, engine.description)
        mpiexec = mpiexec_of(side, engine.description)
        if mpiexec is not None and not launching.is_asked_for:
            launching = replace(launching, launcher_command=shlex.quote(mpiexec))
    job = prepare(replace(request, launching=launching))
    names = {name for name, _ in side.variables}
    for case in job.cases:
        for name in sorted(names & case.environment.keys()):
            raise problem("ab.set-by-suite", name=name, test=f"{case.case.get('suite')}/{case.case.get('name')}")
    return job


def _affected(jobs: Sequence[Job], sides: Sequence[Side]) -> list[Job]:
    """Return the jobs without the cases that use none of the libraries in which the sides differ, where these are all
    that they differ in. Raises LinkscopeError where no case is left."""
    kinds = sorted({kind for side in sides for kind, _ in side.files})
    if not kinds or not all(side.files or not side.variables for side in sides):
        return list(jobs)
    if any(len(side.variables) > sum(1 + (kind == TORCH) for kind, _ in side.files) for side in sides):
        return list(jobs)
    found = [replace(job, cases=tuple(one for one in job.cases if uses(one.case, kinds))) for job in jobs]
    if not found[0].cases:
        raise problem("ab.unaffected", kinds=kinds)
    return found


def _shared(jobs: Sequence[Job], deadline: float) -> list[Job]:
    """Return the jobs with the same cases, each sampled for so long that the first rounds of all sides fit; cases that
    do not fit are left out. Raises LinkscopeError where the sides have not the same engine and cases."""
    engines = sorted({job.engine.name for job in jobs})
    if len(engines) > 1:
        raise problem("ab.other-engines", engines=engines)
    ids = set(jobs[0].ids)
    if any(set(job.ids) != ids for job in jobs):
        raise problem("ab.other-cases", sides=len(jobs))
    first = jobs[0]
    if first.node.modelled:
        limits_of = RoundLimits(1, 1)
        return [replace(job, rounds=limits_of) for job in jobs]
    turn_s = _FIRST_SHARE * (deadline - time.monotonic()) / (len(jobs) * FEWEST_ROUNDS)
    known = costs.known(costs.kept_at(first.node.name, first.backend)).times(first.crowd)
    runs_everywhere = set.intersection(*({one.id for one in job.cases if one.skip is None} for job in jobs))
    runnable = [one.case for one in first.cases if one.id in runs_everywhere]
    if not runnable:
        raise problem("ab.nothing", reason=next(one.skip for job in jobs for one in job.cases if one.skip is not None))
    _, out = fit(runnable, turn_s, 1, known)
    if len(out) == len(runnable):
        raise problem("ab.short-budget", seconds=math.ceil(deadline - time.monotonic()))
    rounds = RoundLimits(FEWEST_ROUNDS, MOST_ROUNDS)
    found = []
    for job in jobs:
        kept = [replace(one, skip=NO_TIME, left_out=True) if one.id in out else one for one in job.cases]
        fits = fitted(kept, first.options.precision, rounds, known, turn_s * FEWEST_ROUNDS)
        said = [sentence(note("ab.left-out", cases=len(runnable), left_out=len(out)))] if out else []
        spread = RoundLimits(1, MOST_ROUNDS)
        notes = (*job.notes, *said)
        found.append(
            replace(job, cases=fits.cases, options=fits.options, rounds=spread, deadline=deadline, notes=notes)
        )
    return found
