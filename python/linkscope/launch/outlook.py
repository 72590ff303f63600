"""Outlook: what each suite comes to on this machine, before anyone asks for a run of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from linkscope.documents.durations import parse_duration
from linkscope.errors import LinkscopeError
from linkscope.launch import costs
from linkscope.launch.engines import Engine, choose_engine
from linkscope.launch.fitting import fitted
from linkscope.launch.job import Request
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.startable import startable
from linkscope.machine.described import load_machine
from linkscope.machine.discover import discover
from linkscope.machine.node import Node
from linkscope.plan.budget import DEFAULT_ROUNDS, Costs
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.keyword import picked
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.run_estimate import crowd_now, run_estimate
from linkscope.plan.select import Selection, parse_precision, parse_rounds, selection
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite, packaged_methods
from linkscope.suites import SUITES

EXAMPLE = "h200x4"
"""The machine model that stands for a machine with GPUs where there is none."""
KEPT_EXAMPLES = SUITES / "extents.json"
"""Cases and seconds of each packaged suite on ``EXAMPLE``."""
PLAIN = Request()
"""The request of `linkscope run NAME`, without the suite."""


@dataclass(frozen=True)
class SuiteEstimate:
    """Estimate a suite on a machine: cases that would be tried, and the seconds they roughly take.

    ``problem`` says why there is none to try, where there is none. ``lacks_gpus``: because there are no GPUs.
    ``elsewhere``: there is none, and on a node with GPUs there may be.
    """

    cases: int
    seconds: float
    problem: str | None = None
    lacks_gpus: bool = False
    elsewhere: bool = False


def suite_estimates(names: Sequence[str]) -> dict[str, SuiteEstimate]:
    """The outlook of each suite on this machine, all asked for as a plain `linkscope run NAME` would.

    Raises LinkscopeError where there is no engine.
    """
    engine = choose_engine()
    node = discover(engine.description)
    known = costs.known(costs.kept_at(node.name, engine.backend))
    return {name: _outlook(name, node, engine, known) for name in names}


def example_estimate(name: str) -> SuiteEstimate:
    """Return the outlook of a suite on a machine like ``EXAMPLE`` that has all the suite names: kept, or computed."""
    kept = _kept_examples().get(name)
    return computed_example(name) if kept is None else SuiteEstimate(**kept)


@cache
def _kept_examples() -> dict[str, Any]:
    """Return what tools/coverage has kept of packaged suites: to compute all takes seconds."""
    return dict(json.loads(KEPT_EXAMPLES.read_text(encoding="utf-8")))


def computed_example(name: str) -> SuiteEstimate:
    """Return the outlook of a suite on ``EXAMPLE``, by estimates alone, since nothing was measured there."""
    suite = load_suite(name)
    planned = expand([suite], replace(load_machine(EXAMPLE), modelled=False), whole_catalog(suite), Selection())
    return _estimate(planned, Costs(), 1.0)


def measured_outlook(request: Request) -> SuiteEstimate:
    """Estimate the most that a request to a machine model takes on a node like it with everything installed. Raises
    LinkscopeError for whatever is wrong in it.
    """
    node = replace(load_machine(str(request.machine)), modelled=False)
    workload = request.workload
    suites = [load_suite(name) for name in request.suites] if workload is None else [workload.suite()]
    planned: list[PlannedCase] = []
    for suite in suites:
        catalog = whole_catalog(suite)
        known = sorted({*catalog.methods, *packaged_methods()}) if request.methods else []
        selected = selection(node, known, request.devices, request.methods, request.sizes, request.clock)
        planned += expand([suite], node, catalog, selected)
    planned = planned if request.keyword is None else list(picked(planned, request.keyword, suites))
    return _estimate(planned, Costs(), 1.0, request)


def _outlook(name: str, node: Node, engine: Engine, known: Costs) -> SuiteEstimate:
    suite = load_suite(name)
    try:
        planned = startable(expand([suite], node, engine.catalog(), Selection()), LaunchOptions(), engine)
    except LinkscopeError as error:
        lacking = not node.of_kind("gpu") and _of_gpus(suite)
        return SuiteEstimate(0, 0.0, "needs GPUs" if lacking else str(error), lacking, not node.of_kind("gpu"))
    found = _estimate(planned, known, crowd_now())
    return replace(found, elsewhere=not found.cases and not node.of_kind("gpu"))


def _of_gpus(suite: Suite) -> bool:
    return not suite.workloads and all(row.needs_gpu for row in suite.rows)


def _estimate(planned: Sequence[PlannedCase], known: Costs, crowd: float, request: Request = PLAIN) -> SuiteEstimate:
    cases = [one.case for one in planned if one.skip is None]
    if not cases:
        return SuiteEstimate(0, 0.0, planned[0].skip if planned else None)
    rounds = parse_rounds(request.rounds) if request.rounds else DEFAULT_ROUNDS
    budget_s = parse_duration(request.budget) if request.budget else None
    options = fitted(planned, parse_precision(request.precision), rounds, known, budget_s).options
    return SuiteEstimate(len(cases), run_estimate(cases, options, rounds, crowd, budget_s).likely_s)
