"""run: measures suites into a run file, and completes one that was cut short."""

from __future__ import annotations

import math
import platform
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from linkscope.documents.durations import with_unit
from linkscope.documents.typed_call import typed_fields
from linkscope.errors import LinkscopeError
from linkscope.launch import costs
from linkscope.launch.job import Job, Request, prepare
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions, requirement
from linkscope.launch.process.scratch import sweep_abandoned
from linkscope.launch.readings import OF_LOAD_S, last_reading, parts
from linkscope.launch.rounds import Rounds
from linkscope.launch.scheduler import JobScheduler
from linkscope.launch.supervisor import CaseEvents, outcome
from linkscope.launch.worker import InterruptedRunError
from linkscope.messages.catalog import problem
from linkscope.plan.case_groups import CaseGroup
from linkscope.plan.planned_case import PlannedCase
from linkscope.plan.suites import suite_names
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.results.run_writer import RunWriter

Json = dict[str, Any]

RUNS = Path("runs")
INTERRUPTED = 130
"""Exit code of a run that was asked to stop."""
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@typed_fields
@dataclass(frozen=True)
class Listener:
    """Told how a run goes on: the job and the cases it has still to measure, the number (from 0) and cases of each
    round, each start, each row, and what a user should know besides.
    """

    on_job: Callable[[Job, Sequence[PlannedCase]], None] = lambda job, pending: None
    on_round: Callable[[int, Sequence[PlannedCase]], None] = lambda number, cases: None
    on_start: Callable[[str], None] = lambda case_id: None
    on_row: Callable[[Json], None] = lambda row: None
    on_note: Callable[[str], None] = lambda note: None


def run(
    request: Request | None = None,
    output: Path | None = None,
    listener: Listener | None = None,
    command: Sequence[str] = (),
) -> RunFile:
    """Measures what ``request`` asks for into a new run file at ``output`` (default: below runs/) and reads it back.

    Every measured row is on disk when it is handed to ``listener``. Raises LinkscopeError for wrong input or an output
    that cannot be written, and with exit code 130 when interrupted: the file can then be completed by ``resume``.
    Started as the ranks of a job, all but rank 0 become its engines and do not come back.
    """
    request = request or Request()
    path = output or default_output(request.machine)
    if str(path) == "-":
        raise LinkscopeError(
            "a run is written to a file, so that it can be completed: name it with -o FILE; --json prints it"
        )
    with inside.lead(path) as leader:
        job = prepare(request)
        _check_wanted(leader, job.cases)
        header = job.header(command)
        writer = RunWriter.create(path, header)
        return _complete(job, _rounds(job, job.cases, header), writer, listener or Listener(), leader)


def resume(
    path: Path,
    request: Request | None = None,
    listener: Listener | None = None,
    launching: LaunchOptions | None = None,
) -> RunFile:
    """Completes the run file at ``path``: what its rounds lack and cases that failed are run, all other rows stay.

    The request is the file's own unless one is given, which must then lead to the same plan; ``launching`` may differ.
    A run file is data: what would start a program that it alone names is refused (``request_of``).
    Raises LinkscopeError where the file is of another machine, engine or plan.
    """
    with inside.lead(path) as leader:
        before = RunFile.read(path)
        if "interleaved" in before.header:
            raise problem("ab.no-resume", path=str(path))
        again = {row.id for row in before.rows if row.status == "failed" or row.left_out}
        measured = frozenset(row.id for row in before.rows if row.id not in again)
        if request is None:
            job = prepare(request_of(before, launching), measured)
            check_variables(before, job)
        else:
            job = prepare(replace(request, launching=launching) if launching else request, measured)
        _check_same(before, job)
        finished = any(state["when"] == "finished" for state in before.states) and not before.missing
        if finished and not again:
            (listener or Listener()).on_note(f"nothing left to measure: all {len(before.rows)} cases are in {path}")
            return before
        rounds = _rounds(job, [case for case in job.cases if not finished or case.id in again], before.header)
        known = [one for row in before.rows for one in row.replicates or (row,)]
        rounds.take(row for row in known if row.status == "ok" or row.id not in again)
        _check_wanted(leader, rounds.cases)
        writer = RunWriter.reopen(path)
        writer.append({"record": "state", "when": "resumed", "state": job.state()})
        return _complete(job, rounds, writer, listener or Listener(), leader)


