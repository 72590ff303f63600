"""Turns: the same run again and again, each in processes of its own and a file of its own, in one folder."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.launch.job import Request
from linkscope.launch.launcher import inside
from linkscope.launch.run import INTERRUPTED, RUNS, Listener, request_of, resume, run
from linkscope.results.run_file import RunFile

TURNS = 10
FEWEST_TURNS, MOST_TURNS = 2, 99
"""Names of turns have two digits; intervals get no narrower long before that."""
Command = Callable[[Request, Path], Sequence[str]]
"""Return the command line that asks for the same run into a file."""


def default_folder() -> Path:
    """Return runs/calibrate-HOST-TIME for turns that start now."""
    return RUNS / f"calibrate-{platform.node()}-{datetime.now():%Y%m%d-%H%M%S}"


def turns(
    request: Request | None,
    count: int,
    folder: Path,
    listener: Listener | None = None,
    command: Command = lambda request, path: (),
) -> Iterator[RunFile]:
    """Yield the run files of ``count`` turns in ``folder``, each as soon as it is there: turn-01.jsonl and so on.

    A turn that the folder holds is completed, or kept where it is complete. The request is that of the folder's first
    turn unless one is given, which must then lead to the same plan. Raises LinkscopeError for wrong input, and with
    exit code 130 when interrupted: what was measured is in the folder, and the same call goes on.
    """
    if count < FEWEST_TURNS:
        raise LinkscopeError(f"--turns {count} is too few: how runs differ takes at least {FEWEST_TURNS}")
    if count > MOST_TURNS:
        raise LinkscopeError(f"--turns {count} is too many: a calibration takes at most {MOST_TURNS}")
    if inside.place() is not None:
        raise LinkscopeError("turns start processes of their own: start linkscope alone, not as ranks of a job")
    first = folder / _name(1)
    asked = request or (request_of(RunFile.read(first)) if first.exists() else Request())
    for number in range(1, count + 1):
        path = folder / _name(number)
        try:
            yield resume(path, asked, listener) if path.exists() else run(asked, path, listener, command(asked, path))
        except LinkscopeError as error:
            if error.exit_code != INTERRUPTED:
                raise
            message = f"interrupted in turn {number} of {count}: the same command with -o {folder} goes on"
            raise LinkscopeError(message, INTERRUPTED) from error


def _name(number: int) -> str:
    return f"turn-{number:02}.jsonl"
