"""Crews by a real Slurm, of this one host: as job steps, as a batch script, and as ranks that srun has started."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from company import IDS, ROOT, Company, command_of, wait_until
from private_slurm import CPUS, PrivateSlurm, missing

HOST = socket.gethostname()
STEPS = ("srun", "slurmstepd")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateSlurm]:
    """Skips where its daemons are not installed."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    running = PrivateSlurm(tmp_path_factory.mktemp("slurm"))
    yield running
    running.close()


@pytest.fixture(autouse=True)
def within(company: Company, slurm: PrivateSlurm) -> Iterator[None]:
    """Commands of Slurm reach this one; no engine, no step, no job and no file is left afterwards."""
    for name, value in slurm.variables.items():
        company.monkeypatch.setenv(name, value)
    yield
    wait_until(lambda: not company.engines())
    wait_until(slurm.has_no_jobs)
    wait_until(lambda: not [pid for pid in slurm.processes() if command_of(pid).strip().startswith(STEPS)])
    assert company.leftovers() == []


def batch(company: Company, slurm: PrivateSlurm, line: str, *options: str) -> str:
    """Submits a script of one line; the job's number."""
    script = company.bench.folder / "job.sh"
    script.write_text(f"#!/bin/bash\nexport PYTHONPATH={ROOT / 'python'}\n{line}\n")
    return slurm.ask("sbatch", "--parsable", "--output=job.out", *options, str(script)).strip()


def linkscope(company: Company, *arguments: str) -> str:
    return " ".join([sys.executable, "-m", "linkscope", "run", company.suite("mpi"), "-o", "a.jsonl", *arguments])


def test_processes_are_a_job_step(company: Company) -> None:
    assert company.run("--launcher", "srun", method="mpi").code == 0
    assert company.statuses == dict.fromkeys(IDS, "ok")
    (crew,) = company.crews
    assert crew["launcher"] == "srun"
    assert sorted(one["pid"] for one in company.joined) == sorted(one["pid"] for one in crew["processes"])


def test_who_tells_srun_no_mpi_is_told_that_there_is_none(company: Company) -> None:
    company.run("--launcher", "srun")
    assert ["srun --mpi=list" in note for note in company.crews[0]["notes"]] == [True]
    Path("a.jsonl").unlink()
    company.run("--launcher-command", "srun --mpi=pmi2")
    assert company.crews[0]["notes"] == []


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_with_its_signal_and_the_rest_goes_on(company: Company, rank: int) -> None:
    company.faults(**{f"r{rank}_/8KiB": "kill"})
    assert company.run("--launcher", "srun").code == 1
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST}) died of SIGKILL")
    assert len(company.crews) == 2


def test_a_rank_that_ends_with_an_exit_code_is_quoted(company: Company) -> None:
    company.faults(**{"r1_/16KiB": "exit"})
    company.run("--launcher", "srun")
    words = f"rank 1 (host {HOST}) ended with exit code 4: linkscope-engine: about to fail"
    assert company.reasons.keys() == {IDS[2]}
    assert company.reasons[IDS[2]].startswith(words)


def test_a_stopped_rank_is_named(company: Company) -> None:
    company.monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 1.0)
    company.faults(**{"r0_/8KiB": "stop"})
    assert company.run("--launcher", "srun").code == 1
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank 0 (host {HOST}) (it is stopped) hung")


def test_a_rank_that_never_comes_is_named(company: Company) -> None:
    company.monkeypatch.setattr("linkscope.launch.scheduler.START_TIMEOUT_S", 5.0)
    company.faults(r1_hello="absent")
    assert company.run("--launcher", "srun").code == 1
    (reason,) = set(company.reasons.values())
    assert reason == f"rank 1 of 2 never started; on {HOST} the others did: no word within 5 s of starting srun"


def test_a_step_that_slurm_refuses_is_quoted(company: Company) -> None:
    assert company.run("--launcher", "srun", "--hosts", "nowhere").code == 1
    (reason,) = set(company.reasons.values())
    assert reason.startswith("srun ended with exit code 1: Unable to allocate resources: Invalid node name specified (")


def test_a_batch_script_with_fewer_cpus_than_processes_runs_its_step(company: Company, slurm: PrivateSlurm) -> None:
    batch(company, slurm, linkscope(company), "--nodes=1", "--ntasks-per-node=1")
    wait_until(slurm.has_no_jobs)
    assert company.statuses == dict.fromkeys(IDS, "ok"), Path("job.out").read_text()
    assert [crew["launcher"] for crew in company.crews] == ["srun"]


def test_a_step_starts_beside_the_step_that_it_is_started_from(company: Company, slurm: PrivateSlurm) -> None:
    """The shell of `srun --pty bash` is a step too, and has all CPUs."""
    line = f"srun --ntasks=1 --cpus-per-task={CPUS} {linkscope(company)}"
    batch(company, slurm, line, f"--ntasks={CPUS}")
    wait_until(slurm.has_no_jobs)
    assert company.statuses == dict.fromkeys(IDS, "ok"), Path("job.out").read_text()


def test_a_batch_script_told_to_stop_leaves_a_file_that_can_be_completed(company: Company, slurm: PrivateSlurm) -> None:
    company.faults(**{"r1_/16KiB": "stop"})
    job = batch(company, slurm, f"exec {linkscope(company, '--launcher', 'srun')}", "--ntasks=2")
    wait_until(lambda: Path("a.jsonl").exists() and len(company.statuses) >= 2)
    slurm.ask("scancel", "--batch", "--signal=TERM", job)
    wait_until(slurm.has_no_jobs)
    assert company.records[-1] == {"record": "state", "when": "interrupted"}
    company.faults()
    assert company.bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert company.statuses == dict.fromkeys(IDS, "ok")


def test_a_cancelled_job_leaves_nobody(company: Company, slurm: PrivateSlurm) -> None:
    company.faults(**{"r1_/16KiB": "stop"})
    job = batch(company, slurm, linkscope(company), "--ntasks=2")
    wait_until(lambda: Path("a.jsonl").exists() and len(company.statuses) >= 2)
    slurm.ask("scancel", job)
    wait_until(lambda: slurm.has_no_jobs() and not company.engines())
    assert [company.statuses[one] for one in IDS[:2]] == ["ok", "ok"]
    _clear(company)


def test_a_killed_linkscope_takes_step_and_ranks_along(company: Company) -> None:
    company.faults(**{"r1_/16KiB": "hang"})
    process = company.start("--launcher", "srun")
    company.await_rows(process, 2)
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not company.engines())
    _clear(company)


def test_started_as_ranks_linkscope_leads_from_rank_0(company: Company) -> None:
    process = company.start(method="mpi", before=["srun", "--ntasks=2"])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert company.statuses == dict.fromkeys(IDS, "ok")
    assert [crew["launcher"] for crew in company.crews] == ["inside"]


def test_a_rank_killed_inside_a_step_is_named_and_the_rest_waits_for_another_job(company: Company) -> None:
    company.faults(**{"r1_/8KiB": "kill"})
    process = company.start(method="mpi", before=["srun", "--ntasks=2", "--kill-on-bad-exit=0"])
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert Path("a.jsonl").exists(), out + err
    assert company.statuses[IDS[0]] == "ok"
    assert re.match(rf"rank 1 \(host {HOST}\)", company.reasons[IDS[1]])
    assert "--resume in another job" in company.reasons[IDS[2]]


def _clear(company: Company) -> None:
    """What a linkscope that was killed could not remove."""
    for folder in company.bench.folder.glob("linkscope-*"):
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink()
        folder.rmdir()
