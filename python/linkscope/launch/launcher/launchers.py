"""Launchers: how the processes of a crew come to life, and how each of them says that one has died."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Protocol

from linkscope.errors import LinkscopeError
from linkscope.launch.group.binding import usable_cores
from linkscope.launch.launcher.hosts import named_hosts
from linkscope.launch.process.child import Child, ShutdownDeadline, end_all, signal_name

RANK_VARIABLE = "LINKSCOPE_RANK"
PATIENCE_S = 5.0
"""How long a launcher may take to end its processes before it is killed."""
_VERSION_S = 30.0
_MOST_WORDS = 300
_BOX = r"^[-=]{8,}\s*$"
_BAD_END = re.compile("BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES")
_OF_ENGINES = "linkscope-engine"
_ABI_LIBRARIES = ("libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so")
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")


@dataclass(frozen=True)
class LaunchSpec:
    """What is to be started: ``engine`` (its command) with the argument join, so many times.

    ``environment``: the whole of it; ``exported``: names in it that every host must see. ``cpus``: by rank, for
    launchers that start the processes themselves. ``folder``: for what they print.
    """

    engine: tuple[str, ...]
    processes: int
    environment: Mapping[str, str]
    exported: tuple[str, ...]
    cpus: Mapping[int, Sequence[int]]
    folder: Path

    @property
    def command(self) -> list[str]:
        return [*self.engine, "join"]


@dataclass(frozen=True)
class ExitStatus:
    """How a process ended: its exit code, or minus the signal that killed it, and its last words."""

    status: int
    words: str = ""

    def __str__(self) -> str:
        what = f"died of {signal_name(-self.status)}" if self.status < 0 else f"ended with exit code {self.status}"
        return f"{what}: {self.words}" if self.words else what


class StartedProcesses(Protocol):
    """Processes on their way."""

    def settle(self) -> None:
        """All have joined: what was there for them to come together can go."""

    def ended(self) -> bool:
        """Whether none of them runs any more."""

    def absence(self) -> str | None:
        """Why some of them cannot join any more, if so."""

    def ending(self, rank: int) -> ExitStatus | None:
        """How that one ended, where that is known."""

    def first_ending(self) -> ExitStatus | None:
        """How the one that ended first did, where it is known that one has and not which."""

    def overheard(self) -> str:
        """What was printed by nobody knows whom, as ``mpiexec printed: ...``; one line, empty where nothing was."""

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        """Ends what still runs, and waits for it."""


class Launcher(Protocol):
    """A way to start processes. ``notes``: what a user should know of how it does that. ``binds``: whether it gives
    each process CPUs of its own, which are left as they are.
    """

    @property
    def name(self) -> str: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def binds(self) -> bool: ...

    def spread(self, processes: int) -> tuple[str, ...]:
        """What it is told so that each host which the user has named gets one of so many processes. Empty where the
        hosts are not as many, where there is one alone, and where its own words place them already.
        """

    def start(self, launch_spec: LaunchSpec) -> StartedProcesses:
        """Raises LinkscopeError where nothing can be started."""


@dataclass(frozen=True)
class Local:
    """Starts them itself, on this host."""

    name: str = "local"
    notes: tuple[str, ...] = ()
    binds: bool = False

    def spread(self, processes: int) -> tuple[str, ...]:
        del processes
        return ()

    def start(self, launch_spec: LaunchSpec) -> StartedProcesses:
        children: list[Child] = []
        try:
            for rank in range(launch_spec.processes):
                environment = {**launch_spec.environment, RANK_VARIABLE: str(rank)}
                words = launch_spec.folder / f"rank-{rank}"
                children.append(Child(launch_spec.command, environment, words, cpus=launch_spec.cpus.get(rank, ())))
        except LinkscopeError:
            ChildProcesses(children).close()
            raise
        return ChildProcesses(children)


@dataclass(frozen=True)
class ChildProcesses:
    """Processes of this host, by rank from 0."""

    children: Sequence[Child]

    def settle(self) -> None:
        """Nothing was needed."""

    def ended(self) -> bool:
        return all(child.status() is not None for child in self.children)

    def absence(self) -> str | None:
        for rank, child in enumerate(self.children):
            if child.status() is not None:
                return f"rank {rank} {self.ending(rank)}"
        return None

    def ending(self, rank: int) -> ExitStatus | None:
        child = self.children[rank] if rank < len(self.children) else None
        status = child.status() if child is not None else None
        return None if child is None or status is None else ExitStatus(status, child.last_words())

    def first_ending(self) -> ExitStatus | None:
        return None

    def overheard(self) -> str:
        return ""  # each has its own words

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        end_all(self.children, shutdown)


@dataclass(frozen=True)
class Mpiexec:
    """An MPI's own launcher. ``words``: its path, and more to say before the program. ``hosts``: as it spells them."""

    words: tuple[str, ...]
    hosts: str | None = None
    hostfile: str | None = None
    binds: bool = False

    @property
    def name(self) -> str:
        return "mpiexec"

    @property
    def notes(self) -> tuple[str, ...]:
        if self.dialect() is _OPEN_MPI and os.geteuid() == 0:
            return (f"run as root: {', '.join(_AS_ROOT)} (and _CONFIRM) are set to 1 for mpiexec",)
        return ()

    def spread(self, processes: int) -> tuple[str, ...]:
        dialect = self.dialect()
        return one_a_host(dialect.spread, processes, self.named, self.words, dialect.placing)

    @property
    def named(self) -> tuple[str, ...]:
        """The hosts that are named."""
        return named_hosts(self.hosts, self.hostfile)

    def start(self, launch_spec: LaunchSpec) -> StartedProcesses:
        dialect = self.dialect()
        environment = {name: value for name, value in launch_spec.environment.items() if name != RANK_VARIABLE}
        if self.notes:
            environment |= {name + end: "1" for name in _AS_ROOT for end in ("", "_CONFIRM")}
        command = [*self.words, "-n", str(launch_spec.processes), *dialect.options(launch_spec, self.named)]
        command += self.spread(launch_spec.processes)
        command += [dialect.hosts, self.hosts] if self.hosts else []
        command += [dialect.hostfile, self.hostfile] if self.hostfile else []
        child = Child(
            [*command, *launch_spec.command], environment, launch_spec.folder / "mpiexec", dying=signal.SIGTERM
        )
        return LauncherProcesses("mpiexec", child, dialect.endings, dialect.anonymous)

    def dialect(self) -> _Dialect:
        said = version_of(self.words[0])
        for dialect in (_OPEN_MPI, _HYDRA):
            if re.search(dialect.sign, said):
                return dialect
        first = (said.strip().splitlines() or ["nothing"])[0]
        known = "Open MPI's and Hydra's (MPICH, Intel MPI) are known; under Slurm, --launcher srun"
        raise LinkscopeError(f"{self.words[0]} --version says {first[:80]!r}: {known}")


