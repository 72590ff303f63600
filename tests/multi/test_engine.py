"""The real engine, the real MPIs: messages, also wrong ones, between two processes, a killed rank, and what is left."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from launching import Ended
from multi_run import IDS, ROOT, MultiRun, command_of, mapped_by, mapped_by_anyone, wait_until

from linkscope.launch.engines import choose_engine
from linkscope.launch.process.engine_process import parse_record
from linkscope.launch.process.shared_memory import FOLDER
from linkscope.results.run_file import RunFile

HOST = socket.gethostname()
pytestmark = pytest.mark.usefixtures("real_engine")
SUMS = """
name: sums
answers: What is added up, and is it right?
rows:
  - name: sum
    title: All-reduce
    collective: all-reduce
    members: {{on: numa, memory: pageable, count: 2}}
    pattern: all
    processes: each
    method: mpi-collective
    parameters: {{type: {types}}}
    sizes: {sizes}
    clock: host
    cache: warm
    show: list
"""


SHARED = """
name: shared
answers: Do messages go by memory that both processes map?
rows:
  - name: message
    title: Messages
    pattern: first-device
    source: {{on: numa, memory: shm}}
    destination: {{on: numa, memory: shm}}
    processes: each
    method: shm-copy
    executor: source
    parameters: {{call: {call}}}
    sizes: 0,8K,1M
    clock: host
    show: list
"""
FAILS, HANGS = -1, -2
LONG_CASES = ("--precision", "0.01%")
"""Options with which each of four cases takes a third of a second: long enough to be hit by a signal."""


def add_up(multi_run: MultiRun, types: str, sizes: str) -> Ended:
    """linkscope run of all-reduces of these types and sizes, between two processes."""
    suite = multi_run.bench.folder / "sums.yaml"
    suite.write_text(SUMS.format(types=types, sizes=sizes))
    return multi_run.bench.cli("run", str(suite), "-o", "a.jsonl")


@pytest.fixture
def false_mpi(multi_run: MultiRun, real_engine: Path) -> Callable[[int, int, int], None]:
    """Has what is of so many bytes arrive at that rank with a byte at that offset flipped, fail (FAILS) or never return
    (HANGS). Skips without a compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, adapter = Path(__file__).with_name("false_mpi.c"), multi_run.bench.folder / "false_mpi.so"
    includes = ["-I", str(ROOT / "engine")]
    subprocess.run([compiler, "-shared", "-fPIC", *includes, "-o", str(adapter), str(source), "-ldl"], check=True)

    def lie(rank: int, size: int, offset: int) -> None:
        real = Path(os.environ["LINKSCOPE_MPI"])
        if real.name.startswith("libmpi_abi"):
            multi_run.monkeypatch.setenv("FALSE_MPI_LIBRARY", str(real))
            real = real_engine.with_name("liblinkscope-mpi-abi.so")
        facts = {"ADAPTER": real, "RANK": rank, "BYTES": size, "OFFSET": offset}
        for name, value in facts.items():
            multi_run.monkeypatch.setenv(f"FALSE_MPI_{name}", str(value))
        multi_run.monkeypatch.setenv("LINKSCOPE_MPI", str(adapter))

    return lie


@pytest.fixture
def segments() -> Iterator[Callable[[], set[Path]]]:
    """Which segments of shared memory were made since and are used by nobody; there shall be none in the end."""
    before = set(FOLDER.iterdir())

    def left() -> set[Path]:
        return set(FOLDER.iterdir()) - before - mapped_by_anyone()

    yield left
    wait_until(lambda: not left())


@pytest.mark.usefixtures("segments")
def test_messages_go_between_two_processes(multi_run: MultiRun) -> None:
    ended = multi_run.run(method="mpi")
    assert ended.code == 0, ended.err
    rows = [record for record in multi_run.records if record["record"] == "row"]
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["flows"][0]["gbps"]["median"] > 0 for row in rows)
    assert all(row["verified"]["passes"] > 0 for row in rows)


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("call", ["send", "ping-pong"])
def test_messages_by_shared_memory_need_no_mpi(multi_run: MultiRun, call: str) -> None:
    multi_run.monkeypatch.delenv("LINKSCOPE_MPI", raising=False)
    suite = multi_run.bench.folder / "shared.yaml"
    suite.write_text(SHARED.format(call=call))
    ended = multi_run.bench.cli("run", str(suite), "-o", "a.jsonl")
    assert ended.code == 0, ended.err
    assert [group["launcher"] for group in multi_run.groups] == ["local"]
    rows = [record for record in multi_run.records if record["record"] == "row"]
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["flows"][0]["seconds"]["median"] > 0 for row in rows)
    assert [row["verified"]["bytes"] > 0 for row in rows] == [False, True, True], "the first message is empty"


