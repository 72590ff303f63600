"""Startable: cases whose processes nobody can start are skipped before anything is measured or estimated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import Engine
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.startable import startable
from linkscope.plan.planned_case import PlannedCase


def test_cases_that_want_a_launcher_which_is_not_here_are_skipped_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkscope.launch.launcher.launch_options.find_mpiexec", lambda: None)
    engine = Engine("host", Path("nowhere"), {"backend": "host"})
    planned = [PlannedCase({"id": str(number), "flows": [], "processes": number}) for number in (1, 2)]
    by_mpi = LaunchOptions(hosts="a,b")
    one, two = startable(planned, by_mpi, engine)
    assert one.skip is None
    assert "no mpiexec" in str(two.skip)
    assert startable(planned, LaunchOptions(), engine)[1].skip is None, "processes here need none"
    with pytest.raises(LinkscopeError, match="no mpiexec"):
        startable(planned, LaunchOptions("mpiexec", hosts="a,b"), engine)


@pytest.mark.parametrize(
    ("said", "library", "whose"),
    [
        ("mpiexec (OpenRTE) 4.1.6", "MPICH Version: 5.0.2", "Open MPI"),
        ("HYDRA build details:", "Open MPI v5.0.11", "MPICH or Intel MPI"),
        ("HYDRA build details:", "Intel(R) MPI Library 2021.9", ""),
        ("mpiexec (OpenRTE) 4.1.6", "Open MPI v4.1.6", ""),
        ("mpiexec (OpenRTE) 4.1.6", "An MPI that nobody knows", ""),
    ],
)
def test_messages_by_mpi_are_not_started_by_another_mpis_launcher(
    tmp_path: Path, said: str, library: str, whose: str
) -> None:
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text(f"#!/bin/sh\necho '{said}'\n")
    mpiexec.chmod(0o755)
    engine = Engine("host", Path("nowhere"), {"backend": "host", "versions": {"MPI": library}})
    flow = {"method": "mpi", "source": {"rank": 0}, "destination": {"rank": 1}}
    case = {"id": "1", "flows": [flow], "processes": 2, "traits": {"methods": {"mpi": {"by_mpi": True}}}}
    asked = LaunchOptions(launcher_command=str(mpiexec))
    if whose:
        with pytest.raises(LinkscopeError, match=f"is of {whose}, and engines load {re.escape(library)}"):
            startable([PlannedCase(case)], asked, engine)
    else:
        assert startable([PlannedCase(case)], asked, engine)[0].skip is None
    other = {**case, "flows": [{**flow, "method": "shm-copy"}], "traits": {}}
    assert startable([PlannedCase(other)], asked, engine)[0].skip is None


@pytest.mark.parametrize(
    ("hosts", "words", "skipped"), [("a:4,b:4", "", True), ("a:4", "", False), ("a,b", " -ppn 2", False)]
)
@pytest.mark.parametrize("method", ["shm-copy", "ipc-copy", "a-method-nobody-knows"])
def test_memory_that_processes_share_is_not_tried_between_hosts(
    tmp_path: Path, hosts: str, words: str, skipped: bool, method: str
) -> None:
    mpiexec = tmp_path / "mpiexec"
    mpiexec.write_text("#!/bin/sh\necho 'HYDRA build details:'\n")
    mpiexec.chmod(0o755)
    engine = Engine("host", Path("nowhere"), {"backend": "host"})
    stated = {"methods": {"a-method-nobody-knows": {"maps_members": True}}}
    case = {"id": "1", "flows": [{"method": method}], "processes": 2, "labels": {"traits": stated}}
    (one,) = startable([PlannedCase(case)], LaunchOptions(launcher_command=f"{mpiexec}{words}", hosts=hosts), engine)
    assert (one.skip is not None and "on a host each" in one.skip) == skipped


@pytest.mark.parametrize(
    ("script", "job", "refused"),
    [
        ("echo 'scontrol: fatal: no source' >&2; exit 1", "", True),
        ("echo 'scontrol: fatal: no source' >&2; exit 1", "7", False),
        ("echo 'MpiDefault = none'", "", False),
    ],
)
def test_srun_is_refused_where_it_reaches_no_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, job: str, refused: bool
) -> None:
    for name, words in (("srun", "exit 1"), ("scontrol", script)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{words}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_JOB_ID", job) if job else monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    engine = Engine("host", Path("nowhere"), {"backend": "host"})
    planned = [PlannedCase({"id": "1", "flows": [], "processes": 2})]
    if refused:
        with pytest.raises(LinkscopeError, match=r"no source.*salloc.*sbatch"):
            startable(planned, LaunchOptions("srun"), engine)
    else:
        assert startable(planned, LaunchOptions("srun"), engine)[0].skip is None


@pytest.mark.parametrize("command", ["srun --mpi=pmi2", "{folder}/bin/srun --mpi=pmi2", None])
def test_srun_is_refused_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str | None
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    engine = Engine("host", Path("nowhere"), {"backend": "host"})
    planned = [PlannedCase({"id": "1", "flows": [], "processes": 2})]
    by_srun = LaunchOptions("srun", command and command.format(folder=tmp_path))
    with pytest.raises(LinkscopeError, match="srun"):
        startable(planned, by_srun, engine)
