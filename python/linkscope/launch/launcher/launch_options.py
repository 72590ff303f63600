"""LaunchOptions: which launcher starts the processes of which cases, as asked for or as the machine suggests."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.group.control import LOOPBACK, own_address
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.hosts import JobSize, named_hosts, size_of_job, size_of_listed
from linkscope.launch.launcher.inside import InsideJob, JobLeader
from linkscope.launch.launcher.launcher import Launcher
from linkscope.launch.launcher.local import Local
from linkscope.launch.launcher.mpiexec import Mpiexec, find_mpiexec, library_of
from linkscope.launch.launcher.srun import Srun, is_only_host, unreachable
from linkscope.messages.near_names import unknown
from linkscope.plan.case_groups import uses_mpi

Json = dict[str, Any]

LAUNCHERS = ("local", "mpiexec", "srun", "inside")
MPI_VARIABLE = "LINKSCOPE_MPI"
"""The MPI library or adapter that engines load, instead of looking for one."""
FIND_MPIEXEC = "`pip install mpich`, or name one with --launcher-command"

_NO_SLURM = "run inside a job of `salloc` or `sbatch`, or leave --launcher out"


@dataclass(frozen=True)
class LaunchOptions:
    """Hold the user's launch options in the words of the command line. None: as the cases need it.

    ``launcher``: one of LAUNCHERS. ``command``: the launcher's path and whatever else it shall be told.
    ``hosts``, ``hostfile``: as the launcher spells them. ``interface``: the address of this host that others report to.
    ``settings``: variables that the measuring processes alone find in their environment (``linkscope ab``).
    """

    launcher: str | None = None
    launcher_command: str | None = None
    hosts: str | None = None
    hostfile: str | None = None
    interface: str | None = None
    settings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.launcher == "mpirun":
            raise LinkscopeError(
                "unknown launcher 'mpirun': --launcher mpiexec, or --launcher-command mpirun for that one"
            )
        if self.launcher not in (None, *LAUNCHERS):
            raise unknown("launcher", str(self.launcher), LAUNCHERS)
        if self.launcher in ("local", "inside") and (self.launcher_command or self.hosts or self.hostfile):
            raise LinkscopeError(f"--launcher {self.launcher} takes no command and no hosts: use mpiexec or srun")
        if self.hosts and self.hostfile:
            raise LinkscopeError("give --hosts or --hostfile, not both")
        if self.launcher_command is not None and not "".join(self.words[:1]):
            raise LinkscopeError("--launcher-command names no program: write 'mpiexec' or 'srun --mpi=pmix'")

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words of the launcher's command, none where there is no command. Raises LinkscopeError."""
        try:
            return tuple(shlex.split(self.launcher_command or ""))
        except ValueError as error:
            raise LinkscopeError(f"--launcher-command cannot be split into words: {error}") from error

    @property
    def command_line(self) -> list[str]:
        """The options that ask for the same."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "settings"}
        return [
            word
            for name, value in given.items()
            if value is not None
            for word in (f"--{name.replace('_', '-')}", value)
        ]

    @property
    def is_asked_for(self) -> bool:
        """Return whether the user chose how processes are started: what cannot be had then is the user's to mend."""
        return self.launcher is not None or self.launcher_command is not None

    @property
    def peers(self) -> list[str]:
        """Names of hosts that are asked for."""
        return list(named_hosts(self.hosts, self.hostfile))

    def job_size(self, environment: Mapping[str, str] = os.environ) -> JobSize:
        """On how many hosts processes are started, and how many there is room for."""
        if self.launcher == "local":
            return JobSize()
        if self.hosts or self.hostfile:
            return size_of_listed(self.hosts, self.hostfile)
        return inside.job_size(environment) or size_of_job(environment)

    def variables(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the variables that engines need beside ``environment``: the settings, and the MPI of the requested
        mpiexec."""
        found = dict(self.settings)
        asked = environment.get(MPI_VARIABLE) or found.get(MPI_VARIABLE)
        if not self.words or "srun" in (self.launcher, Path(self.words[0]).name) or asked:
            return found
        library = library_of(self.words[0])
        return found if library is None else {**found, MPI_VARIABLE: str(library)}

    def kind_for(self, case: Json, environment: Mapping[str, str], leader: JobLeader | None) -> str:
        """Which of LAUNCHERS starts the processes of ``case``."""
        if self.launcher is not None:
            return self.launcher
        if leader is not None:
            return "inside"
        if self.words:
            return "srun" if Path(self.words[0]).name == "srun" else "mpiexec"
        by_slurm = "SLURM_JOB_ID" in environment and shutil.which("srun") is not None
        if self.hosts or self.hostfile or uses_mpi(case) or _several_hosts(environment):
            return "srun" if by_slurm and not self.hostfile else "mpiexec"
        return "local"

    def open(self, kind: str, engine: str, leader: JobLeader | None) -> Launcher:
        """The launcher of that kind, for engines of that name. Raises LinkscopeError where none can be used here."""
        if leader is not None and kind != "inside":
            raise LinkscopeError(
                f"linkscope is one of {leader.place.size} ranks here: start it once, or leave --launcher out"
            )
        if kind == "inside":
            if leader is None:
                raise LinkscopeError(
                    "not started as ranks of a job: `mpiexec -n 2 linkscope run ...`, or another launcher"
                )
            return InsideJob(leader, engine)
        if kind == "local":
            return Local()
        if kind == "srun":
            srun = Srun(self.words or ("srun",), self.hosts)
            if "/" not in srun.words[0] and shutil.which(srun.words[0]) is None:
                raise LinkscopeError(
                    f"no {srun.words[0]} on PATH: --launcher mpiexec, or run inside an allocation of Slurm"
                )
            srun.version()
            problem = unreachable(os.environ)
            if problem is not None:
                raise LinkscopeError(f"srun reaches no Slurm from here ({problem.rstrip('.')}): {_NO_SLURM}")
            return srun
        found = find_mpiexec()
        if not self.words and found is None:
            raise LinkscopeError(f"there is no mpiexec; {FIND_MPIEXEC}")
        launcher = Mpiexec(self.words or (str(found),), self.hosts, self.hostfile)
        launcher.dialect()
        return launcher

    def listening_address(self, kind: str, environment: Mapping[str, str] = os.environ) -> str:
        """The address of this host that the processes reach."""
        if self.interface is not None:
            return self.interface
        return LOOPBACK if self._stays_here(kind, environment) else own_address(self.peers)

    def _stays_here(self, kind: str, environment: Mapping[str, str]) -> bool:
        """Return whether all processes are known to run on this host."""
        if kind == "local":
            return True
        if self.peers or self.hostfile:
            return False
        if kind == "inside":
            return inside.shares_host(environment)
        if kind == "srun":
            return is_only_host(environment)
        return not _several_hosts(environment)


def requirement(cases: Iterable[Json], size: int) -> str | None:
    """Return why a job of ``size`` ranks has nothing to do, if so."""
    if any(int(case.get("processes", 1)) == size for case in cases):
        return None
    return f"no case here has {size} processes; start as many ranks as cases have"


def _several_hosts(environment: Mapping[str, str]) -> bool:
    """Return whether a batch system gave this job more than one host."""
    return size_of_job(environment).hosts > 1
