"""Groups by a real mpiexec, of each MPI at hand: the same promises as on one's own, ranks of which one is odd (with
the real engine), and what a launcher can do wrong.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import add_engine
from multi_run import IDS, MultiRun, command_of, wait_until

from linkscope import __version__
from linkscope.results.run_file import SCHEMA

HOST = socket.gethostname()
MEND = "build all from one version"
ROOT_FLAG = {"openmpi": ["--allow-run-as-root"]}


@pytest.fixture(autouse=True)
def nothing_is_left(multi_run: MultiRun, mpiexec: Path) -> Iterator[None]:
    """No engine, no part of the launcher, no file."""
    yield
    home = str(mpiexec.parent)
    wait_until(lambda: not multi_run.engines() and not [pid for pid in multi_run.started() if home in command_of(pid)])
    assert multi_run.leftovers() == []


@pytest.fixture(autouse=True)
def on_path(multi_run: MultiRun, mpiexec: Path) -> None:
    """Found as a user's is; as root it is told to run as root by linkscope itself."""
    multi_run.monkeypatch.setenv("PATH", f"{mpiexec.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def odd_engine(multi_run: MultiRun, real_engine: Path) -> Callable[..., None]:
    """The real engine for all ranks, of which one differs, as odd_engine.py spells it."""
    add_engine(multi_run.bench.engines, "host", Path(__file__).with_name("odd_engine.py"))
    multi_run.monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", str(multi_run.bench.engines))

    def differ(rank: int, **how: dict[str, Any]) -> None:
        multi_run.monkeypatch.setenv("ODD_ENGINE", json.dumps({"engine": str(real_engine), "rank": rank, **how}))

    return differ


def test_cases_that_call_mpi_are_started_by_mpiexec(multi_run: MultiRun) -> None:
    assert multi_run.run(method="mpi").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    (group,) = multi_run.groups
    assert group["launcher"] == "mpiexec"
    assert sorted(one["pid"] for one in multi_run.joined) == sorted(one["pid"] for one in group["processes"])
    assert {tuple(one["cpus"]) for one in multi_run.joined} == {tuple(one["cpus"]) for one in group["processes"]}


def test_what_is_done_for_root_is_said(multi_run: MultiRun, mpiexec: Path) -> None:
    ended = multi_run.run(method="mpi")
    said = ("run as root" in ended.err, bool(multi_run.groups[0]["notes"]))
    assert said == (("openmpi" in str(mpiexec) and os.geteuid() == 0),) * 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_and_the_rest_goes_on(multi_run: MultiRun, rank: int) -> None:
    """With the signal, where the launcher tells of this rank and not of one that ended for its sake."""
    multi_run.faults(**{f"r{rank}_/8KiB": "kill"})
    assert multi_run.run(method="mpi").code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert re.match(rf"rank {rank} \(host {HOST}\) (died of SIGKILL|is gone)", multi_run.reasons[IDS[1]])
    assert len(multi_run.groups) == 2


def test_a_stopped_rank_is_named_and_none_of_them_is_left(multi_run: MultiRun) -> None:
    multi_run.monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 1.0)
    multi_run.faults(**{"r0_/8KiB": "stop"})
    assert multi_run.run(method="mpi").code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank 0 (host {HOST}) (it is stopped) hung")


def test_what_is_exported_reaches_every_rank(multi_run: MultiRun) -> None:
    multi_run.monkeypatch.setenv("LINKSCOPE_SEED", "77")
    multi_run.run(method="mpi")
    assert [one["seed"] for one in multi_run.joined] == ["77", "77"]


def test_the_mpi_of_the_mpiexec_asked_for_is_what_the_offer_and_every_rank_see(
    multi_run: MultiRun, mpiexec: Path
) -> None:
    multi_run.monkeypatch.setenv("FAKE_NO_MPI", "1")
    multi_run.monkeypatch.delenv("LINKSCOPE_MPI", raising=False)
    home = multi_run.bench.folder / "mpi"
    named, library = home / "bin" / "mpiexec", home / "lib" / "libmpi_abi.so.1"
    for path in (named, library):
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\nexec {mpiexec} "$@"\n')
    named.chmod(named.stat().st_mode | stat.S_IXUSR)
    assert "no MPI library" in multi_run.run("--dry-run", method="mpi").out
    assert "skipped" not in multi_run.run("--dry-run", "--launcher-command", str(named), method="mpi").out
    assert multi_run.run("--launcher-command", str(named), method="mpi").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    assert [one["mpi"] for one in multi_run.joined] == [str(library)] * 2


def test_a_launcher_that_starts_one_too_few_is_found_out(multi_run: MultiRun, mpiexec: Path) -> None:
    multi_run.monkeypatch.setattr("linkscope.launch.scheduler.START_TIMEOUT_S", 5.0)
    stingy = multi_run.bench.folder / "stingy"
    stingy.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {mpiexec} --version\nshift 2\nexec {mpiexec} -n 1 "$@"\n'
    )
    stingy.chmod(stingy.stat().st_mode | stat.S_IXUSR)
    assert multi_run.run("--launcher-command", str(stingy), method="mpi").code == 1
    (reason,) = set(multi_run.reasons.values())
    assert reason == f"rank 1 of 2 never started; on {HOST} the others did: no word within 5 s of starting mpiexec"


def reason_of_all(multi_run: MultiRun) -> str:
    """Why every case failed, in a run that is over long before a process is given up that does not come."""
    process = multi_run.start(method="mpi")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert multi_run.statuses == dict.fromkeys(IDS, "failed")
    (reason,) = set(multi_run.reasons.values())
    return reason


