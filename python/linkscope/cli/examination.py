"""Examination: what would spoil a measurement on this machine, as an Answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linkscope.answers.answer import Answer, Outcome
from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.launch.engines import ENGINES, NO_DESCRIPTION, describe, find_engines, machine_description
from linkscope.launch.launcher.mpiexec import Mpiexec, find_mpiexec
from linkscope.machine.discover import discover
from linkscope.machine.doctor import ON_PEERS, examine, gravest_first
from linkscope.machine.node import Node
from linkscope.machine.state import read_state
from linkscope.messages.catalog import message
from linkscope.messages.finding import Finding, Level, error, note, warning


def examination() -> Answer:
    """Return what would spoil a measurement here; works without any engine, which is itself a finding."""
    found = find_engines()
    engines = {name: _described(name, found) for name in ENGINES}
    description = machine_description()
    node = discover(description)
    seen = examine(node, read_state(description), engines)
    findings = gravest_first([*seen, *_mpi(description.get("versions", {}))])
    return Answer("doctor", (), _headline(node, findings), _outcome(findings), tuple(findings), next=_next(findings))


def _headline(node: Node, findings: Sequence[Finding]) -> Finding:
    counts = Counter(finding.level for finding in findings)
    facts: dict[str, Any] = {"name": node.name, "gpus": len(node.of_kind("gpu"))}
    if counts[Level.ERROR]:
        return error("doctor.wrong", errors=counts[Level.ERROR], **facts)
    if counts[Level.WARNING]:
        return warning("doctor.noisy", warnings=counts[Level.WARNING], **facts)
    return note("doctor.ready", **facts)


def _outcome(findings: Sequence[Finding]) -> Outcome:
    return Outcome.FAILS if any(finding.level is Level.ERROR for finding in findings) else Outcome.HOLDS


def _next(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    if any(found.code in ON_PEERS and found.level is Level.WARNING for found in findings):
        return (note("doctor.next-peers"),)
    longer = [one.code for one in findings if one.level is not Level.NOTE and message(one.code).long]
    return (note("doctor.next-help", about=longer[0]) if longer else note("topology.run"),)


def _mpi(versions: Mapping[str, str]) -> Iterator[Finding]:
    """Yield which MPI the engine in use loads and what starts its processes; nothing where it has none."""
    if "MPI" not in versions:
        return
    mpi, library = escaped(versions["MPI"]), escaped(versions.get("MPI library", ""))
    mpiexec = find_mpiexec()
    if mpiexec is None:
        yield note("doctor.no-mpiexec", mpi=mpi, library=library)
        return
    other = _stranger(mpiexec, versions["MPI"])
    if other:
        yield warning("doctor.foreign-mpiexec", mpi=mpi, mpiexec=mpiexec, other=other)
    else:
        yield note("doctor.mpi", mpi=mpi, library=library, mpiexec=mpiexec)


def _stranger(mpiexec: str, library: str) -> str:
    try:
        return Mpiexec((mpiexec,)).stranger_to(library)
    except LinkscopeError:
        return ""


def _described(name: str, found: dict[str, Any]) -> dict[str, Any] | None:
    if name not in found:
        return None
    try:
        return describe(found[name])
    except LinkscopeError as error:
        return {**NO_DESCRIPTION, "problem": str(error)}