@pytest.mark.usefixtures("segments")
def test_types_are_added_up_where_mpi_or_its_binding_has_them(multi_run: MultiRun, mpiexec: Path) -> None:
    ended = add_up(multi_run, "[float32, float16, bfloat16, int32]", "4K")
    assert ended.code == 0, ended.err
    ((absent, reason),) = multi_run.reasons.items()
    assert "bfloat16" in absent
    by_abi = os.environ["LINKSCOPE_MPI"].endswith("libmpi_abi.so.1")
    assert ("the standard ABI has no bfloat16" if by_abi else "its mpi.h has no bfloat16") in reason


@pytest.mark.usefixtures("segments")
def test_an_mpiexec_that_is_named_leads_to_its_mpi(multi_run: MultiRun, mpiexec: Path) -> None:
    """Nothing else says where that is: an MPI without the standard ABI has its adapter beside the engine."""
    multi_run.monkeypatch.delenv("LINKSCOPE_MPI")
    options = ("--launcher-command", str(mpiexec))
    if "openmpi" in str(mpiexec) and not (choose_engine("host").path.parent / "liblinkscope-mpi-site.so").exists():
        pytest.skip("the engine has no adapter to it")
    assert multi_run.run(*options, "--dry-run", method="mpi").code == 0
    ended = multi_run.run(*options, method="mpi")
    assert ended.code == 0, ended.err
    assert set(multi_run.statuses.values()) == {"ok"}
    name = "Open MPI" if "openmpi" in str(mpiexec) else "MPICH"
    rows = [record for record in multi_run.records if record["record"] == "row"]
    assert all(any(name in note for note in row["flows"][0]["notes"]) for row in rows)


def test_doctor_names_the_mpi_that_engines_load(multi_run: MultiRun, mpiexec: Path) -> None:
    told = " ".join(multi_run.bench.cli("doctor").out.split())
    assert re.search("Open MPI v[0-9]" if "openmpi" in str(mpiexec) else "MPICH Version: [0-9]", told), told


@pytest.mark.usefixtures("segments")
def test_a_message_that_arrives_wrong_fails_its_case_alone(
    multi_run: MultiRun, false_mpi: Callable[[int, int, int], None]
) -> None:
    """The same processes go on: nothing is wrong with them."""
    false_mpi(1, 8 << 10, 5001)
    ended = multi_run.run(method="mpi")
    assert ended.code == 1, ended.err
    assert multi_run.statuses == {**dict.fromkeys(IDS, "ok"), IDS[1]: "failed"}
    reason = rf"rank 1 \(host {re.escape(HOST)}\): byte 5001 of 8192( in slot 0 of \d+)? .* \[wrong-data\]"
    assert re.fullmatch(reason, multi_run.reasons[IDS[1]])
    assert len(multi_run.groups) == 1


@pytest.fixture
def long_limit(multi_run: MultiRun) -> None:
    """For the case that hangs the supervisor waits less long than the processes for one another, for others longer than
    a busy machine takes.
    """
    hangs_at = 8 << 10
    multi_run.monkeypatch.setattr(
        "linkscope.plan.budget.timeout_s",
        lambda case, options: 5.0 if case["flows"][0]["bytes"] == hangs_at else 60.0,
    )
    multi_run.monkeypatch.setattr("linkscope.launch.scheduler.exchange_limit_s", lambda cases: 60.0)


@pytest.mark.usefixtures("segments", "long_limit")
def test_what_mpi_says_to_a_rank_is_told_where_the_other_waits_for_it_in_vain(
    multi_run: MultiRun, false_mpi: Callable[[int, int, int], None]
) -> None:
    false_mpi(1, 8 << 10, FAILS)
    assert multi_run.run(method="mpi").code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    words = (
        rf"rank 1 \(host {re.escape(HOST)}\) failed: MPI_Send, MPI_Recv: .* \(16\); rank 0 \(host {re.escape(HOST)}\) "
    )
    assert re.fullmatch(words + "hung: no sign of life for 5 s; all 2 processes were killed", multi_run.reasons[IDS[1]])


