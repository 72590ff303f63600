"""For all tests in Python: nothing is kept in, or read from, the user's own folders."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

gc.set_threshold(100_000, 50, 100)  # the search for cycles took a tenth of the tests' time


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Places for homes, in a folder of their own: pytest reads the whole folder for each that it makes itself."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_folders(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for caches and state."""
    home = next(homes)
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--regenerate` writes the snapshots of tests/snapshots anew."""
    parser.addoption("--regenerate", action="store_true", help="write tests/snapshots anew")
