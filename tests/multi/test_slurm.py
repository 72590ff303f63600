"""Groups by a real Slurm, of this one host: as job steps, as a batch script, and as ranks that srun has started."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import statuses
from multi_run import IDS, ROOT, MultiRun, command_of, wait_until
from private_slurm import CPUS, PrivateSlurm, missing

HOST = socket.gethostname()
STEPS = ("srun", "slurmstepd")
PAGE = ROOT / "docs" / "processes.md"


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
def within(multi_run: MultiRun, slurm: PrivateSlurm) -> Iterator[None]:
    """Commands of Slurm reach this one; no engine, no step, no job and no file is left afterwards."""
    for name, value in slurm.variables.items():
        multi_run.monkeypatch.setenv(name, value)
    yield
    wait_until(lambda: not multi_run.engines())
    wait_until(slurm.has_no_jobs)
    wait_until(lambda: not [pid for pid in slurm.processes() if command_of(pid).strip().startswith(STEPS)])
    assert multi_run.leftovers() == []


def batch(multi_run: MultiRun, slurm: PrivateSlurm, line: str, *options: str) -> str:
    """Submits a script of one line; the job's number."""
    script = multi_run.bench.folder / "job.sh"
    script.write_text(f"#!/bin/bash\nexport PYTHONPATH={ROOT / 'python'}\n{line}\n")
    return slurm.ask("sbatch", "--parsable", "--output=job.out", *options, str(script)).strip()


def linkscope(multi_run: MultiRun, *arguments: str) -> str:
    return " ".join(
        [sys.executable, "-m", "linkscope", "run", multi_run.suite("mpi"), "-o", "a.jsonl", "--rounds", "1", *arguments]
    )


def test_processes_are_a_job_step(multi_run: MultiRun) -> None:
    assert multi_run.run("--launcher", "srun", method="mpi").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    (group,) = multi_run.groups
    assert group["launcher"] == "srun"
    assert sorted(one["pid"] for one in multi_run.joined) == sorted(one["pid"] for one in group["processes"])


def test_who_tells_srun_no_mpi_is_told_that_there_is_none(multi_run: MultiRun) -> None:
    multi_run.run("--launcher", "srun")
    assert ["srun --mpi=list" in note for note in multi_run.groups[0]["notes"]] == [True]
    Path("a.jsonl").unlink()
    multi_run.run("--launcher-command", "srun --mpi=pmi2")
    assert multi_run.groups[0]["notes"] == []


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_with_its_signal_and_the_rest_goes_on(multi_run: MultiRun, rank: int) -> None:
    multi_run.faults(**{f"r{rank}_/8KiB": "kill"})
    assert multi_run.run("--launcher", "srun").code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST}) died of SIGKILL")
    assert len(multi_run.groups) == 2


def test_a_rank_that_ends_with_an_exit_code_is_quoted(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/16KiB": "exit"})
    multi_run.run("--launcher", "srun")
    words = f"rank 1 (host {HOST}) ended with exit code 4: linkscope-engine: about to fail"
    assert multi_run.reasons.keys() == {IDS[2]}
    assert multi_run.reasons[IDS[2]].startswith(words)


def test_a_stopped_rank_is_named(multi_run: MultiRun) -> None:
    multi_run.monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 1.0)
    multi_run.faults(**{"r0_/8KiB": "stop"})
    assert multi_run.run("--launcher", "srun").code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank 0 (host {HOST}) (it is stopped) hung")


def test_a_rank_that_never_comes_is_named(multi_run: MultiRun) -> None:
    multi_run.monkeypatch.setattr("linkscope.launch.scheduler.START_TIMEOUT_S", 5.0)
    multi_run.faults(r1_hello="absent")
    assert multi_run.run("--launcher", "srun").code == 1
    (reason,) = set(multi_run.reasons.values())
    assert reason == f"rank 1 of 2 never started; on {HOST} the others did: no word within 5 s of starting srun"


def test_a_step_that_slurm_refuses_is_quoted(multi_run: MultiRun) -> None:
    assert multi_run.run("--launcher", "srun", "--hosts", "nowhere").code == 1
    (reason,) = set(multi_run.reasons.values())
    assert reason.startswith("srun ended with exit code 1: Unable to allocate resources: Invalid node name specified (")


def test_a_batch_script_with_fewer_cpus_than_processes_runs_its_step(multi_run: MultiRun, slurm: PrivateSlurm) -> None:
    batch(multi_run, slurm, linkscope(multi_run), "--nodes=1", "--ntasks-per-node=1")
    wait_until(slurm.has_no_jobs)
    assert multi_run.statuses == dict.fromkeys(IDS, "ok"), Path("job.out").read_text()
    assert [group["launcher"] for group in multi_run.groups] == ["srun"]


