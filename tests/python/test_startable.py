"""Startable: cases whose processes nobody can start are skipped before anything is measured or estimated."""

from __future__ import annotations

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
    assert "no mpiexec on PATH" in str(two.skip)
    assert startable(planned, LaunchOptions(), engine)[1].skip is None, "processes here need none"
    with pytest.raises(LinkscopeError, match="no mpiexec on PATH"):
        startable(planned, LaunchOptions("mpiexec", hosts="a,b"), engine)


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
