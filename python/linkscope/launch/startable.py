"""Startable: which cases of several processes somebody can start, told before anything is measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import Engine
from linkscope.launch.launcher import inside
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.plan.planned_case import PlannedCase


def startable(planned: Sequence[PlannedCase], launching: LaunchOptions, engine: Engine) -> list[PlannedCase]:
    """``planned``, skipped with the reason where the launcher that a case wants cannot be had.

    Ranks that others started need none. Raises LinkscopeError where the user asked for one that cannot be had.
    """
    if inside.place() is not None:
        return list(planned)
    reasons: dict[str, str | None] = {}
    found = []
    for one in planned:
        reason = None
        if one.skip is None and int(one.case.get("processes", 1)) > 1:
            kind = launching.kind_for(one.case, os.environ, None)
            if kind not in reasons:
                reasons[kind] = _why_not(kind, launching, engine)
            reason = reasons[kind]
        found.append(one if reason is None else replace(one, skip=reason))
    return found


def _why_not(kind: str, launching: LaunchOptions, engine: Engine) -> str | None:
    try:
        launching.open(kind, engine.name, None)
    except LinkscopeError as error:
        if launching.is_asked_for:
            raise
        return str(error)
    return None
