"""A Slurm of one's own: controller and node daemon on this host, in a folder, for as long as a test wants them."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from multi_run import processes, wait_until

from linkscope.launch.process.child import Child

CPUS = 4
"""Of the one node, whatever this host has: Slurm is told not to look."""
_DAEMONS = ("slurmctld", "slurmd")
_CLIENTS = ("srun", "sbatch", "scancel", "sinfo", "squeue", "scontrol")
_CONF = """
ClusterName=private
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why no Slurm can be brought up here, if so."""
    lacking = [name for name in (*_DAEMONS, *_CLIENTS) if _path_of(name) is None]
    return f"no {', '.join(lacking)} here: Debian's package slurm-wlm has them" if lacking else None


@dataclass
class PrivateSlurm:
    """Running from the moment it is made until it is closed. Nobody is authenticated: it listens for a test's time."""

    folder: Path

    def __post_init__(self) -> None:
        self.conf = self.folder / "slurm.conf"
        ports = _free_ports(2)
        (self.folder / "state").mkdir()
        (self.folder / "spool").mkdir()
        host, user = platform.node().split(".")[0], getpass.getuser()
        facts = {"host": host, "user": user, "controller": ports[0], "node": ports[1]}
        self.conf.write_text(_CONF.format(**facts, folder=self.folder, cpus=CPUS))
        self.variables = {"SLURM_CONF": str(self.conf)}
        self._daemons = [self._start(name) for name in _DAEMONS]
        try:
            wait_until(self._is_idle)
        except AssertionError:
            words = [daemon.text() for daemon in self._daemons]
            self.close()
            raise AssertionError("\n".join(words)) from None

    def close(self) -> None:
        """Ends its jobs, its daemons, and whatever they have started."""
        with contextlib.suppress(AssertionError):
            self.ask("scancel", "--user", getpass.getuser())
            wait_until(self.has_no_jobs)
        for daemon in self._daemons:
            daemon.dismiss(5.0)
            daemon.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.processes())

    def ask(self, *command: str) -> str:
        """What one of Slurm's commands says."""
        answer = subprocess.run(
            command, env=self._environment(), capture_output=True, text=True, timeout=60, check=False
        )
        return answer.stdout

    def has_no_jobs(self) -> bool:
        """Whether none runs, waits or is still ending."""
        return not self.ask("squeue", "--noheader").strip()

    def processes(self) -> list[int]:
        """Those that it started and that still run, wherever they have gone."""
        sign = f"SLURM_CONF={self.conf}".encode()
        return [pid for pid in processes() if pid != os.getpid() and sign in _environment_of(pid).split(b"\0")]

    def _start(self, name: str) -> Child:
        return Child([str(_path_of(name)), "-D"], self._environment(), self.folder / f"{name}.words")

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, **self.variables}

    def _is_idle(self) -> bool:
        ended = [daemon.text() for daemon in self._daemons if daemon.status() is not None]
        assert not ended, ended
        return self.ask("sinfo", "--noheader", "--format=%T").strip() == "idle"


def _path_of(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        listeners = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(listener.getsockname()[1]) for listener in listeners]


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
