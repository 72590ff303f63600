"""Doctor questions: what `doctor --peers`, `--handles` and `--nccl` answer of this machine."""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.answers.answer import Answer
from linkscope.answers.handles import handles
from linkscope.answers.nccl import nccl, older, unavailable
from linkscope.answers.peers import peers
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.launch.engines import Engine, choose_engine, has_gpu, machine_description, surroundings
from linkscope.launch.handle_trial import try_handles
from linkscope.launch.process.scratch import Scratch
from linkscope.launch.process.trial import Trial, trial
from linkscope.launch.run import RUNS
from linkscope.machine.discover import discover
from linkscope.machine.doctor import ON_PEERS, examine
from linkscope.machine.files import LiveFiles
from linkscope.machine.identity import read_identity
from linkscope.machine.nccl_diagnostics import VARIABLE, diagnosis, has_diagnostics
from linkscope.machine.node import Node
from linkscope.machine.peer_routes import peer_routes
from linkscope.machine.state import read_state
from linkscope.machine.traits import method_of
from linkscope.messages.catalog import problem
from linkscope.results.same_machine import same_machine

_NEWEST = 20
"""Run files that are looked at for one of this machine."""
_BY_PAIR = {"doctor.acs", "doctor.iommu-translates"}
"""Findings of GPUs that the routes have by pair."""
_NCCL_LIMIT_S = 120.0


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


def handles_here() -> Answer:
    """Return which memory another process can map, tried now. Raises LinkscopeError."""
    vendor, lines, ended = try_handles(machine_description().get("versions", {}))
    return handles(vendor, lines, ended.status, ended.last_words)


def nccl_here() -> Answer:
    """Return what NCCL's own diagnostics find on all GPUs, run now by one small all-reduce. Raises LinkscopeError."""
    engine = choose_engine()
    library = next((name for name in ("nccl", "rccl") if name in engine.description.get("versions", {})), None)
    absent: dict[str, Any] = {"available": False, "reason": engine.gpu_problem or "no GPU engine"}
    collective = next(filter(_is_nccls, engine.description["methods"]), absent)
    gpus = [device["id"] for device in engine.description["devices"] if device["id"].startswith("gpu:")]
    if library is None or not collective["available"] or not has_gpu(engine.description):
        return unavailable(str(collective.get("reason") or engine.description.get("problem") or "no NCCL"))
    if len(gpus) < 2:
        return unavailable("one GPU has no peer")
    version = str(engine.description["versions"][library])
    if not has_diagnostics(version):
        return older(library.upper(), version)
    ended = _diagnosed(engine, diagnostics_plan(collective["name"], gpus))
    return nccl(library.upper(), version, diagnosis(ended.complaints), _reason(ended))


def _reason(ended: Trial) -> str:
    """Return why there may be no report: the time, the case's own reason, or the last complaint."""
    if ended.status is None:
        return f"killed after {_NCCL_LIMIT_S:.0f} s"
    stated = []
    for line in ended.printed.splitlines():
        with suppress(ValueError, KeyError, TypeError):
            stated.append(str(json.loads(line)["reason"]))
    return (stated or [ended.last_words or f"exit code {ended.status}"])[-1]


def _is_nccls(method: dict[str, Any]) -> bool:
    """Return whether a method of an engine's description is a collective of NCCL or RCCL."""
    return method_of(method["name"], method.get("traits")).by_xccl and "collective" in method.get("parameters", ())


def _diagnosed(engine: Engine, what: dict[str, Any]) -> Trial:
    """Run the engine, which sends what the library prints to standard error."""
    with Scratch() as scratch:
        plan = scratch.path / "plan.json"
        plan.write_text(json.dumps(what), encoding="utf-8")
        environment = {**surroundings(), **os.environ, VARIABLE: "1"}
        return trial([*engine.command, "run", str(plan)], environment, _NCCL_LIMIT_S)


def diagnostics_plan(method: str, gpus: list[str]) -> dict[str, Any]:
    """Return a plan of one small all-reduce on all GPUs in one process (schema/plan.schema.json)."""
    members = [{"device": gpu, "memory": "device"} for gpu in gpus]
    flow = {"method": method, "executor": gpus[0], "bytes": 1 << 20, "members": members}
    flow["parameters"] = {"collective": "all-reduce"}
    case = {"id": "doctor/nccl", "clock": "device", "cache": "warm", "point_budget_s": 0.1, "flows": [flow]}
    return {"schema": 1, "options": {"max_samples": 6}, "cases": [case]}
