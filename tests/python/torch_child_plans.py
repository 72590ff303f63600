"""Plans of what Python carries out, the compiled engine called, and groups of its processes. For tests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from result_schema import validate

from linkscope.launch.engines import find_engines
from linkscope.torch_child import installation

Json = dict[str, Any]

SOURCE = Path(__file__).resolve().parents[2] / "python"
TIMEOUT_S = 120
QUICK = {"max_samples": 6, "point_budget_s": 0.05, "precision": 0.5}


@pytest.fixture(scope="module")
def torch() -> Any:
    """The module. Skips with the child's own reason where there is none."""
    problem = installation.loading_problem("distributed")
    if problem:
        pytest.skip(problem)
    import torch as module

    return module


def environment(**added: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LINKSCOPE_", "PMI", "OMPI_"))}
    own = {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "LINKSCOPE_PYTHON_PROGRAM": sys.executable}
    return {**kept, **own, **added}


def host_engine() -> str:
    """Its path. Skips where it is not built."""
    found = find_engines().get("host")
    if found is None:
        pytest.skip("no host engine is built")
    return str(found)


def run(tmp_path: Path, *cases: Json, env: Mapping[str, str] | None = None, code: int = 0) -> dict[str, Json]:
    """Rows by case id, all of which validate. Asserts that the engine ends with that exit code."""
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan(*cases)))
    ended = engine("run", path, env=env)
    assert ended.returncode == code, ended.stderr
    records = [json.loads(line) for line in ended.stdout.splitlines()]
    for record in records:
        validate(record)
    assert records[0]["record"] == "hello"
    if code == 0:
        assert records[-1] == {"record": "done", "rows": len(cases)}
    return {record["id"]: record for record in records if record["record"] == "row"}


def engine(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [host_engine(), *map(str, arguments)]
    used = dict(env or environment())
    return subprocess.run(command, env=used, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def copy(size: int, **changed: Any) -> Json:
    flow = {"method": "torch-copy", "executor": "numa:0", "bytes": size, "source": end(), "destination": end()}
    return {**flow, **changed}


def send(size: int, source: int = 0, destination: int = 1, method: str = "torch-send", **parameters: str) -> Json:
    return {
        "method": method,
        "executor": "numa:0",
        "rank": source,
        "bytes": size,
        "source": end(source),
        "destination": end(destination),
        "parameters": parameters,
    }


def collective(kind: str, size: int, members: Sequence[int] = (0, 1), **parameters: str | int) -> Json:
    """In place where it has no other way, unless ``parameters`` say."""
    flow: Json = {"method": "torch-collective", "executor": "numa:0", "bytes": size, "rank": members[0]}
    place = {"in_place": "yes"} if kind in ("all-reduce", "reduce", "broadcast") else {}
    said = {"collective": kind, **place, **parameters}
    return {**flow, "members": [end(rank) for rank in members], "parameters": said}


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
        self._listener.settimeout(TIMEOUT_S)
        control = f"127.0.0.1:{self._listener.getsockname()[1]}"
        env = environment(LINKSCOPE_CONTROL=control, LINKSCOPE_TOKEN="secret", **added)
        command = [host_engine(), "join"]
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
        connection.settimeout(TIMEOUT_S)
        lines = iter(connection.makefile("rb"))
        hello = json.loads(next(lines))
        validate(hello)
        assert hello["token"] == "secret"
        self.hellos[hello["rank"]], self._connections[hello["rank"]] = hello, connection
        self._lines[hello["rank"]] = lines

    @property
    def root(self) -> tuple[str, int]:
        return "127.0.0.1", self.hellos[0]["root_port"]

    def begin(self, work: Json, other_work: Json | None = None, limit_s: float = 60) -> None:
        """``other_work``: what ranks other than 0 are given."""
        root = "{}:{}".format(*self.root)
        for rank, connection in self._connections.items():
            own = (other_work if rank else None) or work
            message = {"plan": own, "rank": rank, "size": self.size, "root": root, "limit_s": limit_s}
            connection.sendall(json.dumps(message).encode() + b"\n")

    def record(self, rank: int) -> Json | None:
        """The next one behind the engine's hello, which validates; None at their end."""
        line = next(self._lines[rank], None)
        if line is None:
            return None
        record: Json = json.loads(line)
        validate(record)
        return self.record(rank) if record["record"] == "hello" else record

    def records(self, rank: int) -> list[Json]:
        return list(iter(lambda: self.record(rank), None))

    def hang_up(self) -> None:
        for connection in self._connections.values():
            connection.shutdown(socket.SHUT_RDWR)

    def codes(self) -> list[int]:
        return [process.wait(TIMEOUT_S) for process in self.processes]

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
        for connection in (*self._connections.values(), self._listener):
            connection.close()


def rows_of(ranks: RankGroup, work: Json) -> dict[str, Json]:
    """Rank 0's rows. Asserts that all processes say of every case that it began and ended, and end well."""
    ranks.begin(work)
    records = ranks.records(0)
    assert records[-1] == {"record": "done", "rows": len(work["cases"])}
    for rank in range(1, ranks.size):
        kinds = [record["record"] for record in ranks.records(rank) if record["record"] != "failure"]
        assert kinds == ["start", "end"] * len(work["cases"]) + ["done"]
    assert set(ranks.codes()) == {0}
    return {record["id"]: record for record in records if record["record"] == "row"}


@pytest.fixture
def ranks() -> Iterator[Callable[..., RankGroup]]:
    """Starts processes; whatever is left of them ends with the test."""
    started: list[RankGroup] = []

    def start(size: int, launcher: Sequence[str] = (), **added: str) -> RankGroup:
        started.append(RankGroup(size, launcher, **added))
        return started[-1]

    yield start
    for one in started:
        one.close()
