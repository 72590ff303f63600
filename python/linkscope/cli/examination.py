"""What `linkscope doctor` examines and how it prints what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.launch.engines import ENGINES, NO_DESCRIPTION, describe, find_engines, machine_description
from linkscope.launch.launcher.mpiexec import Mpiexec, find_mpiexec
from linkscope.machine.discover import discover
from linkscope.machine.doctor import examine, gravest_first
from linkscope.machine.state import read_state
from linkscope.messages.catalog import commands, sentence
from linkscope.messages.finding import Finding, Level, note, warning

_STYLES = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: "dim"}


def findings() -> list[Finding]:
    """Return all findings about this machine, the gravest first; works without any engine, which is itself one."""
    found = find_engines()
    engines = {name: _described(name, found) for name in ENGINES}
    description = machine_description()
    seen = examine(discover(description), read_state(description), engines)
    return gravest_first([*seen, *_mpi(description.get("versions", {}))])


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


def show(found: list[Finding], console: Console) -> None:
    """Print each finding with what to type."""
    for finding in found:
        console.print(
            Text.assemble((f"{finding.level.value:<8}", _STYLES[finding.level]), sentence(finding)), soft_wrap=True
        )
        for command in commands(finding):
            console.print(Text(f"{'':<8}{command}"))


def _described(name: str, found: dict[str, Any]) -> dict[str, Any] | None:
    if name not in found:
        return None
    try:
        return describe(found[name])
    except LinkscopeError as error:
        return {**NO_DESCRIPTION, "problem": str(error)}
