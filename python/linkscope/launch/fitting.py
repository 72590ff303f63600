"""Fitting: how often a run visits its cases and how long it samples each; under a budget, which are left out."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkscope.documents.durations import parse_duration
from linkscope.errors import LinkscopeError
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import note
from linkscope.plan.budget import (
    DEFAULT_ROUNDS,
    Costs,
    RoundLimits,
    SamplingOptions,
    fit,
    least_s,
    limits,
    share_out,
)
from linkscope.plan.planned_case import PlannedCase

MOST_ROUNDS = 100
"""While a budget lasts."""
_END_S = 1.2
"""For Python's start, the last case and the summary."""
_PLANNED = 0.8
"""Share of a budget that is planned; what is over goes to the figures that are known worst."""


@dataclass(frozen=True)
class Fitting:
    """Hold what was decided. ``cases``: with their limits, and those skipped that are left out. ``deadline``: when a
    budget is used up, by the monotonic clock. ``notes``: what a user should know of it.
    """

    cases: tuple[PlannedCase, ...]
    options: SamplingOptions
    rounds: RoundLimits
    deadline: float = math.inf
    notes: tuple[str, ...] = ()


def fitted(
    planned: Sequence[PlannedCase], precision: float, rounds: RoundLimits, known: Costs, sampled_s: float | None = None
) -> Fitting:
    """All cases, for which the least rounds take ``sampled_s`` seconds where that is given."""
    options = share_out([one.case for one in planned if one.skip is None], precision, sampled_s, rounds.least, known)
    cases = (replace(one, case={**one.case, **limits(one.case, options)}) for one in planned)
    return Fitting(tuple(cases), options, rounds)


def fitted_to(
    budget: str,
    end: float,
    planned: Sequence[PlannedCase],
    precision: float,
    rounds: RoundLimits,
    known: Costs,
) -> Fitting:
    """Fit the cases to what can be done until ``end`` (monotonic clock), when the ``budget`` is used up, all else
    included.

    Raises LinkscopeError where that is nothing.
    """
    deadline = end - _END_S
    left = max(deadline - time.monotonic(), 0.0)
    runnable = [one.case for one in planned if one.skip is None]
    visits, out = fit(runnable, _PLANNED * left, rounds.least, known)
    once, before = least_s(runnable, known), parse_duration(budget) - left
    if runnable and len(out) == len(runnable):
        raise LinkscopeError(f"a budget of {budget} is too short for any case: all need about {_seconds(once, before)}")
    reason = f"a budget of {budget} is too short"
    kept = [replace(one, skip=reason, left_out=True) if one.id in out else one for one in planned]
    notes = []
    if out:
        facts = {"budget": budget, "cases": len(runnable), "needed": _seconds(once, before), "left_out": len(out)}
        notes.append(sentence(note("plan.short-budget", **facts)))
    elif visits < rounds.least:
        facts = {"budget": budget, "rounds": rounds.least, "needed": _seconds(rounds.least * once, before)}
        notes.append(sentence(note("plan.one-round", **facts)))
    within = RoundLimits(visits, MOST_ROUNDS if rounds == DEFAULT_ROUNDS else max(rounds.most, visits))
    found = fitted(kept, precision, within, known, _PLANNED * left)
    return replace(found, deadline=deadline, notes=tuple(notes))


def _seconds(measuring: float, before: float) -> str:
    """A budget that suffices for so much measuring, with what is over for all else."""
    return f"{math.ceil(measuring / _PLANNED + before)} s"
