"""Job: everything that is decided before the first case runs."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from linkscope import __version__
from linkscope.errors import LinkscopeError
from linkscope.launch import costs
from linkscope.launch.engines import Engine, choose_engine, modelling_engine
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.machine.described import load_machine
from linkscope.machine.discover import discover
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.machine.state import read_state
from linkscope.plan.budget import (
    DEFAULT_ROUNDS,
    Costs,
    RoundLimits,
    SamplingOptions,
    estimate_s,
    fit,
    least_s,
    limits,
    modelled_s,
    share_out,
)
from linkscope.plan.expand import PlannedCase, expand
from linkscope.plan.modelled import machine_of
from linkscope.plan.select import Selection, parse_duration, parse_precision, parse_rounds, selection
from linkscope.plan.suite import load_suite, packaged_methods
from linkscope.results import calibration
from linkscope.results.run_file import FILE_SCHEMA, SCHEMA

Json = dict[str, Any]

MOST_ROUNDS = 100
"""While a budget lasts."""
_END_S = 1.2
"""For Python's start, the last case and the summary."""
_PLANNED = 0.8
"""Share of a budget that is planned; what is over goes to the figures that are known worst."""


@dataclass(frozen=True)
class Request:
    """What the user asked for, in the command line's own words. None: the default.

    ``suites``: names, or paths of suite files. ``machine``: a described node, modelled. ``engine``: cuda, hip, host.
    ``launching``: how several processes are started, where cases want them.
    """

    suites: tuple[str, ...] = ("default",)
    devices: str | None = None
    methods: str | None = None
    sizes: str | None = None
    precision: str = "1%"
    budget: str | None = None
    rounds: str | None = None
    clock: str | None = None
    machine: str | None = None
    engine: str | None = None
    launching: LaunchOptions = field(default_factory=LaunchOptions)

    def to_json(self) -> Json:
        return asdict(self)

    @staticmethod
    def from_json(data: Json) -> Request:
        """Raises TypeError on foreign data."""
        suites, launching = tuple(data["suites"]), LaunchOptions(**data.get("launching", {}))
        return Request(**{**data, "suites": suites, "launching": launching})


@dataclass(frozen=True)
class Job:
    """A request met with a machine: the node, the engine and the cases in order."""

    request: Request
    node: Node
    engine: Engine
    cases: tuple[PlannedCase, ...]
    options: SamplingOptions
    rounds: RoundLimits
    deadline: float = math.inf
    """When a budget is used up, by the monotonic clock."""
    noise: Json = field(default_factory=dict)
    """What calibration found on this node, as a run file's header has it; empty where there was none."""
    notes: tuple[str, ...] = ()
    """What a user should know before it starts."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases)

    @property
    def backend(self) -> str:
        """As rows name it: host, cuda, hip or modelled."""
        return self.engine.backend

    def plan(self, cases: Sequence[PlannedCase], tuned: Json | None = None) -> Json:
        """The plan (schema/plan.schema.json) of some of the job's cases. ``tuned``: launch shapes by tuning group."""
        plan: Json = {"schema": SCHEMA, "options": self.options.to_json(), "cases": [one.case for one in cases]}
        plan |= {"tuned": tuned} if tuned else {}
        if self.node.modelled:
            plan |= {"backend": "modelled", "machine": machine_of(Paths(self.node))}
        return plan

    def estimate_s(self, cases: Sequence[PlannedCase]) -> float:
        """Seconds that one visit of some of the job's cases will roughly take."""
        run = [one.case for one in cases if one.skip is None]
        if self.node.modelled:
            return modelled_s(len(run))
        return self.options.costs.starts_s(run) + sum(estimate_s(case, self.options) for case in run)

    def header(self, command: Sequence[str]) -> Json:
        """The run file's first line (schema/result.schema.json); reads the machine's state."""
        return {
            "record": "header",
            "schema": FILE_SCHEMA,
            "version": __version__,
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "host": platform.node(),
            "command": list(command),
            "node": self.node.to_json(),
            "engine": self.engine.description,
            "state": self.state(),
            **({"noise": self.noise} if self.noise else {}),
            "plan": {
                "options": self.options.to_json(),
                "rounds": self.rounds.to_json(),
                "suites": list(self.request.suites),
                "ids": list(self.ids),
                "request": self.request.to_json(),
            },
        }

    def state(self) -> Json:
        """The machine's state now; empty for a described node, which has none."""
        return {} if self.node.modelled else read_state(self.engine.description).to_json()