@pytest.mark.usefixtures("segments", "long_limit")
def test_where_all_ranks_are_held_up_in_mpi_the_row_says_in_what(
    multi_run: MultiRun, false_mpi: Callable[[int, int, int], None]
) -> None:
    """Rank 0's call never returns, and the other's next one waits for it: nobody here knows whose fault that is."""
    false_mpi(0, 8 << 10, HANGS)
    assert add_up(multi_run, "int32", "4K:16K:2x").code == 1
    assert list(multi_run.statuses.values()) == ["ok", "failed", "ok"]
    (reason,) = multi_run.reasons.values()
    each = "; ".join(rf"rank {rank} \(host {re.escape(HOST)}\): threads: [^;]+" for rank in (0, 1))
    hung = rf"all 2 processes hung: none ended the case within 5 s \({each}\); they were killed"
    assert re.fullmatch(hung, reason), reason


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_the_others_wait_for_in_vain_is_named(multi_run: MultiRun, rank: int) -> None:
    """Rank 0, which writes the rows, like any other. It is stopped in a case of rank 0's: between two no row tells of
    it.
    """
    multi_run.monkeypatch.setattr("linkscope.launch.scheduler.exchange_limit_s", lambda cases: 2.0)
    stopped: list[int] = []

    def stop(line: bytes, whose: str) -> dict[str, Any]:
        record = parse_record(line, whose)
        if record["record"] == "start" and whose.startswith("rank 0 ") and not stopped:
            stopped.append(multi_run.groups[0]["processes"][rank]["pid"])
            os.kill(stopped[0], signal.SIGSTOP)
        return record

    multi_run.monkeypatch.setattr("linkscope.launch.group.process_group.parse_record", stop)
    ended = multi_run.run(*LONG_CASES)
    assert ended.code == 1, ended.err + ended.out
    assert list(multi_run.reasons.values()) == [f"rank {rank} (host {HOST}) has not come within 2 s"]


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_sum_that_is_wrong_at_one_rank_names_it(
    multi_run: MultiRun, false_mpi: Callable[[int, int, int], None], rank: int
) -> None:
    """The other one has the right sum; here the last element alone is wrong."""
    false_mpi(rank, 8 << 10, 8188)
    ended = add_up(multi_run, "int32", "4K:16K:2x")
    assert ended.code == 1, ended.err
    assert list(multi_run.statuses.values()) == ["ok", "failed", "ok"]
    ((wrong, reason),) = multi_run.reasons.items()
    assert wrong.endswith("/8KiB")
    assert (
        reason == f"rank {rank} (host {HOST}): all-reduce: byte 8188 of member {rank} on numa:0 is wrong [wrong-data]"
    )
    assert len(multi_run.groups) == 1


@pytest.mark.usefixtures("segments")
def test_started_as_ranks_the_engines_find_one_another(multi_run: MultiRun, mpiexec: Path) -> None:
    flags = ["--allow-run-as-root"] if "openmpi" in str(mpiexec) else []
    process = multi_run.start(method="mpi", before=[str(mpiexec), *flags, "-n", "2"])
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert set(multi_run.statuses.values()) == {"ok"}
    assert [group["launcher"] for group in multi_run.groups] == ["inside"]


@pytest.mark.usefixtures("segments")
def test_ranks_that_come_once_measure_once_whatever_rounds_are_asked_for(multi_run: MultiRun, mpiexec: Path) -> None:
    """So the run is complete: nothing of it is told as interrupted."""
    flags = ["--allow-run-as-root"] if "openmpi" in str(mpiexec) else []
    process = multi_run.start("--rounds", "3", method="mpi", before=[str(mpiexec), *flags, "-n", "2"])
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert "interrupted" not in out
    assert multi_run.records[0]["plan"]["rounds"] == {"least": 1, "most": 1}
    assert RunFile.read("a.jsonl").missing == ()


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_and_the_rest_goes_on(multi_run: MultiRun, rank: int) -> None:
    process = multi_run.start(*LONG_CASES, method="mpi")
    multi_run.await_rows(process, 1)
    os.kill(multi_run.groups[0]["processes"][rank]["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    ((_, reason),) = multi_run.reasons.items()
    assert re.match(rf"rank {rank} \(host {HOST}\)", reason)
    assert list(multi_run.statuses.values()).count("ok") == 3
    assert len(multi_run.groups) == 2


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("ranks", [(0,), (0, 1)])
def test_ranks_killed_in_the_first_case_leave_no_shared_memory(multi_run: MultiRun, ranks: tuple[int, ...]) -> None:
    """Of both at once nobody is left whose memory could be looked at afterwards."""
    process = multi_run.start(*LONG_CASES, method="mpi")
    before = set(FOLDER.iterdir())
    wait_until(lambda: Path("a.jsonl").exists() and bool(multi_run.groups))
    killed = [multi_run.groups[0]["processes"][rank]["pid"] for rank in ranks]

    def all_noted() -> bool:
        files = multi_run.bench.folder.glob("linkscope-*/segments")
        lines = (line for file in files for line in file.read_text().splitlines(keepends=True))
        noted = {FOLDER / json.loads(line)[0] for line in lines if line.endswith("\n")}
        left = {path for path in mapped_by(killed[0]) - before if path.exists()}  # some are unlinked by now
        return bool(noted) and left <= noted

    wait_until(lambda: all_noted() or process.poll() is not None)
    assert not multi_run.statuses
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert list(multi_run.statuses.values()).count("ok") == 3


def test_what_a_killed_linkscope_leaves_the_next_run_removes(
    multi_run: MultiRun, segments: Callable[[], set[Path]]
) -> None:
    """No engine; of shared memory what MPI leaves of killed ranks, and a folder."""
    process = multi_run.start(*LONG_CASES, method="mpi")
    multi_run.await_rows(process, 1)
    ranks = [one["pid"] for one in multi_run.groups[0]["processes"]]
    process.kill()
    process.communicate(timeout=120)
    wait_until(lambda: not any("join" in command_of(pid) for pid in ranks))
    assert multi_run.leftovers() != []
    again = multi_run.start(*LONG_CASES, "--resume", method="mpi")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    wait_until(lambda: not segments())
    assert multi_run.leftovers() == []
