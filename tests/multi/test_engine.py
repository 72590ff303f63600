"""The real engine, the real MPIs: messages between two processes, a killed rank, and what is left of it all."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from company import Company, command_of, mapped_by, mapped_by_anyone, wait_until

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import choose_engine, describe
from linkscope.launch.shared_memory import FOLDER

HOST = socket.gethostname()
ENGINE_DIRECTORY = os.environ.get("LINKSCOPE_ENGINE_DIR")
SUMS = """
name: sums
answers: Which types are added up?
rows:
  - name: sum
    title: All-reduce by type
    collective: all-reduce
    members: {on: numa, memory: pageable, count: 2}
    pattern: all
    processes: each
    method: mpi-collective
    parameters: {type: [float32, float16, bfloat16, int32]}
    sizes: 4K
    clock: host
    show: list
"""


@pytest.fixture(autouse=True)
def real_engine(company: Company, mpiexec: Path) -> Iterator[None]:
    """The engine instead of the fake one, and the MPI that mpiexec belongs to. Skips where either is missing."""
    if ENGINE_DIRECTORY:
        company.monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", ENGINE_DIRECTORY)
    else:
        company.monkeypatch.delenv("LINKSCOPE_ENGINE_DIR")
    try:
        engine = choose_engine("host")
    except LinkscopeError as error:
        pytest.skip(str(error))
    abi = mpiexec.parent.parent / "lib" / "libmpi_abi.so.1"
    library = abi if abi.exists() else engine.path.parent / "liblinkscope-mpi-site.so"
    company.monkeypatch.setenv("LINKSCOPE_MPI", str(library))
    company.monkeypatch.setenv("PATH", f"{mpiexec.parent}{os.pathsep}{os.environ['PATH']}")
    describe.cache_clear()
    (method,) = [method for method in choose_engine("host").description["methods"] if method["name"] == "mpi"]
    if not method["available"]:
        pytest.skip(method["reason"])
    yield
    describe.cache_clear()


@pytest.fixture
def segments() -> Iterator[Callable[[], set[Path]]]:
    """Which segments of shared memory were made since and are used by nobody; there shall be none in the end."""
    before = set(FOLDER.iterdir())

    def left() -> set[Path]:
        return set(FOLDER.iterdir()) - before - mapped_by_anyone()

    yield left
    wait_until(lambda: not left())


@pytest.mark.usefixtures("segments")
def test_messages_go_between_two_processes(company: Company) -> None:
    ended = company.run("--budget", "2s", method="mpi")
    assert ended.code == 0, ended.err
    rows = [record for record in company.records if record["record"] == "row"]
    assert {row["status"] for row in rows} == {"ok"}
    assert all(row["flows"][0]["gbps"]["median"] > 0 for row in rows)
    assert all(row["verified"]["rounds"] > 0 for row in rows)


@pytest.mark.usefixtures("segments")
def test_types_are_added_up_where_mpi_or_its_binding_has_them(company: Company, mpiexec: Path) -> None:
    suite = company.bench.folder / "sums.yaml"
    suite.write_text(SUMS)
    ended = company.bench.cli("run", str(suite), "-o", "a.jsonl", "--budget", "2s")
    assert ended.code == 0, ended.err
    ((absent, reason),) = company.reasons.items()
    assert "bfloat16" in absent
    by_abi = os.environ["LINKSCOPE_MPI"].endswith("libmpi_abi.so.1")
    assert ("the standard ABI has no bfloat16" if by_abi else "its mpi.h has no bfloat16") in reason


@pytest.mark.usefixtures("segments")
def test_an_mpiexec_that_is_named_leads_to_its_mpi(company: Company, mpiexec: Path) -> None:
    """Nothing else says where that lies: an MPI without the standard ABI has its adapter beside the engine."""
    company.monkeypatch.delenv("LINKSCOPE_MPI")
    options = ("--launcher-command", str(mpiexec), "--budget", "2s")
    if "openmpi" in str(mpiexec) and not (choose_engine("host").path.parent / "liblinkscope-mpi-site.so").exists():
        pytest.skip("the engine has no adapter to it")
    assert company.run(*options, "--dry-run", method="mpi").code == 0
    ended = company.run(*options, method="mpi")
    assert ended.code == 0, ended.err
    assert set(company.statuses.values()) == {"ok"}
    name = "Open MPI" if "openmpi" in str(mpiexec) else "MPICH"
    rows = [record for record in company.records if record["record"] == "row"]
    assert all(any(name in note for note in row["flows"][0]["notes"]) for row in rows)


@pytest.mark.usefixtures("segments")
def test_started_as_ranks_the_engines_find_one_another(company: Company, mpiexec: Path) -> None:
    flags = ["--allow-run-as-root"] if "openmpi" in str(mpiexec) else []
    process = company.start("--budget", "2s", method="mpi", before=[str(mpiexec), *flags, "-n", "2"])
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    assert set(company.statuses.values()) == {"ok"}
    assert [crew["launcher"] for crew in company.crews] == ["inside"]


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_and_the_rest_goes_on(company: Company, rank: int) -> None:
    process = company.start("--precision", "0.1%", method="mpi")
    company.await_rows(process, 1)
    os.kill(company.crews[0]["processes"][rank]["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    ((_, reason),) = company.reasons.items()
    assert re.match(rf"rank {rank} \(host {HOST}\)", reason)
    assert list(company.statuses.values()).count("ok") == 3
    assert len(company.crews) == 2


@pytest.mark.usefixtures("segments")
@pytest.mark.parametrize("ranks", [(0,), (0, 1)])
def test_ranks_killed_in_the_first_case_leave_no_shared_memory(company: Company, ranks: tuple[int, ...]) -> None:
    """Of both at once nobody is left whose memory could be looked at afterwards."""
    process = company.start("--precision", "0.01%", method="mpi")
    before = set(FOLDER.iterdir())
    wait_until(lambda: Path("a.jsonl").exists() and bool(company.crews))
    killed = [company.crews[0]["processes"][rank]["pid"] for rank in ranks]
    wait_until(lambda: bool(mapped_by(killed[0]) - before) or process.poll() is not None)
    time.sleep(0.05)
    assert not company.statuses
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert list(company.statuses.values()).count("ok") == 3


def test_what_a_killed_linkscope_leaves_the_next_run_removes(
    company: Company, segments: Callable[[], set[Path]]
) -> None:
    """No engine; of shared memory what MPI leaves of killed ranks, and a folder."""
    process = company.start("--precision", "0.1%", method="mpi")
    company.await_rows(process, 1)
    ranks = [one["pid"] for one in company.crews[0]["processes"]]
    process.kill()
    process.communicate(timeout=120)
    wait_until(lambda: not any("join" in command_of(pid) for pid in ranks))
    assert company.leftovers() != []
    again = company.start("--precision", "0.1%", "--resume", method="mpi")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    wait_until(lambda: not segments())
    assert company.leftovers() == []