@dataclass(frozen=True)
class LauncherProcesses:
    """Processes that another program started, which tells on its standard error how they ended: by rank (``endings``),
    or without saying which (``anonymous``). What the processes say there is mixed; ``label`` matches what a launcher
    puts before each line to say whose it is, where it does. ``complaint``: what it says itself, of all its text.
    """

    name: str
    launcher: Child
    endings: tuple[re.Pattern[str], ...]
    anonymous: tuple[re.Pattern[str], ...] = ()
    label: re.Pattern[str] | None = None
    complaint: Callable[[str], str] = lambda text: gist(text)

    def settle(self) -> None:
        """Nothing was needed."""

    def ended(self) -> bool:
        return self.launcher.status() is not None

    def absence(self) -> str | None:
        status = self.launcher.status()
        if status is None:
            return None
        return f"{self.name} {ExitStatus(status, self.complaint(self.launcher.text()))}"

    def ending(self, rank: int) -> ExitStatus | None:
        text = " ".join(self.launcher.text().split())
        for pattern in self.endings:
            for match in pattern.finditer(text):
                found = match.groupdict()
                if rank in numbers(found.get("rank") or ""):
                    return ExitStatus(_status_of(found), self._last_words(rank))
        return None

    def first_ending(self) -> ExitStatus | None:
        text = " ".join(self.launcher.text().split())
        match = next(filter(None, (pattern.search(text) for pattern in self.anonymous)), None)
        return ExitStatus(_status_of(match.groupdict())) if match else None

    def overheard(self) -> str:
        """The first box, or stretch without one, that tells of more than an end: of what MPI complains, say."""
        if self.label is not None:
            return ""
        told = (*self.endings, *self.anonymous, _BAD_END)
        lines = (line for line in self.launcher.text().splitlines() if not line.startswith(_OF_ENGINES))
        for box in re.split(_BOX, "\n".join(lines), flags=re.MULTILINE):
            words = " ".join(box.split())
            if words and not any(pattern.search(words) for pattern in told):
                return f"{self.name} printed: {_shortened(words)}"
        return ""

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        self.launcher.dismiss(PATIENCE_S, shutdown)

    def _last_words(self, rank: int) -> str:
        """The last line that is known to be of that one."""
        if self.label is None:
            return ""
        found = (self.label.match(line) for line in reversed(self.launcher.text().splitlines()))
        return next(
            (words for one in found if one and one["rank"] == str(rank) and (words := one["words"].strip())), ""
        )


def one_a_host(
    told: tuple[str, ...], processes: int, hosts: Sequence[str], words: Sequence[str], placing: re.Pattern[str]
) -> tuple[str, ...]:
    """``told`` where there is a process for each of several ``hosts`` and none of a launcher's ``words`` is ``placing``
    them: left alone, it may fill the first host before it goes on to the next.
    """
    placed = any(placing.fullmatch(word) for word in words)
    return told if len(hosts) > 1 and processes == len(hosts) and not placed else ()