def default_output(machine: str | None = None) -> Path:
    """runs/HOST-TIME.jsonl, for a run that starts now; of a machine model, or its file, runs/MACHINE-TIME.jsonl."""
    where = Path(machine).stem if machine else platform.node()
    return RUNS / f"{where}-{datetime.now():%Y%m%d-%H%M%S}.jsonl"


def newest_output() -> Path:
    """The run file in runs/ that was written last. Raises LinkscopeError where there is none."""
    files = sorted(RUNS.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not files:
        raise LinkscopeError(f"no run file in {RUNS}/ to resume: name it with -o FILE")
    return files[-1]


def _check_wanted(leader: inside.JobLeader | None, cases: Sequence[PlannedCase]) -> None:
    """Raises LinkscopeError where the ranks that linkscope was started as have nothing to do together."""
    wanted = [case.case for case in cases if case.skip is None]
    reason = requirement(wanted, leader.place.size) if leader and wanted else None
    if reason is not None:
        raise LinkscopeError(reason)


def _rounds(job: Job, cases: Sequence[PlannedCase], header: Json) -> Rounds:
    """Their order is drawn by when the run began, so that another run has another; a sustained load keeps its own."""
    costs_now = job.options.costs.times(job.crowd)
    start_s = costs_now.starts_s([case.case for case in job.cases if case.skip is None])
    return Rounds(
        cases,
        job.rounds,
        job.options.precision,
        seed=str(header.get("started")),
        deadline=math.inf if job.request.sustained else job.deadline,
        start_s=start_s,
        costs=job.options.costs,
    )


def _complete(
    job: Job, rounds: Rounds, writer: RunWriter, listener: Listener, leader: inside.JobLeader | None
) -> RunFile:
    sweep_abandoned()
    run = RunUnderWay(job, rounds, writer, listener, JobScheduler(job, leader, writer.append, listener.on_note))
    for note in job.notes:
        listener.on_note(note)
    listener.on_job(job, [case for case in rounds.cases if rounds.lacks(case)])
    try:
        with stop_requested() as stopped:
            for number, cases in rounds:
                listener.on_round(number, cases)
                try:
                    run.visit(number, cases, stopped)
                except InterruptedRunError:
                    if stopped():
                        raise
                    run.leave_out_rest()
                    break
        writer.append({"record": "state", "when": "finished", "state": job.state()})
        run.learn()
    except InterruptedRunError as interruption:
        if leader is not None:
            leader.urgent = True
        writer.append({"record": "state", "when": "interrupted", **({} if leader else last_reading(job.state))})
        left = len(RunFile.read(writer.path).missing)
        again = shlex.join([*_again(job.request), "--resume", "-o", str(writer.path)])
        to_go = f"with {left} of {len(job.cases)} cases to go" if left else "while cases were measured again"
        message = f"interrupted {to_go}: `{again}` completes the run"
        raise LinkscopeError(message, INTERRUPTED) from interruption
    finally:
        writer.close()
    return RunFile.read(writer.path)


_LOOK_S = 10.0
"""Between two readings of the machine's state: what comes and goes shows, and reading costs less than 1%."""
_SILENT_S, _SILENT_TIMES = 10.0, 5.0
"""A case that was under way for so long, and so many times as long as it should take, hangs: less is a slow set-up."""


@dataclass(frozen=True)
class RunUnderWay:
    """Pass results on: first to the file, then to the rounds and the listener."""

    job: Job
    rounds: Rounds
    writer: RunWriter
    listener: Listener
    scheduler: JobScheduler
    starts: dict[int, list[float]] = field(default_factory=dict)
    """Seconds until processes began their first case, by their number."""
    under_way: list[tuple[str, float]] = field(default_factory=list)
    """The case that was begun last, and when (monotonic clock)."""
    looked: list[float] = field(default_factory=lambda: [time.monotonic()])
    """When the machine's state was read, the last time at the end (monotonic clock)."""

    def visit(self, number: int, cases: Sequence[PlannedCase], stopped: Callable[[], bool]) -> None:
        """Has every case measured once, in processes started for it. Raises InterruptedRunError."""
        if number:
            self._look(_LOOK_S)
        for case in (one for one in cases if one.skip is not None):
            self._skip(number, case, str(case.skip))

        def over(end: float) -> bool:
            return stopped() or time.monotonic() > end

        groups, cut = self.scheduler.groups([case for case in cases if case.skip is None]), False
        for turn, group in enumerate(groups):
            if (obstacle := self.scheduler.obstacle(group)) is not None:
                for case in group.cases:
                    self._skip(number, case, obstacle)
                continue
            end = self.job.deadline if number else self.scheduler.end_of_turn(groups[turn:])
            try:
                for place, part in enumerate(parts(self.job, group)):
                    if place:
                        self._look(OF_LOAD_S)
                    self._carry_out(number, part, self.rounds.tuned(group.cases), partial(over, end))
            except InterruptedRunError:
                if over(self.job.deadline):
                    raise
                cut = True  # what is left comes once the other groups had their turn
            if group.kind == "inside":  # ranks that others started come once
                self.rounds.settle(group.cases)
        if cut:
            self.visit(number, [case for case in cases if self.rounds.lacks_all(case)], stopped)

    def _carry_out(self, number: int, group: CaseGroup, tuned: Json, over: Callable[[], bool]) -> None:
        """Has the cases of a group measured in processes that are started for them. Raises InterruptedRunError."""
        start = _Start(self.listener.on_start)
        watch = CaseEvents(partial(self._take, number), start.take, over, self.listener.on_note)
        try:
            self.scheduler.supervisor(group).run(self.job.plan(group.cases, tuned), watch)
        finally:
            self.starts.setdefault(group.processes, []).extend(start.seconds)
            self.under_way[:] = start.under_way

    def _look(self, least_s: float) -> None:
        """Reads the machine's state, when nothing is measured and nobody waits for ranks, once in ``least_s``."""
        if self.job.node.modelled or self.scheduler.leader or time.monotonic() - self.looked[-1] < least_s:
            return
        self.looked.append(time.monotonic())
        self.writer.append({"record": "state", "when": "round", "state": self.job.state()})

    def leave_out_rest(self) -> None:
        """Says of every case without a row that the budget was used up before it."""
        budget = with_unit(str(self.job.request.budget))
        for case in (one for one in self.rounds.cases if self.rounds.lacks_all(one)):
            silent_s = time.monotonic() - dict(self.under_way).get(case.id, math.inf)
            if silent_s > _SILENT_S + _SILENT_TIMES * self.job.visit_s(case) * self.job.crowd:
                reason = f"no sign of life for {silent_s:.0f} s when the budget of {budget} ended"
                self._take(0, outcome(case.case, "failed", reason, self.job.backend, silent_s))
            else:
                self._skip(0, replace(case, left_out=True), f"the budget of {budget} was used up")

    def learn(self) -> None:
        """Keeps what the visits took for the next run."""
        if not self.job.node.modelled:
            path = costs.kept_at(self.job.node.name, self.job.backend)
            costs.learn(path, self.job.options.costs, RunFile.read(self.writer.path).rows, self.starts, self.job.crowd)

    def _skip(self, number: int, case: PlannedCase, reason: str) -> None:
        row = outcome(case.case, "skipped", reason, self.job.backend)
        self._take(number, {**row, "left_out": True} if case.left_out else row)

    def _take(self, number: int, row: Json) -> None:
        if lacks := Row.from_json(row).lacks:
            row = outcome(row["case"], "failed", f"no figure: {lacks}", self.job.backend, row["elapsed_s"])
        if self.job.rounds.most > 1:
            row = {**row, "replicate": number}
        self.writer.append(row)
        self.rounds.take([Row.from_json(row)])
        self.listener.on_row(row)


class _Start:
    """Sees how long processes take to begin their first case."""

    def __init__(self, then: Callable[[str], None]) -> None:
        self.seconds: list[float] = []
        self.under_way: list[tuple[str, float]] = []
        self._then = then
        self._begun = time.monotonic()

    def take(self, case_id: str) -> None:
        if not self.seconds:
            self.seconds.append(time.monotonic() - self._begun)
        self.under_way = [(case_id, time.monotonic())]
        self._then(case_id)


@contextmanager
def stop_requested() -> Iterator[Callable[[], bool]]:
    """Return whether a signal asked to stop; the main thread alone can know, elsewhere the answer stays no."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop.is_set
        return
    wanted = [number for number in _STOP_SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    former = {number: signal.signal(number, ask) for number in wanted}
    try:
        yield stop.is_set
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _again(request: Request) -> list[str]:
    """Return what resumes a run; a pattern's file has to be named again."""
    if request.workload is not None and request.workload.file is not None:
        return request.command_line
    return ["linkscope", "run", *request.launching.command_line]


def request_of(before: RunFile, launching: LaunchOptions | None = None) -> Request:
    """Return what a run was asked for, with ``launching`` in place of how its processes were started.

    Raises LinkscopeError where its file does not say, and where it names a launcher that ``launching`` does not: a file
    may come from anywhere, and starts no program.
    """
    try:
        asked = Request.from_json(before.header["plan"]["request"])
    except (KeyError, ValueError) as error:
        raise LinkscopeError(f"{before.path} does not say how it was asked for: name its suites again") from error
    if launching is None and asked.launching != LaunchOptions():
        again = shlex.join(asked.launching.command_line)
        raise LinkscopeError(f"{before.path} asks for `{again}`: a file starts no program; add that, if you mean it")
    if asked.workload is not None and asked.workload.file is not None:
        again = shlex.join([*asked.command_line, "--resume", "-o", str(before.path)])
        raise LinkscopeError(f"{before.path} asks for the messages of a file, and reads no other itself: `{again}`")
    return replace(asked, launching=launching or LaunchOptions())


def check_variables(before: RunFile, job: Job) -> None:
    """Raises LinkscopeError where a suite that the file alone names sets variables: they can load any library."""
    names = sorted({name for case in job.cases for name in case.case.get("environment", {})})
    own = [suite for suite in job.request.suites if suite not in suite_names() and job.request.workload is None]
    if names and own:
        raise LinkscopeError(
            f"{before.path} sets variables by {' '.join(own)}; to allow it: "
            f"linkscope run {shlex.join(job.request.suites)} --resume -o {before.path}"
        )


def check_machine(before: RunFile, job: Job, instead: str = "start a new run file") -> None:
    """Raises LinkscopeError unless the job is for the machine and the engine that the file was made with; ``instead``:
    what to do on another machine."""
    host, backend = before.header["host"], before.header.get("engine", {}).get("backend")
    if not job.node.modelled and host != platform.node():
        raise LinkscopeError(f"{before.path} was made on {host}, this is {platform.node()}: {instead}")
    if _identity(before.node.to_json()) != _identity(job.node.to_json()):
        raise LinkscopeError(
            f"{before.path} is of {before.node.name}; this is {job.node.name}, with other devices: {instead}"
        )
    if backend != job.backend:
        raise LinkscopeError(f"{before.path} was made with the {backend} engine, not {job.backend}: see --engine")


def _check_same(before: RunFile, job: Job) -> None:
    """Raises LinkscopeError unless the job is what the file holds, on the machine that it was made on."""
    check_machine(before, job)
    same_options = job.request.budget is not None or before.header["plan"]["options"] == job.options.to_json()
    if set(before.plan_ids) != set(job.ids) or not same_options:
        rounds = before.header["plan"].get("rounds")
        how = "with --resume -o FILE alone"
        if job.request.rounds is None and rounds not in (None, job.rounds.to_json()):
            how += ", started as it was: as ranks of mpiexec or srun, or without"
        raise LinkscopeError(f"{before.path} holds another plan (suites or options differ): resume it {how}")


def _identity(node: Json) -> list[tuple[Any, ...]]:
    return [(device["id"], device["name"], device["pci"]) for device in node["devices"]]
