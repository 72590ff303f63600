"""Job: everything that is decided before the first case runs."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

import msgspec

from linkscope.documents.durations import parse_duration, with_unit
from linkscope.documents.sizes import early_ends
from linkscope.documents.typed_call import typed_fields
from linkscope.errors import LinkscopeError
from linkscope.launch import costs
from linkscope.launch.engines import Engine, choose_engine, modelling_engine
from linkscope.launch.fitting import fitted, fitted_to
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.launcher.resolver import unresolved
from linkscope.launch.pace import Pace
from linkscope.launch.startable import startable
from linkscope.launch.workload_request import WorkloadRequest
from linkscope.machine.described import load_machine
from linkscope.machine.discover import discover
from linkscope.machine.doctor import neighbours
from linkscope.machine.identity import read_identity
from linkscope.machine.node import Node
from linkscope.machine.state import MachineState, read_state
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import note
from linkscope.plan.budget import DEFAULT_ROUNDS, Costs, RoundLimits, SamplingOptions, estimate_s, modelled_s, row_of
from linkscope.plan.expand import expand
from linkscope.plan.keyword import picked
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.run_estimate import RunEstimate, crowd_now, modelled_estimate, run_estimate
from linkscope.plan.select import parse_precision, parse_rounds, selection
from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite, packaged_methods
from linkscope.plan.sustained import in_turns, permutation_s, permutations_in
from linkscope.plan.workload_cases import workload_notes
from linkscope.results import calibration
from linkscope.results.other_sizes import sizes_of_their_own
from linkscope.results.run_file import FILE_SCHEMA, SCHEMA
from linkscope.version import __version__

Json = dict[str, Any]


@typed_fields
@dataclass(frozen=True)
class Request:
    """Hold a user's request in the words of the command line. None: the default.

    ``suites``: names, or paths of suite files. ``machine``: a machine model, modelled. ``engine``: cuda, hip, host.
    ``keyword``: a word that the cases must have.
    ``launching``: how several processes are started, where cases want them. ``workload``: an application whose messages
    are run in the place of suites; ``suites`` then names it. ``sustained``: the suite of that name, one permutation
    after the other until the budget ends.
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
    keyword: str | None = None
    launching: LaunchOptions = field(default_factory=LaunchOptions)
    workload: WorkloadRequest | None = None
    sustained: bool = False

    @property
    def command_line(self) -> list[str]:
        """The words that ask for the same, but for the output."""
        words = ["linkscope", "run", *self.suites] if self.workload is None else self.workload.command_line
        default = Request()
        if self.sustained:
            words = ["linkscope", "check", "--sustained", str(self.budget)]
            default = Request(budget=self.budget)
        for name in (
            "devices",
            "methods",
            "sizes",
            "precision",
            "budget",
            "rounds",
            "clock",
            "machine",
            "engine",
            "keyword",
        ):
            value = getattr(self, name)
            if value != getattr(default, name):
                words += [f"--{name}", str(value)]
        launching = self.launching.command_line
        if self.workload is not None:  # whose interface is another
            launching = ["--listen" if word == "--interface" else word for word in launching]
        return words + launching

    def to_json(self) -> Json:
        asked = asdict(self)
        if not self.launching.settings:
            del asked["launching"]["settings"]
        left_out = [name for name in ("workload", "sustained") if not getattr(self, name)]
        return {name: asked[name] for name in asked if name not in left_out}

    @staticmethod
    def from_json(data: Json) -> Request:
        """Raises ValueError, one line, on foreign data."""
        return msgspec.convert(data, Request)


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
    """Noise by calibration of this node, as in a run file's header; empty where there was none."""
    notes: tuple[str, ...] = ()
    """Notes for the user before the run starts."""
    crowd: float = 1.0
    """Processes that wanted each CPU of the machine when the job was made."""
    found: MachineState | None = None
    """The machine when the job was made; None for a machine model."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases)

    @property
    def backend(self) -> str:
        """Return the backend as rows name it: host, cuda, hip or modelled."""
        return self.engine.backend

    def plan(self, cases: Sequence[PlannedCase], tuned: Json | None = None) -> Json:
        """The plan (schema/plan.schema.json) of some of the job's cases. ``tuned``: launch shapes by tuning group."""
        plan: Json = {"schema": SCHEMA, "options": self.options.to_json(), "cases": [one.case for one in cases]}
        return plan | ({"tuned": tuned} if tuned else {})

    def visit_s(self, case: PlannedCase) -> float:
        """Seconds that one visit of one of the job's cases will roughly take, without the start of its processes."""
        if self.node.modelled:
            return modelled_s(1)
        return 0.0 if case.skip is not None else estimate_s(case.case, self.options)

    def estimate(self, cases: Sequence[PlannedCase]) -> RunEstimate:
        """Return how long measuring some of the job's cases will take on this machine, as busy as it was found."""
        run = [one.case for one in cases if one.skip is None]
        if self.node.modelled:
            return modelled_estimate(len(run))
        budget = self.request.budget
        limit_s = None if budget is None else parse_duration(budget)
        return run_estimate(run, self.options, self.rounds, self.crowd, limit_s)

    def pace(self, cases: Sequence[PlannedCase]) -> Pace:
        """The same while they are measured; its clock is the monotonic one."""
        run = [one for one in cases if one.skip is None]
        estimate = self.estimate(run)
        return Pace(
            expected={one.id: self.visit_s(one) * estimate.crowd for one in run},
            alike={one.id: row_of(one.case) for one in run},
            rounds=self.rounds.least,
            starts_s=estimate.starts_s * estimate.crowd,
            began=time.monotonic(),
            deadline=self.deadline,
        )

    def header(self, command: Sequence[str]) -> Json:
        """The run file's first line (schema/result.schema.json)."""
        return {
            "record": "header",
            "schema": FILE_SCHEMA,
            "version": __version__,
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "host": platform.node(),
            "command": list(command),
            "node": self.node.to_json(),
            "engine": self.engine.description,
            "state": self.state() if self.found is None else self.found.to_json(),
            **({} if self.node.modelled else {"identity": read_identity(self.engine.description).to_json()}),
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
        """The machine's state now; empty for a machine model, which has none."""
        return {} if self.node.modelled else read_state(self.engine.description).to_json()


def _unit_notes(request: Request) -> list[str]:
    """Return what a budget without unit was taken for."""
    if request.budget is None or with_unit(request.budget) == request.budget:
        return []
    return [sentence(note("plan.unit", given=request.budget, taken=with_unit(request.budget)))]


def _size_notes(request: Request, cases: Sequence[PlannedCase]) -> list[str]:
    """Return where ranges end whose end is no step, and which tests are not at the sizes that were asked for."""
    ends = [sentence(note("plan.sizes-end", range=one)) for one in early_ends(request.sizes or "")]
    others, _ = sizes_of_their_own((one.case for one in cases), request.sizes)
    return [*ends, *([sentence(note("run.other-sizes", tests=[name for _, name in others]))] if others else [])]


def _suite_notes(suites: Sequence[Suite], cases: Sequence[PlannedCase], node: Node) -> list[str]:
    """Name suites that were requested beside others and have no case here."""
    had = {one.case["suite"] for one in cases}
    lacking = [suite for suite in suites if suite.name not in had and suite.rows] if had else []
    of_gpus = {suite.name for suite in lacking if not node.of_kind("gpu") and all(row.needs_gpu for row in suite.rows)}
    codes = {one.name: "plan.no-case-gpu" if one.name in of_gpus else "plan.no-case" for one in lacking}
    return [sentence(note(code, suite=name)) for name, code in codes.items()]


def _neighbour_notes(node: Node, state: MachineState | None) -> list[str]:
    """Who else uses the machine, with what follows for the run, each in a line."""
    if state is None:
        return []
    return [sentence(one) for one in neighbours(node, state)]


def _host_notes(launching: LaunchOptions) -> list[str]:
    """Which of the hosts that were named have no address here: no error, as ssh and Slurm have names of their own."""
    absent = unresolved(launching.peers)
    return [sentence(note("plan.no-address", hosts=absent))] if absent else []


def _once_notes(request: Request) -> list[str]:
    """Return what ranks mean for the rounds, and for the number of them that was asked for."""
    asked = parse_rounds(request.rounds) if request.rounds else RoundLimits()
    overruled = [] if asked == RoundLimits() else [sentence(note("plan.rounds-ignored", rounds=request.rounds))]
    return [*overruled, sentence(note("plan.once"))]


def _once() -> bool:
    """Return whether this process is one of a job's ranks that cannot start its engines again."""
    place = inside.place()
    return place is not None and not place.again


def prepare(request: Request, measured: frozenset[str] = frozenset()) -> Job:
    """Meets ``request`` with this machine or the described one. A budget is for what is not yet ``measured`` (ids).

    Raises LinkscopeError for whatever is wrong in it.
    """
    begun = time.monotonic()
    workload = request.workload
    suites = [load_suite(name) for name in request.suites] if workload is None else [workload.suite()]
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
        size = request.launching.job_size()
        selected = replace(selected, hosts=size.hosts, slots=size.slots)
    if request.sustained and budget_s is not None:
        selected = replace(selected, permutations=permutations_in(budget_s))
    planned = expand(suites, node, engine.catalog(), selected)
    planned = in_turns(planned, budget_s or 0.0) if request.sustained else planned
    planned = planned if request.keyword is None else picked(planned, request.keyword, suites)
    if not described:
        planned = startable(planned, request.launching, engine)
    if (workload is not None or request.sustained) and all(one.skip is not None for one in planned):
        reasons = dict.fromkeys(str(one.skip) for one in planned)
        raise LinkscopeError(f"nothing of {request.suites[0]} can run on {node.name}: {'; '.join(reasons)}")
    rounds = parse_rounds(request.rounds) if request.rounds else DEFAULT_ROUNDS
    once = not described and _once()
    if described or once or request.sustained:
        rounds = RoundLimits()  # a model gives the same figure every time
    crowd = 1.0 if described else crowd_now()
    before = Costs() if described else costs.known(costs.kept_at(node.name, engine.backend))
    if request.sustained:
        fit = fitted(planned, precision, rounds, before)
        options = replace(fit.options, point_budget_s=permutation_s(budget_s or 0.0))
        fit = replace(fit, options=options, deadline=math.inf if budget_s is None or described else begun + budget_s)
    elif budget_s is None or described:
        fit = fitted(planned, precision, rounds, before, budget_s)
    else:
        open_ = [one for one in planned if one.id not in measured]
        busy = before.times(crowd)
        fit = fitted_to(with_unit(str(request.budget)), begun + budget_s, open_, precision, rounds, busy)
        known_cases = fitted([one for one in planned if one.id in measured], precision, rounds, before).cases
        by_id = {one.id: one for one in (*fit.cases, *known_cases)}
        options = replace(fit.options, costs=before)
        fit = replace(fit, cases=tuple(by_id[one.id] for one in planned), options=options)
    found = None if described else read_state(engine.description)
    said = [
        *_unit_notes(request),
        *_size_notes(request, planned),
        *_suite_notes(suites, planned, node),
        *workload_notes(fit.cases),
        *fit.notes,
        *_neighbour_notes(node, found),
        *([] if described else _host_notes(request.launching)),
    ]
    said += _once_notes(request) if once else []
    calibrated = calibration.load(node, said.append)
    noise = {} if calibrated is None else calibration.noise_of(calibrated, (one.id for one in fit.cases))
    return Job(
        request, node, engine, fit.cases, fit.options, fit.rounds, fit.deadline, noise, tuple(said), crowd, found
    )
