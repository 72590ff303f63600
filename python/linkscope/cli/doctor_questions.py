"""Doctor questions: what `doctor --peers` answers of this machine."""

from __future__ import annotations

import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.answers.answer import Answer
from linkscope.answers.peers import peers
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.launch.engines import machine_description
from linkscope.launch.run import RUNS
from linkscope.machine.discover import discover
from linkscope.machine.doctor import ON_PEERS, examine
from linkscope.machine.files import LiveFiles
from linkscope.machine.identity import read_identity
from linkscope.machine.node import Node
from linkscope.machine.peer_routes import peer_routes
from linkscope.machine.state import read_state
from linkscope.messages.catalog import problem
from linkscope.results.same_machine import same_machine

_NEWEST = 20
"""Run files that are looked at for one of this machine."""
_BY_PAIR = {"doctor.acs", "doctor.iommu-translates"}
"""Findings of GPUs that the routes have by pair."""


@dataclass(frozen=True)
class Here:
    """This machine as the header of a run would have it."""

    header: dict[str, Any]
    node: Node


def peers_here(run_file: Path | None) -> Answer:
    """Return the route of each pair of GPUs, with rates of ``run_file``, or of the newest run of this machine in runs/.
    Raises LinkscopeError, also for a run of another machine."""
    description = machine_description()
    node, state = discover(description), read_state(description)
    here = Here({"host": platform.node(), "identity": read_identity(description).to_json()}, node)
    run = Run.of(run_file) if run_file else _newest(here)
    if run_file and run and not same_machine(here, run):
        raise problem("peers.other-machine", path=str(run_file))
    settings = [found for found in examine(node, state, {}) if found.code in ON_PEERS - _BY_PAIR]
    return peers(node, peer_routes(node, state, LiveFiles(), description), settings, run)


def _newest(here: Here) -> Run | None:
    files = sorted(RUNS.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[:_NEWEST]:
        with suppress(LinkscopeError):
            run = Run.of(path)
            if not run.modelled and not run.pasted and same_machine(here, run):
                return run
    return None