def test_the_script_of_the_page_runs_as_it_stands(multi_run: MultiRun, slurm: PrivateSlurm) -> None:
    """Its environment is that of a user who installed linkscope in ~/linkscope-env."""
    (script,) = re.findall(r"^```\n(#!/bin/bash\n#SBATCH.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    home = multi_run.bench.folder / "home"
    programs = home / "linkscope-env" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f"export PATH={programs}:$PATH PYTHONPATH={ROOT / 'python'}\n")
    (programs / "linkscope").write_text(f'#!/bin/sh\nexec {sys.executable} -m linkscope "$@"\n')
    (programs / "linkscope").chmod(0o755)
    multi_run.monkeypatch.setenv("HOME", str(home))
    multi_run.monkeypatch.chdir(home)
    Path("linkscope.sbatch").write_text(script)
    job = slurm.ask("sbatch", "--parsable", "linkscope.sbatch").strip()
    wait_until(slurm.has_no_jobs)
    assert Path(f"{job}.jsonl").exists(), Path(f"slurm-{job}.out").read_text()
    found = multi_run.bench.records(Path(f"{job}.jsonl"))
    assert "ok" in statuses(found).values()
    assert {record["launcher"] for record in found if record.get("when") == "joined"} == {"srun"}


def test_a_step_starts_beside_the_step_that_it_is_started_from(multi_run: MultiRun, slurm: PrivateSlurm) -> None:
    """The shell of `srun --pty bash` is a step too, and has all CPUs."""
    line = f"srun --ntasks=1 --cpus-per-task={CPUS} {linkscope(multi_run)}"
    batch(multi_run, slurm, line, f"--ntasks={CPUS}")
    wait_until(slurm.has_no_jobs)
    assert multi_run.statuses == dict.fromkeys(IDS, "ok"), Path("job.out").read_text()


def test_a_batch_script_told_to_stop_leaves_a_file_that_can_be_completed(
    multi_run: MultiRun, slurm: PrivateSlurm
) -> None:
    multi_run.faults(**{"r1_/16KiB": "stop"})
    job = batch(multi_run, slurm, f"exec {linkscope(multi_run, '--launcher', 'srun')}", "--ntasks=2")
    wait_until(lambda: Path("a.jsonl").exists() and len(multi_run.statuses) >= 2)
    slurm.ask("scancel", "--batch", "--signal=TERM", job)
    wait_until(slurm.has_no_jobs)
    assert [multi_run.records[-1][name] for name in ("record", "when")] == ["state", "interrupted"]
    multi_run.faults()
    assert multi_run.bench.cli("run", "--launcher", "srun", "--resume", "-o", "a.jsonl").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")


def test_a_cancelled_job_leaves_nobody(multi_run: MultiRun, slurm: PrivateSlurm) -> None:
    multi_run.faults(**{"r1_/16KiB": "stop"})
    job = batch(multi_run, slurm, linkscope(multi_run), "--ntasks=2")
    wait_until(lambda: Path("a.jsonl").exists() and len(multi_run.statuses) >= 2)
    slurm.ask("scancel", job)
    wait_until(lambda: slurm.has_no_jobs() and not multi_run.engines())
    assert [multi_run.statuses[one] for one in IDS[:2]] == ["ok", "ok"]
    _clear(multi_run)


def test_a_killed_linkscope_takes_step_and_ranks_along(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/16KiB": "hang"})
    process = multi_run.start("--launcher", "srun")
    multi_run.await_rows(process, 2)
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: not multi_run.engines())
    _clear(multi_run)


def test_started_as_ranks_linkscope_leads_from_rank_0(multi_run: MultiRun) -> None:
    process = multi_run.start(method="mpi", before=["srun", "--ntasks=2"])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    assert [group["launcher"] for group in multi_run.groups] == ["inside"]


def test_a_rank_killed_inside_a_step_is_named_and_the_rest_waits_for_another_job(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/8KiB": "kill"})
    process = multi_run.start(method="mpi", before=["srun", "--ntasks=2", "--kill-on-bad-exit=0"])
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert Path("a.jsonl").exists(), out + err
    assert multi_run.statuses[IDS[0]] == "ok"
    assert re.match(rf"rank 1 \(host {HOST}\)", multi_run.reasons[IDS[1]])
    assert "--resume in another job" in multi_run.reasons[IDS[2]]


def _clear(multi_run: MultiRun) -> None:
    """What a linkscope that was killed could not remove."""
    for folder in multi_run.bench.folder.glob("linkscope-*"):
        for path in sorted(folder.rglob("*"), reverse=True):
            path.unlink()
        folder.rmdir()
