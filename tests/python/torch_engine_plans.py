"""Plans for the torch engine, the engine called, and groups of its processes. For tests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from result_schema import validate

from linkscope.torch_engine import installation

Json = dict[str, Any]

SOURCE = Path(__file__).resolve().parents[2] / "python"
PATIENCE_S = 120
QUICK = {"max_samples": 6, "point_budget_s": 0.05, "precision": 0.5}


@pytest.fixture(scope="module")
def torch() -> Any:
    """The module. Skips with the engine's own reason where there is none."""
    problem = installation.distributed_problem()
    if problem:
        pytest.skip(problem)
    import torch as module

    return module


def environment(**added: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LINKSCOPE_", "PMI", "OMPI_"))}
    return {**kept, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", **added}


def engine(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "linkscope.torch_engine", *map(str, arguments)]
    used = dict(env or environment())
    return subprocess.run(command, env=used, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def end(rank: int = 0, device: str = "numa:0", memory: str = "pageable") -> Json:
    return {"device": device, "memory": memory, "rank": rank}


def case(name: str, *flows: Json, clock: str = "host", cache: str = "warm") -> Json:
    return {"id": name, "clock": clock, "cache": cache, "flows": list(flows)}


def plan(*cases: Json, **options: Any) -> Json:
    return {"schema": 1, "options": {**QUICK, **options}, "cases": list(cases)}


class RankGroup:
    """Processes that join, and the connections by which they are told what to do. ``added``: to their environment."""

    def __init__(self, size: int, launcher: Sequence[str] = (), **added: str) -> None:
        self.size = size
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(PATIENCE_S)
        control = f"127.0.0.1:{self._listener.getsockname()[1]}"
        env = environment(LINKSCOPE_CONTROL=control, LINKSCOPE_TOKEN="secret", **added)
        command = [sys.executable, "-m", "linkscope.torch_engine", "join"]
        if launcher:
            self.processes = [subprocess.Popen([*launcher, *command], env=env, stderr=subprocess.PIPE)]
        else:
            ranks = [{**env, "LINKSCOPE_RANK": str(rank)} for rank in range(size)]
            self.processes = [subprocess.Popen(command, env=one, stderr=subprocess.PIPE) for one in ranks]
        self.hellos: dict[int, Json] = {}
        self._connections: dict[int, socket.socket] = {}
        self._lines: dict[int, Iterator[bytes]] = {}
        for _ in range(size):
            self._greet()

    def _greet(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        lines = iter(connection.makefile("rb"))
        hello = json.loads(next(lines))
        validate(hello)
        assert hello["token"] == "secret"
        self.hellos[hello["rank"]], self._connections[hello["rank"]] = hello, connection
        self._lines[hello["rank"]] = lines

    @property
    def hub(self) -> tuple[str, int]:
        return "127.0.0.1", self.hellos[0]["root_port"]

    def begin(self, work: Json, other_work: Json | None = None, limit_s: float = 60) -> None:
        """``other_work``: what ranks other than 0 are given."""
        hub = "{}:{}".format(*self.hub)
        for rank, connection in self._connections.items():
            own = (other_work if rank else None) or work
            message = {"plan": own, "rank": rank, "size": self.size, "root": hub, "limit_s": limit_s}
            connection.sendall(json.dumps(message).encode() + b"\n")

    def record(self, rank: int) -> Json | None:
        """The next one, which validates; None at their end."""
        line = next(self._lines[rank], None)
        if line is None:
            return None
        record: Json = json.loads(line)
        validate(record)
        return record

    def records(self, rank: int) -> list[Json]:
        return list(iter(lambda: self.record(rank), None))

    def hang_up(self) -> None:
        for connection in self._connections.values():
            connection.shutdown(socket.SHUT_RDWR)

    def codes(self) -> list[int]:
        return [process.wait(PATIENCE_S) for process in self.processes]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
        for connection in (*self._connections.values(), self._listener):
            connection.close()
