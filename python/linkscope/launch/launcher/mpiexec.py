"""Mpiexec: an MPI's own launcher, as Open MPI and Hydra (MPICH, Intel MPI) speak it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.launch.group.binding import usable_cores
from linkscope.launch.launcher.hosts import named_hosts, one_a_host
from linkscope.launch.launcher.launcher import RANK_VARIABLE, LaunchSpec
from linkscope.launch.launcher.launcher_processes import LauncherProcesses, version_of
from linkscope.launch.process.child import Child

ONE_MPI = "name that MPI's own mpiexec by --launcher-command, or the other MPI's library by LINKSCOPE_MPI"
"""Advice where mpiexec and library are of different MPIs."""
_ABI_LIBRARIES = ("libmpi_abi.so.1", "libmpi_abi.so.0", "libmpi_abi.so")
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")


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

    def start(self, launch_spec: LaunchSpec) -> LauncherProcesses:
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

    def stranger_to(self, library: str) -> str:
        """Whose it is, where an MPI whose version text is ``library`` is known to be of another family: its processes
        would not find each other. Empty where it is not known to be. Raises LinkscopeError as ``dialect`` does."""
        own = self.dialect()
        others = (one for one in (_OPEN_MPI, _HYDRA) if one is not own)
        return own.name if any(re.search(one.libraries, library) for one in others) else ""

    def dialect(self) -> _Dialect:
        said = version_of(self.words[0])
        for dialect in (_OPEN_MPI, _HYDRA):
            if re.search(dialect.sign, said):
                return dialect
        first = (said.strip().splitlines() or ["nothing"])[0]
        known = "Open MPI's and Hydra's (MPICH, Intel MPI) are known; under Slurm, --launcher srun"
        raise LinkscopeError(f"{self.words[0]} --version says {first[:80]!r}: {known}")


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


@dataclass(frozen=True)
class _Dialect:
    """Hold a family's options of mpiexec, and its words for a process that ended badly (text on one line).

    ``name``: of the family, whose ``libraries`` have such words in their version text, and whose mpiexec has ``sign``
    in its own. ``spread``: what puts one process on each host; ``placing``: words that say where processes go.
    """

    name: str
    libraries: str
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
        """Return the arguments for an order; ``hosts``: those that are named; their slots bound their processes."""
        crowded = self.oversubscribe if not hosts and launch_spec.processes > len(usable_cores()) else ()
        exported = [word for name in launch_spec.exported for word in (self.export, name)] if self.export else []
        return [*self.bind, *crowded, *[word for word in exported if word is not None]]


_OPEN_MPI = _Dialect(
    name="Open MPI",
    libraries=r"Open MPI",
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
    name="MPICH or Intel MPI",
    libraries=r"MPICH|Intel\(R\) MPI|MVAPICH",
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
