"""Survey: who looks at a host, what the supervisor hears of it, and that the engine starts either way."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscope.launch.engines import PYTHON_VARIABLE, surroundings
from linkscope.launch.group.control import Control, Event, SurveyedHost
from linkscope.launch.launcher import survey
from linkscope.machine.node import Node

ENGINE = ("/bin/sh", "-c", "echo became the engine")


@pytest.fixture
def control() -> Iterator[Control]:
    listening = Control(2, "1.0", "host")
    yield listening
    listening.close()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({survey.KNOWN_VARIABLE: "elsewhere"}, True),
        ({survey.KNOWN_VARIABLE: f"elsewhere,{platform.node()}"}, False),
        ({survey.KNOWN_VARIABLE: "", "MPI_LOCALRANKID": "0"}, True),
        ({survey.KNOWN_VARIABLE: "", "MPI_LOCALRANKID": "1"}, False),
        ({survey.KNOWN_VARIABLE: "", "SLURM_LOCALID": "3"}, False),
    ],
)
def test_the_first_process_of_an_unknown_host_looks_at_it(environment: dict[str, str], wanted: bool) -> None:
    assert survey.is_wanted(environment) == wanted


def become_engine(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(
        [*survey.COMMAND, *ENGINE], env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_supervisor_hears_of_the_host_before_its_engine_starts(
    control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no engine is built there, the kernel's word is what is told."""
    events: list[Event] = []
    monkeypatch.setenv("LINKSCOPE_ENGINE_DIR", str(tmp_path))
    ended: list[subprocess.CompletedProcess[str]] = []
    variables = {**control.variables, **survey.known(["elsewhere"])}
    process = threading.Thread(target=lambda: ended.append(become_engine(variables)))
    process.start()
    while process.is_alive():
        events += control.poll(0.05)
    assert ended[0].stdout == "became the engine\n", ended[0].stderr
    (seen,) = events
    assert isinstance(seen, SurveyedHost)
    assert seen.host == platform.node()


def test_without_a_supervisor_the_engine_starts_all_the_same() -> None:
    ended = become_engine({"LINKSCOPE_CONTROL": "127.0.0.1:1", "LINKSCOPE_TOKEN": "x", **survey.known([])})
    assert ended.stdout == "became the engine\n"
    assert "no survey" in ended.stderr


def test_what_was_seen_arrives_as_a_node(control: Control, monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"devices": [{"id": "numa:0", "name": "CPU", "memory_bytes": 1 << 34, "cpus": [0]}]}
    monkeypatch.setattr("linkscope.launch.engines.machine_description", lambda: described)
    teller = threading.Thread(target=survey.tell, args=(control.variables,))
    teller.start()
    events: list[Event] = []
    while not events:
        events = control.poll(0.05)
    teller.join()
    (seen,) = events
    assert isinstance(seen, SurveyedHost)
    assert seen.host == platform.node()
    assert isinstance(seen.node, Node)
    assert [device.id for device in seen.node.of_kind("numa")] == ["numa:0"]
    assert sorted(cpu for core in seen.cores for cpu in core) == sorted(os.sched_getaffinity(0))


def test_engines_are_told_where_this_pythons_packages_are() -> None:
    folders = surroundings({})[PYTHON_VARIABLE].split(":")
    assert folders[0] == sys.prefix
    assert surroundings({PYTHON_VARIABLE: "/opt/x"})[PYTHON_VARIABLE] == "/opt/x"
