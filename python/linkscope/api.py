"""What a notebook or a script gets from `import linkscope`: the same things as the command line."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from linkscope.launch.engines import machine_description
from linkscope.launch.job import Request
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.run import Listener
from linkscope.launch.run import resume as _resume
from linkscope.launch.run import run as _run
from linkscope.machine.described import load_machine, machine_names
from linkscope.machine.discover import discover
from linkscope.machine.node import Node
from linkscope.results.run_file import RunFile

_LAUNCHING = tuple(one.name for one in fields(LaunchOptions))

__all__ = ["Listener", "Node", "Request", "RunFile", "machines", "read", "resume", "run", "topology"]


def run(
    *suites: str, output: str | os.PathLike[str] | None = None, listener: Listener | None = None, **asked: str
) -> RunFile:
    """Measures ``suites`` ("default" where none is named) and returns the run file, read back.

    ``asked`` takes the words of `linkscope run`: devices="gpu:0,gpu:1", sizes="4K:1G:2x", methods=, precision="1%",
    budget="60s", rounds="3:6", clock=, machine=, engine=, and of how several processes are started: launcher=,
    launcher_command=, hosts=, hostfile=, interface=. Raises LinkscopeError.
    """
    launching = LaunchOptions(**{name: asked.pop(name) for name in _LAUNCHING if name in asked})
    request = Request(suites=suites or ("default",), launching=launching, **asked)
    return _run(request, Path(output) if output is not None else None, listener)


def resume(path: str | os.PathLike[str], listener: Listener | None = None) -> RunFile:
    """Completes a run that was cut short. Raises LinkscopeError where it is of another machine."""
    return _resume(Path(path), None, listener)


def read(path: str | os.PathLike[str]) -> RunFile:
    """The run at ``path``. Raises LinkscopeError where it is no run file."""
    return RunFile.read(path)


def topology(machine: str | None = None) -> Node:
    """This machine's node, engine or no engine, or the described one of that name. Raises LinkscopeError."""
    return load_machine(machine) if machine else discover(machine_description())


def machines() -> list[str]:
    """Names of the described nodes."""
    return list(machine_names())
