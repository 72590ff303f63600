"""JobScheduler: brings together whatever processes each case of a job wants, and says who they are."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import surroundings
from linkscope.launch.group.binding import Binding, bind, usable_cores
from linkscope.launch.group.control import LOOPBACK, Control, Hello, SurveyedHost
from linkscope.launch.group.process_group import GroupSpec, PlanWork, ProcessGroup
from linkscope.launch.job import Job
from linkscope.launch.launcher import survey
from linkscope.launch.launcher.hosts import named_hosts
from linkscope.launch.launcher.inside import JobLeader
from linkscope.launch.launcher.launcher import RANK_VARIABLE, Launcher
from linkscope.launch.model_worker import ModelWorker
from linkscope.launch.process.engine_process import EngineProcess
from linkscope.launch.supervisor import START_TIMEOUT_S, Refusal, Supervisor
from linkscope.launch.worker import Worker
from linkscope.machine.node import Link
from linkscope.machine.paths import Paths
from linkscope.modelled.machine import ModelledMachine
from linkscope.plan.case_groups import CaseGroup, case_groups
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

_OWN_PREFIX = "LINKSCOPE_"
_PYTHON_FINDS = ("PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "MPI4PY_LIBMPI")
"""Variables by which Python finds linkscope, engines find libraries of Python packages, and mpi4py its MPI."""


@dataclass
class JobScheduler:
    """For one job; ``leader``: where linkscope itself was started as the ranks of one.

    ``record`` takes the state record of each group that has come together, ``say`` what a user should know of it.
    """

    job: Job
    leader: JobLeader | None
    record: Callable[[Json], None]
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self._surveys: dict[str, SurveyedHost] = {}
        self._recorded: set[str] = set()
        self._said: set[str] = set()

    def groups(self, cases: Iterable[PlannedCase]) -> list[CaseGroup]:
        """``cases`` by the processes they want; the ranks that linkscope is one of come first, for they wait, and are
        one group, for they are started once.
        """
        groups = case_groups(cases, lambda case: self.job.request.launching.kind_for(case, os.environ, self.leader))
        return sorted(groups, key=lambda group: not (self.leader and group.processes == self.leader.place.size))

    def end_of_turn(self, groups: Sequence[CaseGroup]) -> float:
        """Return when the first of ``groups`` must let the others have their share of a budget (monotonic clock)."""
        job = self.job
        if math.isinf(job.deadline) or job.request.sustained or len(groups) == 1 or groups[0].kind == "inside":
            return job.deadline
        costs, cases = job.options.costs.times(job.crowd), [group.cases for group in groups]
        wanted = [costs.starts_s([one.case for one in own]) + sum(map(job.visit_s, own)) for own in cases]
        now = time.monotonic()
        return now + (job.deadline - now) * wanted[0] / max(sum(wanted), 1e-9)

    def obstacle(self, group: CaseGroup) -> str | None:
        """Return why nothing can carry the group out; its cases are skipped then. Raises LinkscopeError where the user
        named a launcher that is missing.
        """
        if group.kind is None:
            return None
        if self.leader is not None and group.processes != self.leader.place.size:
            return f"wants {group.processes} processes, and linkscope was started as {self.leader.place.size} ranks"
        try:
            self._launcher(group)
        except LinkscopeError as error:
            if self.job.request.launching.is_asked_for:
                raise
            return str(error)
        return None

    def supervisor(self, group: CaseGroup) -> Supervisor:
        """Who gets a row for each of the group's cases."""
        if self.job.node.modelled:
            machine = ModelledMachine(Paths(self.job.node))
            return Supervisor(lambda plan: ModelWorker(plan["cases"], machine), self.job.backend)
        settings = dict(group.settings)
        environment = {**surroundings(), **self.job.request.launching.variables(), **settings}
        if group.kind is None:
            refusal = Refusal.FAILS_CASES if settings else Refusal.ENDS_RUN
            alone = self.job.engine.command
            return Supervisor(lambda plan: EngineProcess(alone, plan, environment), self.job.engine.backend, refusal)
        start = partial(self._process_group, group, environment)
        return Supervisor(start, self.job.engine.backend, Refusal.FAILS_CASES)

    def _process_group(self, group: CaseGroup, environment: Mapping[str, str], plan: Json) -> Worker:
        assert group.kind is not None
        launcher = self._launcher(group)
        for note in _notes(launcher, group.processes):
            if note not in self._said:
                self._said.add(note)
                self.say(note)
        address = self.job.request.launching.listening_address(group.kind)
        control = Control(
            group.processes, str(self.job.engine.description["version"]), self.job.engine.backend, address
        )
        elsewhere = address != LOOPBACK
        variables = dict(environment) | (survey.known([platform.node(), *self._surveys]) if elsewhere else {})
        wrapped = elsewhere and group.kind != "inside"
        group_spec = GroupSpec(
            launcher=launcher,
            engine=self.job.engine.command,
            environment=variables,
            exported=_exported(variables, dict((*self.job.request.launching.settings, *group.settings))),
            command=(*survey.COMMAND, *self.job.engine.command) if wrapped else (),
            cpus={
                one.rank: one.cpus for one in bind(self.job.node, plan["cases"], range(group.processes), self._cores)
            },
            on_surveyed=lambda found: self._surveys.update({found.host: found}),
            on_joined=lambda hellos: self._on_joined(launcher, plan, hellos),
        )
        return ProcessGroup(control, group_spec, PlanWork(plan, exchange_limit_s(plan["cases"])), START_TIMEOUT_S)

    def _launcher(self, group: CaseGroup) -> Launcher:
        assert group.kind is not None
        return self.job.request.launching.open(group.kind, self.job.engine.name, self.leader)

    def _on_joined(self, launcher: Launcher, plan: Json, hellos: Sequence[Hello]) -> dict[int, Sequence[int]]:
        """Records who has come together; the CPUs that each shall keep to."""
        bound: dict[int, Binding] = {}
        for host in dict.fromkeys(hello.host for hello in hellos):
            there = [hello for hello in hellos if hello.host == host]
            bound |= {one.rank: one for one in self._bindings(launcher, plan, host, there)}
        if note := self._same_host_note(hellos):
            self.say(note)
        self.record(self._joined(launcher, hellos, bound))
        return {rank: one.cpus for rank, one in bound.items()}

    def _bindings(self, launcher: Launcher, plan: Json, host: str, hellos: Sequence[Hello]) -> tuple[Binding, ...]:
        """Return the bindings of a host's processes. A host that was not surveyed is taken to be like this one.
        Processes that were started on different CPUs are bound already.
        """
        there = self._surveys.get(host)
        node, cores = (there.node, there.cores) if there else (self.job.node, self._cores)
        masks = {hello.cpus for hello in hellos if hello.cpus}
        if launcher.binds or len(masks) > 1:
            cores = ()
        for mask in masks:
            cores = tuple(filter(None, (tuple(cpu for cpu in core if cpu in mask) for core in cores)))
        return bind(node, plan["cases"], [hello.rank for hello in hellos], cores)

    @cached_property
    def _cores(self) -> tuple[tuple[int, ...], ...]:
        return usable_cores()

    def _joined(self, launcher: Launcher, hellos: Sequence[Hello], bound: Mapping[int, Binding]) -> Json:
        """The state record (schema/result.schema.json) of processes that have come together."""
        hosts = list(dict.fromkeys(hello.host for hello in hellos))
        new = [host for host in hosts if host in self._surveys and host not in self._recorded]
        self._recorded.update(new)
        return {
            "record": "state",
            "when": "joined",
            "launcher": launcher.name,
            "processes": [
                {**asdict(bound[hello.rank]), "host": hello.host, "pid": hello.pid}
                | ({} if bound[hello.rank].cpus else {"cpus": hello.cpus})
                for hello in hellos
            ],
            "links": [asdict(Link(f"host:{a}", f"host:{b}", "network")) for a, b in combinations(hosts, 2)],
            "nodes": [{"host": host, "node": self._surveys[host].node.to_json()} for host in new],
            "notes": [
                *_notes(launcher, len(hellos)),
                *filter(None, [self._same_host_note(hellos), *(self._difference(host) for host in hosts)]),
            ],
        }

    def _same_host_note(self, hellos: Sequence[Hello]) -> str | None:
        """A note about processes that all run on one host although several were named; None without any."""
        launching = self.job.request.launching
        named = named_hosts(launching.hosts, launching.hostfile)
        hosts = {hello.host for hello in hellos}
        if len(named) < 2 or len(hosts) > 1 or len(hellos) < 2:
            return None
        told = "nothing here went between hosts; --launcher-command can say where processes go"
        return f"all {len(hellos)} processes run on {hosts.pop()} although {len(named)} hosts were named: {told}"

    def _difference(self, host: str) -> str | None:
        """Return what is to be said of a host that is not like the one that the cases were planned for."""
        if host not in self._surveys:
            return None
        nodes = (self.job.node, self._surveys[host].node)
        planned, there = ([(one.id, one.name) for one in node.devices] for node in nodes)
        return None if planned == there else f"{host} has other devices than {platform.node()}, whose the cases are"


def _notes(launcher: Launcher, processes: int) -> tuple[str, ...]:
    """Return what a user should know of how it starts so many processes."""
    told = launcher.spread(processes)
    return (
        *launcher.notes,
        *([f"one process on each host: {launcher.name} gets {' '.join(told)}"] if told else []),
    )


def _exported(environment: Mapping[str, str], settings: Mapping[str, str]) -> tuple[str, ...]:
    """Names of what every host must see."""
    own = (name for name in environment if name.startswith(_OWN_PREFIX) or name in _PYTHON_FINDS)
    return tuple(sorted({*settings, *own} - {RANK_VARIABLE}))


def exchange_limit_s(cases: Sequence[Json]) -> float:
    """Seconds that a process may keep the others waiting: less than any case's limit, so that they can still say who it
    was; but where the limits are far apart, long enough for the slow cases.
    """
    limits = [float(case.get("timeout_s", 60.0)) for case in cases]
    return max(0.8 * min(limits), max(limits) / 10)
