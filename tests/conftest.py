"""For all tests in Python: nothing is kept in, or read from, the user's own folders."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

gc.set_threshold(100_000, 50, 100)  # the search for cycles took a tenth of the tests' time


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for caches and state."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--regenerate` writes the snapshots of tests/snapshots anew."""
    parser.addoption("--regenerate", action="store_true", help="write tests/snapshots anew")
