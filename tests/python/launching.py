"""Fixtures of the tests that start engines: a directory with fake ones, and the command line called in this process."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from linkscope.cli import main
from linkscope.launch.engines import find_engines

FAKE = Path(__file__).with_name("fake_engine.py")
TINY_SUITE = """
name: tiny
answers: Does the pipeline work?
rows:
  - name: copy
    title: Copies
    pattern: first-device
    source: {on: numa, memory: pageable}
    destination: {on: numa, memory: pageable}
    method: memcpy
    executor: source
    sizes: 4K:128K:2x
    show: curve
"""
PAIR_SUITE = """
name: pair
answers: What do copies between two GPUs reach?
rows:
  - name: copy
    title: Copies
    pattern: pairs
    source: {on: gpu, memory: device}
    destination: {on: gpu, memory: device}
    method: copy-engine
    executor: source
    sizes: 64M
    show: matrix
"""
TINY_IDS = [f"tiny/copy/numa:0/{size}KiB" for size in (4, 8, 16, 32, 64, 128)]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on standard error. Fails where there are more or none."""
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, self.err
        return lines[0]


@dataclass(frozen=True)
class Bench:
    """A place to run in: engines, a suite, and the faults they shall show."""

    folder: Path
    engines: Path
    suite: str
    cli: Callable[..., Ended]
    faults: Callable[[dict[str, str]], None]

    def records(self, path: Path) -> list[dict[str, Any]]:
        """All whole lines of a run file."""
        lines = path.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]


def add_engine(directory: Path, name: str, source: Path = FAKE) -> Path:
    """Puts a fake engine into ``directory``."""
    program = directory / f"linkscope-engine-{name}"
    program.write_text(f"#!{sys.executable}\n{source.read_text()}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.fixture(scope="module")
def real_engine() -> None:
    """Skip where no engine is built."""
    if not find_engines():
        pytest.skip("no engine is built")


BUILT = os.environ.get("LINKSCOPE_ENGINE_DIR")
"""Where the tests' own engines are built, if that is not the usual folder."""


def use_built_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a Bench start real engines in place of its fake one."""
    if BUILT is None:
        monkeypatch.delenv("LINKSCOPE_ENGINE_DIR")
    else:
        monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", BUILT)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """A fresh Bench with a fake host engine, in a directory of its own which is the current one; nobody else works."""
    engines = tmp_path / "engines"
    engines.mkdir()
    add_engine(engines, "host")
    suite = tmp_path / "tiny.yaml"
    suite.write_text(TINY_SUITE)
    monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", str(engines))
    monkeypatch.delenv("LINKSCOPE_DEBUG", raising=False)
    monkeypatch.setattr("linkscope.launch.job.neighbours", lambda node, state: [])
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.chdir(tmp_path)

    def cli(*arguments: str | Path) -> Ended:
        """The command line; a new run has one round unless it says how many."""
        if "run" in arguments and not {"--resume", "--rounds", "--machine"} & set(arguments):
            arguments = (*arguments, "--rounds", "1")
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = left.value.code
        return Ended(code if isinstance(code, int) else 0, captured.out, captured.err)

    def faults(of: dict[str, str]) -> None:
        monkeypatch.setenv("FAKE_ENGINE", json.dumps(of))

    return Bench(tmp_path, engines, str(suite), cli, faults)


def statuses(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Status by case id, the last row of a case counting."""
    return {record["id"]: record["status"] for record in records if record["record"] == "row"}
