"""What `linkscope doctor` examines and how it prints what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscope.errors import LinkscopeError
from linkscope.escaped import escaped
from linkscope.launch.engines import ENGINES, NO_DESCRIPTION, describe, find_engines, machine_description
from linkscope.launch.launcher.launch_options import FIND_MPIEXEC
from linkscope.launch.launcher.mpiexec import ONE_MPI, Mpiexec, find_mpiexec
from linkscope.machine.discover import discover
from linkscope.machine.doctor import SEVERITIES, MachineFinding, examine
from linkscope.machine.state import read_state

_STYLES = {"problem": "bold red", "warning": "yellow", "note": "dim"}


def findings() -> list[MachineFinding]:
    """All findings about this machine, gravest first; works without any engine, which is itself a finding."""
    found = find_engines()
    engines = {name: _described(name, found) for name in ENGINES}
    description = machine_description()
    told = examine(discover(description), read_state(description), engines)
    return sorted(
        [*told, *_mpi(description.get("versions", {}))], key=lambda finding: SEVERITIES.index(finding.severity)
    )


def _mpi(versions: Mapping[str, str]) -> Iterator[MachineFinding]:
    """Which MPI the engine in use loads, and what starts its processes; nothing where it has none, of which its
    description says why."""
    if "MPI" not in versions:
        return
    what = f"MPI: {escaped(versions['MPI'])}, {escaped(versions.get('MPI library', ''))}"
    mpiexec = find_mpiexec()
    if mpiexec is None:
        yield MachineFinding(
            "note", what, "no mpiexec on PATH or beside this Python starts its processes", FIND_MPIEXEC
        )
        return
    started = f"its processes are started by {mpiexec}"
    whose = _stranger(mpiexec, versions["MPI"])
    if whose:
        yield MachineFinding("warning", what, f"{started}, which is of {whose}: cases by MPI are skipped", ONE_MPI)
    else:
        yield MachineFinding("note", what, f"{started}, which must be of the same MPI", "")


def _stranger(mpiexec: str, library: str) -> str:
    try:
        return Mpiexec((mpiexec,)).stranger_to(library)
    except LinkscopeError:
        return ""


def show(found: list[MachineFinding], console: Console) -> None:
    """Prints how many there are, and each with why it matters and what to do."""
    grave = sum(finding.severity == "problem" for finding in found)
    counted = f"{len(found)} findings, {grave} of them problems"
    console.print(counted if found else "nothing found that would spoil a measurement")
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for finding in found:
        grid.add_row(Text(finding.severity, style=_STYLES[finding.severity]), Text(finding.what))
        grid.add_row("", Text(finding.why_it_matters, style="dim"))
        if finding.remedy:
            grid.add_row("", Text(f"-> {finding.remedy}"))
    console.print(grid)


def _described(name: str, found: dict[str, Any]) -> dict[str, Any] | None:
    if name not in found:
        return None
    try:
        return describe(found[name])
    except LinkscopeError as error:
        return {**NO_DESCRIPTION, "problem": str(error)}
