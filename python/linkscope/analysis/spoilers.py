"""Spoilers: what a run's figures may have suffered from, by the state of the machine before its first case."""

from __future__ import annotations

from linkscope.machine.doctor import examine
from linkscope.machine.state import MachineState
from linkscope.messages.finding import Finding, Level
from linkscope.results.run_stream import Run


def spoilers(run: Run) -> list[Finding]:
    """What the doctor finds in the recorded state (problems and warnings, not notes); none where the run
    recorded no state, as of a described node."""
    state, engine = run.header.get("state"), run.header.get("engine")
    if not state or not engine:
        return []
    found = examine(run.node, MachineState.from_json(state), {engine.get("backend", "unknown"): engine})
    return [one for one in found if one.level is not Level.NOTE]