@dataclass(frozen=True)
class SuiteEstimate:
    """What a suite comes to on a machine: cases that would be tried, and the seconds they roughly take.

    ``problem`` says why there is none to try, where there is none.
    """

    cases: int
    seconds: float
    problem: str | None = None


def suite_estimates(names: Sequence[str]) -> dict[str, SuiteEstimate]:
    """The outlook of each suite on this machine, all asked for as a plain `linkscope run NAME` would.

    Raises LinkscopeError where there is no engine.
    """
    engine = choose_engine()
    node = discover(engine.description)
    return {name: _outlook(name, node, engine) for name in names}


def _outlook(name: str, node: Node, engine: Engine) -> SuiteEstimate:
    try:
        suites = [load_suite(name)]
        planned = expand(suites, node, engine.catalog(), Selection())
    except LinkscopeError as error:
        lacks_gpus = not node.of_kind("gpu") and all(row.needs_gpu for row in load_suite(name).rows)
        return SuiteEstimate(0, 0.0, "needs GPUs" if lacks_gpus else str(error))
    cases = [one.case for one in planned if one.skip is None]
    if not cases:
        return SuiteEstimate(0, 0.0, planned[0].skip)
    visits = DEFAULT_ROUNDS.least
    options = share_out(cases, parse_precision(Request().precision), None, visits)
    return SuiteEstimate(len(cases), visits * sum(estimate_s(case, options) for case in cases))


def prepare(request: Request) -> Job:
    """Meets ``request`` with this machine or the described one. Raises LinkscopeError for whatever is wrong in it."""
    begun = time.monotonic()
    suites = [load_suite(name) for name in request.suites]
    precision = parse_precision(request.precision)
    budget_s = parse_duration(request.budget) if request.budget else None
    described = load_machine(request.machine) if request.machine else None
    engine = (
        modelling_engine() if described else choose_engine(request.engine, tuple(request.launching.variables().items()))
    )
    node = described or discover(engine.description)
    known = sorted({*engine.methods, *packaged_methods()}) if request.methods else []
    selected = selection(node, known, request.devices, request.methods, request.sizes, request.clock)
    if not described:
        selected = replace(selected, hosts=max(len(request.launching.peers), 1))
    planned = expand(suites, node, engine.catalog(), selected)
    rounds = parse_rounds(request.rounds) if request.rounds else DEFAULT_ROUNDS
    if described:
        rounds = RoundLimits()  # a model gives the same figure every time
    before = Costs() if described else costs.known(costs.kept_at(node.name, engine.backend))
    left, notes = 0.0, tuple[str, ...]()
    if budget_s is not None and not described:
        left = max(budget_s - _END_S - (time.monotonic() - begun), 0.0)
        planned, rounds, notes = _fitted(planned, str(request.budget), left, rounds, before)
    share = None if budget_s is None else budget_s if described else _PLANNED * left
    options = share_out([one.case for one in planned if one.skip is None], precision, share, rounds.least, before)
    cases = tuple(replace(one, case={**one.case, **limits(one.case, options)}) for one in planned)
    deadline = math.inf if budget_s is None or described else begun + budget_s - _END_S
    said = list(notes)
    calibrated = calibration.load(node, said.append)
    noise = {} if calibrated is None else calibration.noise_of(calibrated, (one.id for one in cases))
    return Job(request, node, engine, cases, options, rounds, deadline, noise, tuple(said))


def _fitted(
    planned: Sequence[PlannedCase], budget: str, left: float, rounds: RoundLimits, known: Costs
) -> tuple[list[PlannedCase], RoundLimits, tuple[str, ...]]:
    """The cases, those skipped that do not fit ``left`` seconds; the rounds that do; and what is to be said of both."""
    runnable = [one.case for one in planned if one.skip is None]
    visits, out = fit(runnable, left, rounds.least, known)
    reason = f"left out: a budget of {budget} is too short for it"
    kept = [replace(one, skip=reason) if one.id in out else one for one in planned]
    least = f"{least_s(runnable, known):.0f} s"
    notes = []
    if out:
        notes.append(
            f"the budget of {budget} is too short: all {len(runnable)} cases once take about {least};"
            f" {len(out)} are left out, of curves every other size first"
        )
    elif visits < rounds.least:
        notes.append(f"the budget of {budget} is short: one round of {len(runnable)} cases takes about {least}")
    return kept, RoundLimits(visits, max(rounds.most, MOST_ROUNDS)), tuple(notes)