@pytest.mark.parametrize(
    ("rank", "hello", "words"),
    [
        (0, {"version": "0.0.9"}, f"runs an engine of version 0.0.9, the one here is {__version__}: {MEND}"),
        (1, {"schema": 7}, f"speaks schema 7, this linkscope {SCHEMA}: {MEND}"),
        (1, {"backend": "cuda"}, "runs the cuda engine, the others the host engine: see --engine"),
    ],
    ids=["version", "schema", "engine"],
)
def test_a_rank_of_another_build_is_named_with_what_differs(
    multi_run: MultiRun, odd_engine: Callable[..., None], rank: int, hello: dict[str, Any], words: str
) -> None:
    odd_engine(rank, hello=hello)
    assert reason_of_all(multi_run) == f"rank {rank} (host {HOST}) {words}"


def told_apart(what: str) -> str:
    """What the ranks say, either of them first, who find out that they were given different things."""
    one, zero = (rf"rank {rank} \(host {re.escape(HOST)}\)" for rank in (1, 0))
    mend = "every process must be given the same plan and the same engine"
    return rf"(?:{zero}: )?{one} has {what} (?P<one>\w+), {zero} has (?P<zero>\w+): {mend}"


def test_ranks_with_different_plans_find_it_out(multi_run: MultiRun, odd_engine: Callable[..., None]) -> None:
    """The supervisor cannot see it: it has given them all the same."""
    odd_engine(0, plan={"memory_limit_bytes": 1 << 30})
    found = re.fullmatch(told_apart("plan"), reason_of_all(multi_run))
    assert found is not None
    assert found["one"] != found["zero"]


def test_ranks_with_different_seeds_find_it_out(multi_run: MultiRun, odd_engine: Callable[..., None]) -> None:
    multi_run.monkeypatch.setenv("LINKSCOPE_SEED", "5")
    odd_engine(1, environment={"LINKSCOPE_SEED": "77"})
    found = re.fullmatch(told_apart("LINKSCOPE_SEED"), reason_of_all(multi_run))
    assert found is not None
    assert (found["zero"], found["one"]) == ("5", "77")


def test_the_engine_that_stands_in_for_odd_ones_is_sound(multi_run: MultiRun, odd_engine: Callable[..., None]) -> None:
    """What is handed on unchanged ends well: the tests above fail for what they change."""
    odd_engine(1, hello={}, plan={})
    assert multi_run.run(method="mpi").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")


def test_a_launcher_that_fails_is_quoted(multi_run: MultiRun, mpiexec: Path) -> None:
    assert multi_run.run("--launcher-command", f"{mpiexec} --no-such-option", method="mpi").code == 1
    (reason,) = set(multi_run.reasons.values())
    assert reason.startswith("mpiexec ended with exit code ")
    assert "no-such-option" in reason


def test_a_killed_linkscope_takes_launcher_and_ranks_along(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/16KiB": "hang"})
    process = multi_run.start(method="mpi")
    multi_run.await_rows(process, 2)
    multi_run.kill(process)


def test_a_stop_signal_is_heeded_at_once_where_the_launcher_ignores_it(multi_run: MultiRun, mpiexec: Path) -> None:
    """And does not end when its processes have: what ends a job may allow no more than five seconds."""
    stubborn = multi_run.bench.folder / "stubborn"
    version = f'[ "$1" = --version ] && exec {mpiexec} --version'
    stubborn.write_text(f"#!/bin/sh\n{version}\ntrap '' TERM\n{mpiexec} \"$@\"\nsleep 600\n")
    stubborn.chmod(stubborn.stat().st_mode | stat.S_IXUSR)
    multi_run.faults(**{"r1_/16KiB": "hang"})
    process = multi_run.start("--launcher-command", str(stubborn), method="mpi")
    multi_run.await_rows(process, 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=5)
    assert process.returncode == 130, err
    assert list(multi_run.statuses.values()) == ["ok", "ok"]
    assert f"`linkscope run --launcher-command {stubborn} --resume -o a.jsonl` completes the run" in err


def test_a_rank_of_a_job_may_leave_after_rank_0(multi_run: MultiRun, mpiexec: Path) -> None:
    """Its supervisor stays until it has: without one it would end as if that had died."""
    before = [str(mpiexec), *ROOT_FLAG.get(mpiexec.parent.parent.name.split("-")[0], []), "-n", "2"]
    multi_run.faults(r1_done="linger")
    process = multi_run.start(method="mpi", before=before)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err


def test_started_as_ranks_linkscope_leads_from_rank_0(multi_run: MultiRun, mpiexec: Path) -> None:
    before = [str(mpiexec), *ROOT_FLAG.get(mpiexec.parent.parent.name.split("-")[0], []), "-n", "2"]
    process = multi_run.start(method="mpi", before=before)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    (group,) = multi_run.groups
    assert group["launcher"] == "inside"
    if group["notes"]:  # bound by its launcher, as the notes say
        allowed = {one["rank"]: one["allowed"] for one in multi_run.joined}
        assert {one["rank"]: one["cpus"] for one in group["processes"]} == allowed
    assert "4 cases" in out  # rank 0 alone prints the screen


def test_as_many_ranks_as_no_case_wants_are_refused(multi_run: MultiRun, mpiexec: Path) -> None:
    flags = ROOT_FLAG.get(mpiexec.parent.parent.name.split("-")[0], [])
    before = [str(mpiexec), *flags, "-n", "3", *(["--oversubscribe"] if flags else [])]
    process = multi_run.start(method="mpi", before=before)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "no case here has 3 processes" in err
    assert not Path("a.jsonl").exists()
