"""Handle trial: machine/memory_handles.py started for the driver that is here, and what it printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.process.trial import Trial, trial

LIMIT_S = 60.0
_PROGRAM = "linkscope.machine.memory_handles"
_XCCL = {"cuda": ("nccl", "libnccl.so.2"), "hip": ("rccl", "librccl.so.1")}


def try_handles(versions: Mapping[str, str]) -> tuple[str, list[dict[str, Any]], Trial]:
    """Return the vendor whose driver is here, the lines that the program printed, and how it ended: with status 1 and
    no lines where no driver is here. ``versions``: the engine's, which name the file of NCCL or RCCL that it loads.
    Raises LinkscopeError."""
    for vendor, (name, library) in _XCCL.items():
        command = [sys.executable, "-m", _PROGRAM, vendor, versions.get(f"{name} library", library)]
        try:
            ended = trial(command, {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}, LIMIT_S)
        except OSError as error:
            raise LinkscopeError(f"no folder for temporary files: {error.strerror or error}; set TMPDIR") from error
        lines = list(_lines(ended.printed.splitlines()))
        if lines or ended.status != 1:
            break
    return vendor, lines, ended


def _lines(printed: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for line in printed:
        with suppress(ValueError):
            found.append(json.loads(line))
    return [line for line in found if isinstance(line, dict) and {"memory", "interface"} <= line.keys()]
