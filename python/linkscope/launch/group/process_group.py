"""ProcessGroup: the processes that carry out one plan together, and what becomes of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.explanation import Cause, Explanation, explained
from linkscope.launch.group.cause import ExitCause, blames, failed, with_failures
from linkscope.launch.group.control import (
    Control,
    Event,
    Hello,
    RankJoined,
    RankLeft,
    RankLine,
    RejectedProcess,
    SurveyedHost,
    at,
)
from linkscope.launch.group.rank_process import RankProcess, StepFailure, fallen, latest_case
from linkscope.launch.launcher.launcher import ExitStatus, Launcher, LaunchSpec
from linkscope.launch.process.child import ShutdownDeadline
from linkscope.launch.process.engine_process import parse_record
from linkscope.launch.process.scratch import Scratch
from linkscope.launch.process.shared_memory import SharedMemory
from linkscope.launch.process.threads import thread_states
from linkscope.launch.worker import (
    CannotStartError,
    GarbageError,
    InterruptedRunError,
    RefusedPlanError,
    SilenceError,
    engine_plan,
)

Json = dict[str, Any]

_POLL_S = 0.1
_FIRST_POLL_S = 0.01
"""Until the first case has ended: processes that set themselves up make what a killed one leaves."""
_GRACE_S = 5.0
"""Seconds that the rest of a group has to report a lost process; they find out by themselves."""
_HOLD_S = 2.0
"""Seconds that a failed row waits for a sign of whether its process lives on."""


@dataclass
class PlanWork:
    """Give a group its work: the ``plan`` itself (schema/plan.schema.json), and for how many seconds one process may
    keep the others waiting.
    """

    plan: Json
    limit_s: float


@dataclass
class GroupSpec:
    """Describe the start of a group: by which ``launcher``, and what (the command of an ``engine``).

    ``command`` is what the launcher starts instead, which becomes the engine. ``cpus``: by rank, of processes that are
    started on this host. ``on_surveyed`` is told of each host that is looked at, ``on_joined`` of all processes once
    they are together; it gives the CPUs that each shall keep to, none where it keeps those that it has.
    """

    launcher: Launcher
    engine: tuple[str, ...]
    environment: dict[str, str]
    exported: tuple[str, ...]
    command: tuple[str, ...] = ()
    cpus: Mapping[int, Sequence[int]] = field(default_factory=dict)
    on_surveyed: Callable[[SurveyedHost], None] = lambda surveyed: None
    on_joined: Callable[[Sequence[Hello]], Mapping[int, Sequence[int]]] = lambda hellos: {}


class ProcessGroup:
    """A Worker of several processes, started anew for one plan. Leaving it leaves none of them behind.

    Rank 0's records are the group's; what the others say tells who has come how far.
    """

    def __init__(self, control: Control, group_spec: GroupSpec, work: PlanWork, start_timeout_s: float) -> None:
        self._control = control
        self._group_spec = group_spec
        self._work = work
        self._size = control.processes
        self._ranks: dict[int, RankProcess] = {}
        self._ready: deque[Json] = deque()
        self._held: Json | None = None
        self._held_since = 0.0
        self._lost_since: float | None = None
        self._done_since = 0.0
        self._rejected: Explanation | None = None
        self._garbage: GarbageError | None = None
        self._begun = False
        self._shutdown = ShutdownDeadline()
        self._scratch = Scratch()
        self._memory = SharedMemory(self._scratch.segments)
        self._deadline = time.monotonic() + start_timeout_s
        self._start_timeout_s = start_timeout_s
        launch_spec = LaunchSpec(
            engine=group_spec.command or group_spec.engine,
            processes=self._size,
            environment={**group_spec.environment, **control.variables},
            exported=(*group_spec.exported, *control.variables),
            cpus=group_spec.cpus,
            folder=self._scratch.path,
        )
        try:
            self._started = group_spec.launcher.start(launch_spec)
        except LinkscopeError as error:
            self._control.close()
            self._scratch.close()
            raise CannotStartError(str(error)) from error

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, *_: object) -> None:
        """A process that is stopped hears nothing, so those of this host are killed by name, the rest by launcher and
        by the end of their connection.
        """
        self._memory.hurry()
        self._memory.look(self._pids_here())
        for process in self._ranks.values():
            if not self._started.ended():
                process.kill()
            process.let_go()
        self._control.close()
        self._started.close(self._shutdown)
        self._memory.sweep()
        self._scratch.close()

    def next_record(self, silence_s: float, interrupted: Callable[[], bool]) -> Json | None:
        """See Worker. What a group that lost a process still has to say is heard before an interruption is heeded."""
        self._shutdown.urgent = interrupted
        deadline = time.monotonic() + silence_s
        while True:
            if self._ready:
                return self._ready.popleft()
            if self._garbage is not None:
                self._take_all()
                if not self._ready:
                    raise self._garbage
                continue
            if self._lost_since is not None:
                if self._heard_all():
                    return self._last_row()
            elif self._finished():
                return None
            elif interrupted():
                raise InterruptedRunError
            elif not self._begun:
                self._check_joined()
            elif time.monotonic() >= deadline:
                self._take_all()
                if not (self._ready or self._held or self._lost_since is not None or self._garbage):
                    raise SilenceError(self._with_failures(self._silence(silence_s)))
                if not self._ready and self._lost_since is None:
                    self._let_held_go()
                continue
            self._release_held()
            for event in self._control.poll(self._look()):
                self._take(event)

    def ending(self) -> Explanation:
        """See Worker."""
        if self._finished():
            self._await_departures()
            self._await_endings()
            return Explanation(("the processes ended",))
        cause = self._cause()
        if cause is None:
            silently = "left without a word, or lost its connection"
            first = next(iter(self._fallen()), None)
            words = Explanation((f"a process {silently}",))
            told = explained("gone", [first.hello.rank], f"{first.name} {silently}") if first else words
            return self._with_failures(self._with_overheard(told))
        if cause.is_refusal:
            raise RefusedPlanError(cause.explanation)
        silent = next((m for m in self._fallen() if m.complaint is None and cause.blames(m.hello.rank)), None)
        explanation = cause.explanation
        if silent is not None and not cause.is_late:
            is_gone = explained("gone", [silent.hello.rank], f"{silent.name} is gone")
            explanation = is_gone.followed_by(" (", *explanation.parts, ")")
        return self._with_failures(self._with_overheard(explanation) if cause.is_bare else explanation, cause)

    def _look(self) -> float:
        """At the shared memory that there is by now; seconds until it is worth another look."""
        if self._begun and all(process.ended is None for process in self._ranks.values()):
            self._memory.watch(self._pids_here())
            return _FIRST_POLL_S
        self._memory.look(self._pids_here())
        return _POLL_S

    def _pids_here(self) -> list[int]:
        return [process.hello.pid for process in self._ranks.values() if process.is_here]

    # Coming together.

    def _check_joined(self) -> None:
        """Begins the plan once all are there. Raises CannotStartError where they will not be."""
        if self._rejected is not None:
            raise CannotStartError(self._rejected)
        if len(self._ranks) == self._size:
            self._begin()
            return
        absence = self._started.absence()
        if absence is not None:
            self._take_all()
            if len(self._ranks) < self._size and self._rejected is None:
                raise CannotStartError(Explanation((f"{absence} (", *self._missing().parts, ")")))
        if time.monotonic() >= self._deadline:
            limit = f"no word within {self._start_timeout_s:g} s of starting {self._group_spec.launcher.name}"
            raise CannotStartError(self._missing().followed_by(f": {limit}"))

    def _missing(self) -> Explanation:
        missing = [rank for rank in range(self._size) if rank not in self._ranks]
        if not self._ranks:
            return explained("absent", missing, f"none of {self._size} processes started")
        ranks = f"rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))} of {self._size} never started"
        hosts = ", ".join(sorted({m.hello.host for m in self._ranks.values()}))
        return explained("absent", missing, f"{ranks}; on {hosts} the others did")

    def _begin(self) -> None:
        hellos = [self._ranks[rank].hello for rank in range(self._size)]
        first = hellos[0]
        self._begun = True
        self._started.settle()
        cpus = self._group_spec.on_joined(hellos)
        message = {"plan": engine_plan(self._work.plan), "size": self._size, "limit_s": self._work.limit_s}
        message |= {"root": at(first.address, first.root_port or 0)}
        for hello in hellos:
            own = {"cpus": list(cpus[hello.rank])} if cpus.get(hello.rank) else {}
            try:
                self._control.send(hello.rank, {**message, "rank": hello.rank, **own})
            except OSError:
                self._lose()  # its end, or its silence, is told where the others' is

    # What they say.

    def _take_all(self) -> None:
        """Takes what has come and is not read yet."""
        while events := self._control.poll(0):
            for event in events:
                self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RankJoined):
            self._ranks[event.hello.rank] = RankProcess.of(event.hello, self._group_spec.engine)
        elif isinstance(event, SurveyedHost):
            self._group_spec.on_surveyed(event)
        elif isinstance(event, RejectedProcess):
            self._rejected = self._rejected or explained("disagrees", [event.rank], event.reason)
        elif isinstance(event, RankLeft):
            self._ranks[event.rank].left = event.moment
            self._memory.hurry()  # the others may not be long in following
            if not self._ranks[event.rank].done:
                self._lose()
        else:
            try:
                self._hear(event)
            except GarbageError as garbage:  # told once what came before it has been taken
                told = explained("out-of-step", [event.rank], str(garbage))
                self._garbage = self._garbage or GarbageError(told)

    def _hear(self, said: RankLine) -> None:
        process = self._ranks[said.rank]
        record = parse_record(said.line, process.name)
        kind = record.get("record")
        if kind == "start":
            process.case, process.failure = str(record.get("id")), None
        elif kind == "failure":
            reason = str(record.get("reason", "it did not say why"))
            process.failure = process.failure or StepFailure(reason, said.moment)
        elif kind in ("row", "end"):
            if process.ended is None:
                self._memory.hurry()
            process.ended = str(record.get("id"))
        elif kind == "done":
            process.done = True
            self._done_since = time.monotonic()
        elif kind == "error":
            process.complaint, process.complained = record, time.monotonic()
        if said.rank != 0 or kind in ("error", "failure"):
            return
        if kind == "row":
            record |= self._hosts()
        self._let_held_go()  # it lived on
        if kind == "row" and record.get("status") == "failed":
            self._held, self._held_since = record, time.monotonic()
        else:
            self._ready.append(record)

    def _hosts(self) -> Json:
        """Return what a row says of where its processes ran, by rank; nothing where that was one host."""
        hosts = [self._ranks[rank].hello.host for rank in range(self._size)]
        return {"hosts": hosts} if len(set(hosts)) > 1 else {}

    def _release_held(self) -> None:
        if self._held is not None and time.monotonic() - self._held_since > _HOLD_S and self._lost_since is None:
            self._let_held_go()

    def _let_held_go(self) -> None:
        if self._held is not None:
            self._ready.append(self._held)
            self._held = None

    def _finished(self) -> bool:
        """Return whether rank 0 is done and the others are, or have had the time. A process that is left alone before
        it has reported takes its supervisor for gone.
        """
        if not self._begun or not self._ranks[0].done:
            return False
        everyone = all(process.done or process.left is not None for process in self._ranks.values())
        return everyone or time.monotonic() > self._shutdown.cut(self._done_since + _GRACE_S)

    # How it ends.

    def _lose(self) -> None:
        if self._lost_since is None:
            self._lost_since = time.monotonic()

    def _heard_all(self) -> bool:
        """Return whether a group that lost a process will send nothing more; a stopped process does not leave."""
        nobody_leaves = all(process.left is not None or process.is_stopped() for process in self._ranks.values())
        return nobody_leaves or time.monotonic() > self._shutdown.cut((self._lost_since or 0.0) + _GRACE_S)

    def _with_overheard(self, explanation: Explanation) -> Explanation:
        heard = self._started.overheard()
        return explanation.followed_by(f" ({heard})") if heard else explanation

    def _with_failures(self, explanation: Explanation, cause: ExitCause | None = None) -> Explanation:
        return with_failures(self._by_rank(), explanation, cause)

    def _last_row(self) -> Json | None:
        """The failed row of the case that the loss ended, where rank 0 could still write one."""
        row = self._held
        if row is None:
            return None
        cause = self._cause()
        self._held = None
        said = Explanation.of(row, "nothing")
        if cause is None or (cause.is_lost and not self._was_told_before(cause)):  # the row says more
            return row | self._with_failures(said).fields
        explanation = cause.explanation.followed_by(" (rank 0 says: ", *said.parts, ")")
        return row | self._with_failures(explanation, cause).fields

    def _cause(self) -> ExitCause | None:
        """Which process ended first, as far as one can know, and how."""
        self._await_endings()
        causes = [
            ExitCause(process, ending)
            for process in self._fallen()
            if (ending := self._ending_of(process)) is not None or process.complaint
        ]
        return min(causes, key=lambda cause: cause.rank_order, default=None)

    def _was_told_before(self, cause: ExitCause) -> bool:
        """Return whether another than rank 0 gave up first: what rank 0 says then is of the one that gave up."""
        first = self._fallen()[0]
        return (
            first.hello.rank > 0
            and cause.process is first
            and first.complaint is not None
            and first.fell < self._held_since
        )

    def _fallen(self) -> list[RankProcess]:
        """Return those that left before they were done, in the order in which they did."""
        return fallen(self._by_rank())

    def _by_rank(self) -> list[RankProcess]:
        return [self._ranks[rank] for rank in sorted(self._ranks)]

    def _ending_of(self, process: RankProcess) -> ExitStatus | None:
        ending = self._started.ending(process.hello.rank)
        return self._started.first_ending() if ending is None and process is self._first_wordless() else ending

    def _first_wordless(self) -> RankProcess | None:
        """Who could still speak was not the first to end; nor was rank 0, where its last row is about another."""
        wordless = [process for process in self._fallen() if process.complaint is None]
        causes = Cause.of(self._held)
        blamed = [process for process in wordless if process.hello.rank > 0 and blames(causes, process.hello.rank)]
        return next(iter(blamed or wordless), None)

    def _await_departures(self) -> None:
        """Gives those that are done the time to leave, which a launcher that did not start them all cannot tell."""
        deadline = time.monotonic() + _GRACE_S
        while any(process.left is None for process in self._ranks.values()):
            left_s = self._shutdown.cut(deadline) - time.monotonic()
            if left_s <= 0:
                return
            for event in self._control.poll(min(left_s, _POLL_S)):
                self._take(event)

    def _await_endings(self) -> None:
        """Gives those that left the time to end: only then does anybody say how."""
        deadline = time.monotonic() + _GRACE_S
        while not (self._started.ended() or self._all_told()) and time.monotonic() < self._shutdown.cut(deadline):
            time.sleep(_POLL_S / 10)

    def _all_told(self) -> bool:
        gone = self._fallen()
        return bool(gone) and all(self._ending_of(process) is not None for process in gone)

    def _silence(self, silence_s: float) -> Explanation:
        """Whom to blame where nothing was heard for so long."""
        ranks = self._by_rank()
        latest, failures = latest_case(ranks), [process for process, _ in failed(ranks)]
        behind = [m for m in ranks if m.case != latest]
        unended = [m for m in ranks if m.ended != latest] if any(m.ended == latest for m in ranks) else []
        stuck = [m for m in ranks if m.trouble() is not None]
        blamed = stuck or behind or unended or ([m for m in ranks if m not in failures] if failures else [])
        if not blamed:
            doing = [f"{m.name}: {told}" for m in ranks if m.is_here and (told := thread_states(m.hello.pid))]
            seen = f" ({'; '.join(doing)})" if doing else ""
            silence = f"none ended the case within {silence_s:g} s{seen}"
            everyone = range(self._size)
            return explained("hung", everyone, f"all {self._size} processes hung: {silence}; they were killed")
        words = ", ".join(f"{m.name}{f' ({m.trouble()})' if m.trouble() else ''}" for m in blamed)
        killed = f"all {self._size} processes were killed"
        silent = [m.hello.rank for m in blamed]
        return explained("hung", silent, f"{words} hung: no sign of life for {silence_s:g} s; {killed}")
