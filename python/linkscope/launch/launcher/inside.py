"""InsideJob: linkscope itself was started as the ranks of a job, by mpiexec, srun or torchrun. Rank 0 leads, the others
follow.

Rank 0 writes beside the run file where it listens; every other rank reads that and becomes its engine. So an MPI that
was set up for the job's processes finds exactly these. They can be started once only; torchrun's, of which no MPI is,
start engines as often as they are called.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socket
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import command_of
from linkscope.launch.group.control import CONTROL_VARIABLE, LOOPBACK, own_address
from linkscope.launch.launcher import survey
from linkscope.launch.launcher.hosts import JobSize, whole
from linkscope.launch.launcher.launcher import RANK_VARIABLE, LaunchSpec, StartedProcesses
from linkscope.launch.launcher.local import ChildProcesses
from linkscope.launch.process.child import URGENT_S, Child, ShutdownDeadline
from linkscope.launch.process.scratch import Scratch
from linkscope.machine import sysfs
from linkscope.machine.files import LiveFiles

Json = dict[str, Any]

FOLLOW_TIMEOUT_S = 300.0
"""Seconds that the others wait for rank 0, which first examines the machine and plans."""
_BETWEEN_CALLS_S = 24 * 3600.0
"""The same once they have come; where rank 0 dies, their launcher ends them."""
_POLL_S = 0.05
_CONNECT_S = 2.0
_HOME_S = 30.0


@dataclass(frozen=True)
class _RankVariables:
    """Names of a launcher's variables: a process's rank, the number of all, of those on its host, and more that must be
    set for the others to mean anything.
    """

    rank: str
    size: str
    local_size: str
    sign: str | None = None


_TORCHRUN = _RankVariables("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", sign="TORCHELASTIC_RUN_ID")
_RANK_VARIABLES = (
    _TORCHRUN,
    _RankVariables("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    _RankVariables("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    _RankVariables("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS"),
)
_JOBS = (
    ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"),
    ("PMIX_NAMESPACE",),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
)


@dataclass(frozen=True)
class JobRank:
    """Which of how many ranks this process is, and of which job; whether that can start engines over and over."""

    rank: int
    size: int
    job: str
    again: bool = False


def place(environment: Mapping[str, str] = os.environ) -> JobRank | None:
    """This process's place in a job of several ranks, by what its launcher says; None outside of one."""
    words = _spoken(environment)
    if words is None or environment[words.size] == "1":
        return None
    return JobRank(int(environment[words.rank]), int(environment[words.size]), _job(environment), words is _TORCHRUN)


