"""Groups on two hosts: network namespaces with addresses and names of their own, and an ssh that enters them.

What is shared all the same is the kernel: its memory, its files, its process numbers, its CPUs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from multi_run import IDS, ROOT, MultiRun, wait_until
from result_schema import validate

from linkscope.results.run_file import RunFile

ASKED = "LINKSCOPE_TEST_TWO_HOSTS"
AGENTS = {
    "mpich": ["-launcher", "ssh", "-launcher-exec", "{agent}"],
    "openmpi": ["--mca", "plm", "ssh", "--mca", "plm_ssh_agent", "{agent}"],
}


@dataclass(frozen=True)
class Hosts:
    """Two of them. ``enter``: what runs a command on the first; ``agent``: what takes the place of ssh."""

    names: tuple[str, str]
    enter: Path
    agent: Path

    def stop(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
            shutil.rmtree(Path("/etc/netns", name), ignore_errors=True)


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Skips unless asked for, since it makes network namespaces and /etc/netns, and where it may not make them."""
    if not os.environ.get(ASKED):
        pytest.skip(f"makes network namespaces for its time: {ASKED}=1 asks for it")
    names = (f"ls{os.getpid()}a", f"ls{os.getpid()}b")
    made = Hosts(names, tmp_path / "enter", tmp_path / "agent")
    _script(made.enter, f'exec ip netns exec {names[0]} unshare --uts sh -c \'hostname {names[0]}; exec "$@"\' sh "$@"')
    there = 'exec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"'
    _script(made.agent, f'while [ "${{1#-}}" != "$1" ]; do shift; done\nhost=$1\nshift\n{there}')
    try:
        try:
            _set_up(names)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or error
            pytest.skip(f"no network namespaces here: {str(said).strip()}")
        yield made
    finally:
        made.stop()


def _set_up(names: tuple[str, str]) -> None:
    near, far = (f"{name}v" for name in names)
    table = "127.0.0.1 localhost\n" + "".join(f"10.77.0.{i} {name}\n" for i, name in enumerate(names, 1))
    for name in names:
        _ip("netns", "add", name)
        Path("/etc/netns", name).mkdir(parents=True)
        Path("/etc/netns", name, "hosts").write_text(table)
        _ip("-n", name, "link", "set", "lo", "up")
    _ip("link", "add", near, "netns", names[0], "type", "veth", "peer", "name", far, "netns", names[1])
    for i, (name, link) in enumerate(zip(names, (near, far), strict=True), 1):
        _ip("-n", name, "addr", "add", f"10.77.0.{i}/24", "dev", link)
        _ip("-n", name, "link", "set", link, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def command(multi_run: MultiRun, hosts: Hosts, mpiexec: Path) -> list[str]:
    """linkscope run on the first host, told of both; either has slots for all of the processes."""
    multi_run.monkeypatch.setenv("PATH", f"{mpiexec.parent}{os.pathsep}{os.environ['PATH']}")
    multi_run.monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    flags = [word.format(agent=hosts.agent) for word in AGENTS[mpiexec.parent.parent.name]]
    launcher = [
        "--launcher-command",
        shlex.join([str(mpiexec), *flags]),
        "--hosts",
        ",".join(f"{name}:4" for name in hosts.names),
    ]
    run = [sys.executable, "-m", "linkscope", "run", multi_run.suite("mpi"), "-o", "a.jsonl", "--rounds", "1"]
    return [str(hosts.enter), *run, *launcher]


@pytest.fixture(autouse=True)
def nothing_is_left(multi_run: MultiRun) -> Iterator[None]:
    yield
    wait_until(lambda: not multi_run.engines())
    assert multi_run.leftovers() == []


def test_each_host_is_named_with_its_processes_its_topology_and_its_link(
    multi_run: MultiRun, hosts: Hosts, command: list[str]
) -> None:
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    assert {row.between for row in RunFile.read("a.jsonl").rows} == {hosts.names}
    (group,) = multi_run.groups
    validate(group)
    assert [one["host"] for one in group["processes"]] == list(hosts.names)
    assert [(one["a"], one["b"], one["kind"]) for one in group["links"]] == [
        (f"host:{hosts.names[0]}", f"host:{hosts.names[1]}", "network")
    ]
    assert any(note.startswith("one process on each host: mpiexec gets ") for note in group["notes"])
    (other,) = group["nodes"]
    assert other["host"] == hosts.names[1]
    assert [device["id"] for device in other["node"]["devices"]] == ["numa:0"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_and_fresh_processes_take_over(
    multi_run: MultiRun, command: list[str], rank: int
) -> None:
    multi_run.faults(**{f"r{rank}_/8KiB": "kill"})
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank {rank} (host ")
    assert len(multi_run.groups) == 2
    assert [len(group["nodes"]) for group in multi_run.groups] == [1, 0]


def test_a_killed_linkscope_leaves_nobody_on_either_host(multi_run: MultiRun, command: list[str]) -> None:
    multi_run.faults(**{"r1_/16KiB": "hang"})
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: Path("a.jsonl").exists() and len(multi_run.statuses) >= 2)
    multi_run.kill(process)


def test_a_launcher_that_is_told_to_fill_one_host_is_told_of(
    command: list[str], multi_run: MultiRun, hosts: Hosts
) -> None:
    place = command.index("--launcher-command") + 1
    filling = "--map-by slot" if "plm_ssh_agent" in command[place] else "-ppn 2"
    command[place] = f"{command[place]} {filling}"
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    told = f"all 2 processes run on {hosts.names[0]} although 2 hosts were named"
    assert told in " ".join(ended.stderr.split())
    (group,) = multi_run.groups
    assert {one["host"] for one in group["processes"]} == {hosts.names[0]}
    assert any(note.startswith(told) for note in group["notes"])
