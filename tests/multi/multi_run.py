"""MultiRun: linkscope run with several processes, and what is found of them afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from launching import Bench, Ended, statuses

from linkscope.results.run_file import RunFile

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
MPIS = ("mpich", "openmpi")
SUITE = """
name: pair
answers: Do processes work together?
rows:
  - name: copy
    title: Copies
    pattern: first-device
    source: {{on: numa, memory: pageable}}
    destination: {{on: numa, memory: pageable}}
    method: {method}
    executor: source
    processes: each
    sizes: 4K:32K:2x
    show: curve
"""
IDS = [f"pair/copy/numa:0/{size}KiB" for size in (4, 8, 16, 32)]
DEADLINE_S = 60.0


@dataclass
class MultiRun:
    """A bench and what runs on it. Runs write a.jsonl."""

    bench: Bench
    monkeypatch: pytest.MonkeyPatch

    def suite(self, method: str = "memcpy") -> str:
        """Four cases between two processes, by a method that needs MPI's own launcher (mpi) or none (memcpy)."""
        path = self.bench.folder / f"pair-{method}.yaml"
        path.write_text(SUITE.format(method=method))
        return str(path)

    def faults(self, **of: str) -> None:
        """What goes wrong, as fake_join.py spells it: rank_1={"8KiB": "kill"} is given as r1_8KiB="kill"."""
        spelt = {f"{name[1]}:{name[3:]}": fault for name, fault in of.items()}
        self.monkeypatch.setenv("FAKE_JOIN", json.dumps(spelt))

    def run(self, *arguments: str, method: str = "memcpy") -> Ended:
        """linkscope run in this process."""
        return self.bench.cli("run", self.suite(method), "-o", "a.jsonl", *arguments)

    def start(self, *arguments: str, method: str = "memcpy", before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """linkscope run in a process of its own, started by ``before``."""
        command = [
            *before,
            sys.executable,
            "-m",
            "linkscope",
            "run",
            self.suite(method),
            "-o",
            "a.jsonl",
            "--rounds",
            "1",
            *arguments,
        ]
        return subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_heed_signals,
        )

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """Kills linkscope itself, waits until its engines are gone, and removes the folder that it no longer could."""
        process.kill()
        process.communicate(timeout=60)
        wait_until(lambda: not self.engines())
        for folder in self.bench.folder.glob("linkscope-*"):
            shutil.rmtree(folder)

    def await_rows(self, process: subprocess.Popen[str], count: int) -> None:
        """Until the run file holds so many rows. Fails where ``process`` ends before."""
        wait_until(lambda: process.poll() is not None or (Path("a.jsonl").exists() and len(self.statuses) >= count))
        assert process.poll() is None, process.communicate()

    @property
    def records(self) -> list[Json]:
        return self.bench.records(Path("a.jsonl"))

    @property
    def statuses(self) -> dict[str, str]:
        return statuses(self.records)

    @property
    def reasons(self) -> dict[str, str]:
        """Of every row that is not ok, by its id."""
        rows = RunFile.read("a.jsonl").rows
        return {row.id: row.reason or "" for row in rows if row.status != "ok"}

    @property
    def causes(self) -> dict[str, list[tuple[str, list[int]]]]:
        """How, and which ranks: of every row that is not ok and says so, by its id. Their words are in its reason."""
        told = [row for row in self.records if row.get("record") == "row" and "causes" in row]
        assert all(cause["words"] in row["reason"] for row in told for cause in row["causes"])
        return {row["id"]: [(cause["how"], cause["ranks"]) for cause in row["causes"]] for row in told}

    @property
    def groups(self) -> list[Json]:
        """The records of processes that came together."""
        return [record for record in self.records if record.get("when") == "joined"]

    @property
    def joined(self) -> list[Json]:
        """What the fake engines noted of themselves."""
        log = Path(os.environ["FAKE_LOG"])
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def engines(self) -> list[int]:
        """Processes of this bench's engines that still run."""
        return [pid for pid in processes() if str(self.bench.engines) in command_of(pid)]

    def started(self) -> list[int]:
        """Processes that this bench's run started, a launcher's too, and that still run: they have its TMPDIR."""
        mine = f"TMPDIR={self.bench.folder}".encode()
        return [pid for pid in processes() if mine in environment_of(pid)]

    def leftovers(self) -> list[str]:
        """Files that a run has no business leaving: rendezvous files and folders of its own."""
        return sorted(path.name for path in self.bench.folder.iterdir() if "linkscope-" in path.name)


def _heed_signals() -> None:
    """A shell starts what is in the background with SIGINT ignored, and so would all that this starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def mpiexec_of(name: str) -> Path | None:
    """mpiexec in the environment of that MPI."""
    folder = Path(os.environ.get("LINKSCOPE_TEST_MPI", ROOT / "build" / "mpi"))
    program = folder / name / "bin" / "mpiexec"
    return program if program.exists() else None


def processes() -> list[int]:
    """Every process that runs; what is only a name that nobody has asked for yet does not count."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _runs(path)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def environment_of(pid: int) -> list[bytes]:
    """The variables that the process was started with."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def mapped_by_anyone() -> set[Path]:
    """Segments of shared memory that a process which runs has mapped."""
    return {path for pid in processes() for path in mapped_by(pid)}


def mapped_by(pid: int) -> set[Path]:
    """Segments of shared memory that the process has mapped."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return set()
    return {Path(line.split()[-1]) for line in maps.splitlines() if " /dev/shm/" in line}


def wait_until(true: Callable[[], bool]) -> None:
    """Polls; fails after a minute."""
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come true within a minute"
        time.sleep(0.01)


def _runs(path: Path) -> bool:
    try:
        return (path / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