def numbers(listed: str) -> frozenset[int]:
    """The ranks in a list as launchers write them: "0", "1,3", "0-3,7"."""
    found: set[int] = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def find_mpiexec() -> str | None:
    """mpiexec on PATH, else beside this Python, where MPI's packages from PyPI put it; None where there is none."""
    beside = Path(sys.executable).parent / "mpiexec"
    return shutil.which("mpiexec") or (str(beside) if os.access(beside, os.X_OK) else None)


def library_of(mpiexec: str) -> Path | None:
    """The library with the standard ABI that is installed with that mpiexec, which must be named with its folder; None
    where there is none.
    """
    if "/" not in mpiexec:
        return None
    home = Path(mpiexec).absolute().parent.parent
    files = (home / folder / name for folder in ("lib", "lib64") for name in _ABI_LIBRARIES)
    return next((file for file in files if file.exists()), None)


def gist(text: str) -> str:
    """The first sentence or so of the last box, or of all, that a launcher printed; one line."""
    boxes = [box.strip() for box in re.split(_BOX, text, flags=re.MULTILINE)]
    last = next((box for box in reversed(boxes) if box), "")
    first, _, second = last.partition("\n\n")
    return _shortened(f"{first} {second}" if first.endswith(":") else first)


def _shortened(words: str) -> str:
    """In one line of at most ``_MOST_WORDS`` characters."""
    return shorten(words, _MOST_WORDS, placeholder=" ...")


@dataclass(frozen=True)
class _Dialect:
    """How one family of mpiexec is spoken to, and how it tells of a process that ended badly (text on one line).

    ``spread``: what puts one process on each host; ``placing``: words that say where processes go.
    """

    sign: str
    bind: tuple[str, ...]
    oversubscribe: tuple[str, ...]
    hosts: str
    hostfile: str
    spread: tuple[str, ...]
    placing: re.Pattern[str]
    endings: tuple[re.Pattern[str], ...]
    export: str | None = None
    anonymous: tuple[re.Pattern[str], ...] = ()

    def options(self, launch_spec: LaunchSpec, hosts: Sequence[str] = ()) -> list[str]:
        """What it is told of an order; ``hosts``: those that are named, whose slots say how many each of them takes."""
        crowded = self.oversubscribe if not hosts and launch_spec.processes > len(usable_cores()) else ()
        exported = [word for name in launch_spec.exported for word in (self.export, name)] if self.export else []
        return [*self.bind, *crowded, *[word for word in exported if word is not None]]


_OPEN_MPI = _Dialect(
    sign=r"Open MPI|OpenRTE|PRRTE",
    bind=("--bind-to", "none"),
    oversubscribe=("--oversubscribe",),
    hosts="--host",
    hostfile="--hostfile",
    spread=("--map-by", "ppr:1:node"),
    placing=re.compile(
        r"--?(map-by|N|npernode|pernode|npersocket|ppr|rankfile|rf|bynode|byslot|host|hostfile|machinefile)(=.*)?"
        r"|rmaps_\w*(policy|pattern)"
    ),
    endings=(
        re.compile(r"process rank (?P<rank>\d+) with PID \d+ on node \S+ exited on signal (?P<signal>\d+)"),
        re.compile(r"Process name: \[\S+?,(?P<rank>\d+)\] Exit code: (?P<code>\d+)"),
    ),
    export="-x",
)
_HYDRA = _Dialect(
    sign=r"HYDRA|Hydra|Intel\(R\) MPI",
    bind=("-bind-to", "none", "-genvall"),
    oversubscribe=(),
    hosts="-hosts",
    hostfile="-f",
    spread=("-ppn", "1"),
    placing=re.compile(r"--?(ppn|perhost|grr|rr|rankmap|hosts|host|f|machinefile|hostfile)(=.*)?"),
    endings=(),
    # It names the first in its own list, which may be one that it killed itself for the other's sake.
    anonymous=(re.compile(r"TERMINATED WITH THE EXIT STRING: .*?\(signal (?P<signal>\d+)\)"),),
)


def _status_of(found: Mapping[str, str | None]) -> int:
    if found.get("signal"):
        return -int(found["signal"] or 0)
    if found.get("code"):
        return int(found["code"] or 0)
    named = {signal.strsignal(number): number for number in signal.valid_signals()}
    return -int(named.get(found.get("name"), 0))


@cache
def version_of(program: str) -> str:
    """What it says to --version. Raises LinkscopeError where it cannot be started or does not answer."""
    try:
        command, quiet = [program, "--version"], subprocess.DEVNULL
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_S, check=False, stdin=quiet)
    except subprocess.TimeoutExpired as error:
        raise LinkscopeError(f"{program} --version did not answer within {_VERSION_S:.0f} s") from error
    except OSError as error:
        raise LinkscopeError(f"cannot start {program}: {error.strerror or error}; see --launcher-command") from error
    return answer.stdout + answer.stderr
