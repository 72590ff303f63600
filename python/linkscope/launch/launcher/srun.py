"""Slurm: its launcher srun, inside an allocation or asking for one, and what it says of the job it runs in."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from linkscope.launch.launcher.hosts import named_hosts, one_a_host
from linkscope.launch.launcher.launcher import RANK_VARIABLE, LaunchSpec
from linkscope.launch.launcher.launcher_processes import LauncherProcesses, gist, version_of
from linkscope.launch.process.child import Child

_OVERLAPS = (20, 11)
"""The first version whose steps wait for one another where nothing is said."""
_ANSWER_S = 10.0
_TASKS = r"srun: error: \S+: tasks? (?P<rank>[\d,-]+): "
ENDINGS = (
    re.compile(_TASKS + r"Exited with exit code (?P<code>\d+)"),
    re.compile(_TASKS + r"(?P<name>(?!Exited)[A-Z][a-z]+(?: (?:fault|error))?)"),
)
LABEL = re.compile(r"\s*(?P<rank>\d+): (?P<words>.*)")
"""A line of a process, as --label marks it."""
_ERROR = re.compile(r"^(?:srun|scontrol): (?:error|fatal): (.+)$", re.MULTILINE)
_PLACING = re.compile(r"-[Nmw].*|--(nodes|distribution|ntasks-per-node|nodelist|nodefile|relative)(=.*)?")
"""Words of srun's that say where tasks go."""


@dataclass(frozen=True)
class Srun:
    """Slurm's launcher. ``words``: its path, and more to say before the program."""

    words: tuple[str, ...]
    hosts: str | None = None
    binds: bool = False

    @property
    def name(self) -> str:
        return "srun"

    @property
    def notes(self) -> tuple[str, ...]:
        told = "SLURM_MPI_TYPE" in os.environ or any(word.startswith("--mpi") for word in self.words)
        if not told and _default_mpi() == "none":
            return ("srun has no --mpi, and Slurm's default is none; `srun --mpi=list` lists them",)
        return ()

    def spread(self, processes: int) -> tuple[str, ...]:
        """See Launcher."""
        return one_a_host(("--ntasks-per-node=1",), processes, named_hosts(self.hosts), self.words[1:], _PLACING)

    def start(self, launch_spec: LaunchSpec) -> LauncherProcesses:
        """See Launcher. A step shares the job's CPUs with any other: that of an interactive shell, or one that is still
        ending. More processes than CPUs share these.
        """
        environment = {name: value for name, value in launch_spec.environment.items() if name != RANK_VARIABLE}
        own = ["--ntasks", str(launch_spec.processes), "--export=ALL", "--cpu-bind=none", "--label"]
        own += ["--overlap"] if self.version() >= _OVERLAPS else []
        cpus = cpus_of_job(environment)
        own += ["--overcommit"] if cpus is not None and launch_spec.processes > cpus else []
        own += [f"--nodelist={self.hosts}"] if self.hosts else []
        own += self.spread(launch_spec.processes)
        command = [self.words[0], *own, *self.words[1:], *launch_spec.command]
        child = Child(command, environment, launch_spec.folder / "srun", dying=signal.SIGTERM)
        return LauncherProcesses("srun", child, ENDINGS, label=LABEL, complaint=complaint)

    def version(self) -> tuple[int, int]:
        """(22, 5) of "slurm-wlm 22.05.8". Raises LinkscopeError where it cannot be started."""
        found = re.search(r"(\d+)\.(\d+)", version_of(self.words[0]))
        return (int(found[1]), int(found[2])) if found else (0, 0)


def complaint(text: str) -> str:
    """The last error that srun tells of; without one, what it said first."""
    errors = _ERROR.findall(text)
    return str(errors[-1]) if errors else gist(text)


def cpus_of_job(environment: Mapping[str, str]) -> int | None:
    """Return how many CPUs the job has on all its hosts: 180 of "72(x2),36". None outside of one."""
    parts = re.findall(r"(\d+)(?:\(x(\d+)\))?", environment.get("SLURM_JOB_CPUS_PER_NODE", ""))
    return sum(int(cpus) * int(times or 1) for cpus, times in parts) if parts else None


def is_only_host(environment: Mapping[str, str]) -> bool:
    """Return whether this process runs on the one host of a job. The host where salloc was called is not the job's."""
    here = (environment.get("SLURMD_NODENAME"), platform.node().split(".")[0])
    return environment.get("SLURM_JOB_NUM_NODES") == "1" and environment.get("SLURM_JOB_NODELIST") in here


def unreachable(environment: Mapping[str, str]) -> str | None:
    """Return why srun can get no job, in Slurm's words; None inside a job, and where Slurm answers or is absent."""
    answer = None if "SLURM_JOB_ID" in environment else _config()
    return complaint(answer.stderr) if answer is not None and answer.returncode != 0 else None


@cache
def _default_mpi() -> str | None:
    """slurm.conf's MpiDefault; None where Slurm does not say."""
    answer = _config()
    found = re.search(r"^MpiDefault\s*=\s*(\S+)", answer.stdout, re.MULTILINE) if answer else None
    return found[1] if found else None


def _config() -> subprocess.CompletedProcess[str] | None:
    """Return what Slurm says of itself; None where there is no scontrol, or it does not answer."""
    try:
        command = ["scontrol", "show", "config"]
        return subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
