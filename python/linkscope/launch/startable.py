"""Startable: which cases of several processes somebody can start, told before anything is measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import Engine
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.launcher.mpiexec import ONE_MPI, Mpiexec, library_of
from linkscope.machine.traits import method_traits
from linkscope.plan.case_groups import uses_mpi
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]


def startable(planned: Sequence[PlannedCase], launching: LaunchOptions, engine: Engine) -> list[PlannedCase]:
    """``planned``, skipped with the reason where the launcher that a case wants cannot be had.

    Ranks that others started need none. Raises LinkscopeError where the user asked for one that cannot be had.
    """
    if inside.place() is not None:
        return list(planned)
    reasons: dict[tuple[str, bool], str | None] = {}
    found = []
    for one in planned:
        reason = None
        if one.skip is None and int(one.case.get("processes", 1)) > 1:
            kind, by_mpi = launching.kind_for(one.case, os.environ, None), uses_mpi(one.case)
            if (kind, by_mpi) not in reasons:
                reasons[kind, by_mpi] = _why_not(kind, launching, engine, one.case)
            reason = reasons[kind, by_mpi] or _apart(launching, kind, engine, one.case)
        found.append(one if reason is None else replace(one, skip=reason))
    return found


def _why_not(kind: str, launching: LaunchOptions, engine: Engine, case: Json) -> str | None:
    try:
        launcher = launching.open(kind, engine.name, None)
        if uses_mpi(case) and isinstance(launcher, Mpiexec):
            _check_family(launcher, str(engine.description.get("versions", {}).get("MPI", "")))
    except LinkscopeError as error:
        if launching.is_asked_for:
            raise
        return str(error)
    return None


def _apart(launching: LaunchOptions, kind: str, engine: Engine, case: Json) -> str | None:
    """Return why processes that are on a host each cannot map one another's memory."""
    methods = {flow["method"] for flow in case["flows"]}
    mapping = [method for method in methods if method_traits(case, method).maps_members]
    processes = int(case["processes"])
    if not mapping or not launching.open(kind, engine.name, None).spread(processes):
        return None
    return f"{min(mapping)} maps another process's memory: its {processes} processes are on a host each"


def _check_family(launcher: Mpiexec, library: str) -> None:
    """Raises LinkscopeError where the MPI that engines load is not that of the mpiexec."""
    whose = launcher.stranger_to(library)
    if whose:
        own = library_of(launcher.words[0])
        at = f": LINKSCOPE_MPI={own}" if own else ""
        raise LinkscopeError(f"{launcher.words[0]} is of {whose}, and engines load {library}: {ONE_MPI}{at}")
