"""Fixtures of the tests with several processes: places to run in, and the MPIs that are at hand.

LINKSCOPE_TEST_MPI names a folder of environments, one for each MPI, as tools/setup makes them in build/mpi.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from company import MPIS, Company, mpiexec_of
from launching import Bench, add_engine, bench

__all__ = ["bench"]


@pytest.fixture
def company(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Company:
    """A bench whose engine joins others and misbehaves as it is told; nothing it started is there afterwards."""
    add_engine(bench.engines, "host", Path(__file__).with_name("fake_join.py"))
    for name in [name for name in os.environ if name.startswith(("OMPI_", "PMI", "SLURM_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("FAKE_LOG", str(bench.folder / "joined"))
    monkeypatch.setenv("TMPDIR", str(bench.folder))
    return Company(bench, monkeypatch)


@pytest.fixture(params=MPIS)
def mpiexec(request: pytest.FixtureRequest) -> Path:
    """mpiexec of each MPI. Skips where that is not installed."""
    found = mpiexec_of(str(request.param))
    if found is None:
        pytest.skip(f"no {request.param}: tools/setup --mpi installs it into build/mpi/{request.param}")
    return found
