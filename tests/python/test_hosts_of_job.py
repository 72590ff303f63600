"""On how many hosts a job's processes are, and for how many it has room: as users list them and batch systems say."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.launch.launcher.hosts import JobSize, size_of_job, size_of_listed
from linkscope.launch.launcher.launch_options import LaunchOptions

SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4", "SLURM_NTASKS": "32"}
STEP = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "32", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}


@pytest.mark.parametrize(
    ("listed", "size"),
    [
        ("a:4,b:4", JobSize(2, 8)),
        ("a:4, b:2", JobSize(2, 6)),
        ("a,b", JobSize(2, 0)),
        ("a:4,b", JobSize(2, 0)),
        ("a,a,b,b", JobSize(2, 4)),
        ("a:2,a:2", JobSize(1, 4)),
        ("n[1-2]:4", JobSize(2, 8)),
        ("node[06-08]", JobSize(3, 0)),
        ("", JobSize(1, 0)),
    ],
)
def test_of_listed_hosts(listed: str, size: JobSize) -> None:
    assert size_of_listed(listed) == size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("# ours\nnode1 slots=8 max_slots=16\nnode2 slots = 4\n", JobSize(2, 12)),
        ("node1 max-slots=16 slots=8\nnode2 slots=8 max-slots=16\n", JobSize(2, 16)),
        ("node1:8\n\nnode2:8  # the other\n", JobSize(2, 16)),
        ("node1\nnode2\n", JobSize(2, 0)),
    ],
)
def test_of_a_hostfile(tmp_path: Path, text: str, size: JobSize) -> None:
    path = tmp_path / "hosts"
    path.write_text(text, encoding="utf-8")
    assert size_of_listed(None, str(path)) == size
    assert size_of_listed(None, str(tmp_path / "none")) == JobSize(1, 0)


def test_of_a_batch_systems_job(tmp_path: Path) -> None:
    assert size_of_job(SLURM) == JobSize(4, 32)
    assert size_of_job({"SLURM_JOB_ID": "7"}) == JobSize(1, 0)
    assert size_of_job({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "-1", "SLURM_NTASKS": "many"}) == JobSize(1, 0)
    listed = tmp_path / "nodes"
    listed.write_text("a\na\nb\nb\n", encoding="utf-8")
    assert size_of_job({"PBS_NODEFILE": str(listed)}) == JobSize(2, 4)
    assert size_of_job({}) == JobSize(1, 0)


@pytest.mark.parametrize(
    ("options", "environment", "size"),
    [
        (LaunchOptions(), SLURM, JobSize(4, 32)),
        (LaunchOptions(launcher="local"), SLURM, JobSize(1, 0)),
        (LaunchOptions(hosts="a:2,b:2"), SLURM, JobSize(2, 4)),
        (LaunchOptions(), STEP | {"MPI_LOCALNRANKS": "8"}, JobSize(4, 32)),
        (LaunchOptions(), STEP | {"SLURM_STEP_NUM_NODES": "2"}, JobSize(2, 32)),
        (LaunchOptions(), STEP | {"MPI_LOCALNRANKS": "1", "SLURM_STEP_NUM_NODES": "2"}, JobSize(2, 32)),
        (LaunchOptions(), {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "6"}, JobSize(1, 6)),
    ],
)
def test_what_users_list_comes_before_the_ranks_and_these_before_the_job(
    options: LaunchOptions, environment: dict[str, str], size: JobSize
) -> None:
    assert options.job_size(environment) == size