def shares_host(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether all ranks of the job are known to run on this host."""
    words = _spoken(environment)
    if words is not None and words.local_size in environment:
        return environment[words.local_size] == environment[words.size]
    return environment.get("SLURM_STEP_NUM_NODES") == "1"


def job_size(environment: Mapping[str, str] = os.environ) -> JobSize | None:
    """Return the number of ranks of this process's job, and of hosts; None outside of a job. Slurm gives the hosts;
    elsewhere each host is taken to have as many ranks as this one."""
    own, words = place(environment), _spoken(environment)
    if own is None or words is None:
        return None
    local, nodes = (whole(environment.get(name, "")) for name in (words.local_size, "SLURM_STEP_NUM_NODES"))
    return JobSize(nodes or math.ceil(own.size / (local or own.size)), own.size)


def _spoken(environment: Mapping[str, str]) -> _RankVariables | None:
    """The innermost launcher's that says of this process what it must."""
    for words in _RANK_VARIABLES:
        numbers = (environment.get(name, "") for name in (words.rank, words.size))
        if all(number.isdigit() for number in numbers) and (words.sign is None or words.sign in environment):
            return words
    return None


def _job(environment: Mapping[str, str]) -> str:
    """A name that all ranks of the job agree on; Hydra gives none, so there it is of the command and the folder."""
    for names in _JOBS:
        words = [environment[name] for name in names if environment.get(name)]
        if len(words) == len(names):
            return re.sub(r"[^\w.-]", "-", "-".join(words))
    command = Path("/proc/self/cmdline").read_bytes() + str(Path.cwd()).encode()
    return f"{environment.get('PMI_SIZE', '0')}-{zlib.crc32(command):08x}"


@dataclass(frozen=True)
class JobRendezvous:
    """The file by which rank 0 tells the others where to report; readable by its owner alone."""

    path: Path

    @staticmethod
    def of(own: JobRank, run_file: Path) -> JobRendezvous:
        return JobRendezvous(run_file.parent / f".linkscope-{own.job}")

    def announce(self, message: Json) -> None:
        """Raises LinkscopeError where it cannot be written."""
        beside = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.touch(mode=0o600)
            beside.write_text(json.dumps(message), encoding="utf-8")
            beside.replace(self.path)
        except OSError as error:
            raise LinkscopeError(f"cannot write {self.path}: {error.strerror or error}") from error

    def withdraw(self) -> None:
        self.path.unlink(missing_ok=True)

    def attend(self, timeout_s: float, known: Json | None = None) -> Json:
        """Return what rank 0 announced and listens for, unless it is ``known`` already. Raises LinkscopeError where
        nothing comes in time.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            try:
                message = json.loads(self.path.read_text(encoding="utf-8"))
                if message == known:
                    raise KeyError
                host, _, port = message["variables"][CONTROL_VARIABLE].rpartition(":")
                socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
            except (OSError, ValueError, KeyError):
                time.sleep(_POLL_S)  # not there yet, or of a job that is over
            else:
                return dict(message)
        where = f"{self.path} on {socket.gethostname()}"
        raise LinkscopeError(
            f"rank 0 left no word in {where} within {timeout_s:.0f} s: do all hosts share that folder?"
        )


@dataclass
class JobLeader:
    """Rank 0's part: it calls the others, once or as often as they can be, or sends them home."""

    place: JobRank
    rendezvous: JobRendezvous
    called: bool = False
    urgent: bool = False
    """linkscope has been asked to stop."""

    def call(self, message: Json) -> None:
        self.called = True
        self.rendezvous.announce(message)

    def send_home(self) -> None:
        """Tells every other rank that it is not wanted, as far as they ask within a while."""
        deadline = time.monotonic() + (URGENT_S if self.urgent else _HOME_S)
        address = LOOPBACK if shares_host() else own_address(())
        with contextlib.suppress(OSError, LinkscopeError), socket.create_server((address, 0)) as listener:
            host, port = listener.getsockname()
            self.rendezvous.announce({"variables": {CONTROL_VARIABLE: f"{host}:{port}"}})
            for _ in range(self.place.size - 1):
                listener.settimeout(max(deadline - time.monotonic(), 0.01))
                listener.accept()[0].close()
        self.rendezvous.withdraw()


@contextmanager
def lead(run_file: Path) -> Iterator[JobLeader | None]:
    """For rank 0 of a job of ranks; None outside of one. The others follow it and do not come back: they become an
    engine, or start one as often as they are called, or leave with exit code 0 where none is wanted of them. Raises
    LinkscopeError.
    """
    own = place()
    if own is None:
        yield None
        return
    rendezvous = JobRendezvous.of(own, run_file)
    if own.rank > 0:
        _follow(own, rendezvous)
    rendezvous.withdraw()  # of a job of the same name that was killed
    leader = JobLeader(own, rendezvous)
    try:
        yield leader
    finally:
        if own.again or not leader.called:
            leader.send_home()


def _follow(own: JobRank, rendezvous: JobRendezvous) -> NoReturn:
    message: Json | None = None
    while True:
        message = rendezvous.attend(_BETWEEN_CALLS_S if message else FOLLOW_TIMEOUT_S, message)
        if "engine" not in message:
            sys.exit(0)
        command = command_of(str(message["engine"]))
        if command is None:
            where = f"rank {own.rank} on {socket.gethostname()}"
            raise LinkscopeError(f"{where} has no {message['engine']} engine: run `make setup` there")
        environment = {**os.environ, **message["variables"], RANK_VARIABLE: str(own.rank)}
        survey.tell_if_wanted(environment)
        if not own.again:
            os.execve(command[0], [*command, "join"], environment)
        _serve([*command, "join"], environment)


def _serve(command: list[str], environment: Json) -> None:
    """Runs an engine to its end; what it said goes where this process's words do."""
    with Scratch() as scratch:
        child = Child(command, environment, scratch.path / "stderr")
        while child.status() is None:
            time.sleep(_POLL_S)
        sys.stderr.write(child.text())
        child.close()


class InsideJob:
    """A Launcher whose processes are there already: this one's engine is started, the others are called."""

    name = "inside"

    def __init__(self, leader: JobLeader, engine: str) -> None:
        self._leader = leader
        self._engine = engine
        self.binds = not _may_use_all_cpus()
        self.notes: tuple[str, ...] = ("each rank keeps the CPUs that its launcher gave it",) if self.binds else ()

    def spread(self, processes: int) -> tuple[str, ...]:
        """See Launcher: they are where they are."""
        del processes
        return ()

    def start(self, launch_spec: LaunchSpec) -> StartedProcesses:
        """See Launcher."""
        own = self._leader.place
        if self._leader.called and not own.again:
            again = "the ranks of a job start once: complete the run with --resume in another job"
            raise LinkscopeError(f"{again}, or run linkscope by itself and let it start the processes")
        variables = {name: launch_spec.environment[name] for name in launch_spec.exported}
        environment = {**launch_spec.environment, RANK_VARIABLE: str(own.rank)}
        child = Child(launch_spec.command, environment, launch_spec.folder / "rank-0", files=_inherited())
        try:
            self._leader.call({"engine": self._engine, "variables": variables})
        except LinkscopeError:
            child.close()
            raise
        return _Called([child], self._leader.rendezvous)


@dataclass(frozen=True)
class _Called(ChildProcesses):
    """Rank 0's engine, and the others of the job, of whom nothing is known but what they say."""

    rendezvous: JobRendezvous

    def settle(self) -> None:
        self.rendezvous.withdraw()

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        self.rendezvous.withdraw()
        super().close(shutdown)


def _may_use_all_cpus() -> bool:
    online = sysfs.cpu_list(LiveFiles().read(f"{sysfs.CPUS}/online"))
    return os.sched_getaffinity(0).issuperset(online)


def _inherited() -> list[int]:
    """Files that this process was started with, beside the standard ones: a launcher's are among them."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        number = int(entry.name)
        try:
            if number > 2 and os.get_inheritable(number):
                found.append(number)
        except OSError:  # the directory itself, closed by now
            continue
    return sorted(found)
