"""Fixtures of the tests with several processes: places to run in, and the MPIs that are at hand.

LINKSCOPE_TEST_MPI names a folder of environments, one for each MPI, as tools/setup makes them in build/mpi.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import Bench, add_engine, bench
from multi_run import MPIS, MultiRun, mpiexec_of

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import choose_engine, describe

__all__ = ["bench"]

HERE = Path(__file__).parent
ENGINE_DIRECTORY = os.environ.get("LINKSCOPE_ENGINE_DIR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of two files at a time the two with most jobs of real MPIs, whose ranks keep both CPUs busy, are not beside each
    other, and what takes longest does not come last.
    """
    first = {"test_engine.py": 0, "test_mpiexec.py": 2}
    items.sort(key=lambda item: first.get(item.path.name, 3 if item.path.parent == HERE else 1))


@pytest.fixture
def multi_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> MultiRun:
    """A bench whose engine joins others and misbehaves as it is told; nothing it started is there afterwards."""
    add_engine(bench.engines, "host", Path(__file__).with_name("fake_join.py"))
    for name in [name for name in os.environ if name.startswith(("OMPI_", "PMI", "SLURM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FAKE_LOG", str(bench.folder / "joined"))
    monkeypatch.setenv("TMPDIR", str(bench.folder))
    return MultiRun(bench, monkeypatch)


@pytest.fixture(params=MPIS)
def mpiexec(request: pytest.FixtureRequest) -> Path:
    """mpiexec of each MPI. Skips where that is not installed."""
    found = mpiexec_of(str(request.param))
    if found is None:
        pytest.skip(f"no {request.param}: tools/setup --mpi installs it into build/mpi/{request.param}")
    return found


@pytest.fixture
def real_engine(multi_run: MultiRun, mpiexec: Path) -> Iterator[Path]:
    """The engine instead of the fake one, and the MPI that mpiexec belongs to. Skips where either is missing."""
    if ENGINE_DIRECTORY:
        multi_run.monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", ENGINE_DIRECTORY)
    else:
        multi_run.monkeypatch.delenv("LINKSCOPE_ENGINE_DIR")
    try:
        engine = choose_engine("host")
    except LinkscopeError as error:
        pytest.skip(str(error))
    abi = mpiexec.parent.parent / "lib" / "libmpi_abi.so.1"
    library = abi if abi.exists() else engine.path.parent / "liblinkscope-mpi-site.so"
    multi_run.monkeypatch.setenv("LINKSCOPE_MPI", str(library))
    multi_run.monkeypatch.setenv("PATH", f"{mpiexec.parent}{os.pathsep}{os.environ['PATH']}")
    describe.cache_clear()
    (method,) = [method for method in choose_engine("host").description["methods"] if method["name"] == "mpi"]
    if not method["available"]:
        pytest.skip(method["reason"])
    yield engine.path
    describe.cache_clear()
