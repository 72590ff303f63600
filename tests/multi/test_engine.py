"""The real engine, the real MPIs: messages between two processes, a killed rank, and what is left of it all."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from company import Company, command_of, mapped_by_anyone, wait_until

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import choose_engine, describe
from linkscope.launch.shared_memory import FOLDER

HOST = socket.gethostname()
ENGINE_DIRECTORY = os.environ.get("LINKSCOPE_ENGINE_DIR")


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


def test_a_killed_linkscope_leaves_no_engine_behind(company: Company, segments: Callable[[], set[Path]]) -> None:
    """Of shared memory it can leave what MPI leaves of killed ranks: nobody is there to remove it."""
    process = company.start("--precision", "0.1%", method="mpi")
    company.await_rows(process, 1)
    ranks = [one["pid"] for one in company.crews[0]["processes"]]
    process.kill()
    process.communicate(timeout=120)
    wait_until(lambda: not any("join" in command_of(pid) for pid in ranks))
    for segment in segments():
        segment.unlink(missing_ok=True)  # a rank that was slow to die may do so itself
