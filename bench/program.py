"""A tool's program, run to its end or to the end of its time; what it printed until then is kept."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.launch.process.child import Child

LIMIT_S = 900.0
"""Of one program, unless the command line says otherwise."""
_LOOK_S = 0.05
_GRACE_S = 30.0
"""For what was told to end: linkscope ends its engines, mpiexec its processes."""


@dataclass(frozen=True)
class Ended:
    """``printed``: its standard output; of a program that did not end with 0 the whole lines of it. ``code``: its exit
    code, or minus the signal it died of; None where it was ended for its time, or could not be started. ``problem``:
    why it did not end with 0, in one line; else None.
    """

    printed: str
    code: int | None
    problem: str | None


def add_limit(parser: ArgumentParser) -> None:
    """The option that says how long each program may take."""
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, metavar="SECONDS", help="after which a program of either tool is ended"
    )


def run(
    command: Sequence[str], limit_s: float, environment: Mapping[str, str] = os.environ, output: Path | None = None
) -> Ended:
    """Runs ``command`` for ``limit_s`` seconds at most, then ends it and all that it started. What it prints is added
    to the file ``output`` as it comes, where one is named.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sink = stack.enter_context((output or folder / "printed").open("ab+"))
        begin = sink.seek(0, os.SEEK_END)
        try:
            child = Child(command, environment, folder / "words", stdout=sink.fileno(), dying=signal.SIGTERM)
        except LinkscopeError as error:
            return Ended("", None, str(error))
        stack.callback(child.close)
        code = _wait(child, limit_s)
        problem = _problem(child, command, code, limit_s)
        sink.seek(begin)
        whole, newline, rest = sink.read().decode(errors="replace").rpartition("\n")
        return Ended(whole + newline + (rest if code == 0 else ""), code, problem)


def _wait(child: Child, limit_s: float) -> int | None:
    """Its exit code; None where it had to be ended."""
    deadline = time.monotonic() + limit_s
    try:
        while time.monotonic() < deadline:
            code = child.status()
            if code is not None:
                return code
            time.sleep(_LOOK_S)
    except KeyboardInterrupt:
        child.dismiss(_GRACE_S)
        raise
    child.dismiss(_GRACE_S)
    return None


def _problem(child: Child, command: Sequence[str], code: int | None, limit_s: float) -> str | None:
    if code == 0:
        return None
    if code is None:
        return f"{' '.join(command)}: not done within {limit_s:g} s, ended"
    words = child.last_words()
    return f"{' '.join(command)}: exit code {code}" + (f": {words}" if words else "")
