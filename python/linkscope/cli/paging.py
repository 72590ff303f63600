"""Paging: what is longer than a terminal is read through the reader's pager, and nothing else is."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console

PLAIN = ("", "cat")
"""Values of PAGER that ask for none."""
LESS = "FRX"
"""Options of less, unless the reader has set others: end at once on one screen, keep colours, leave the text there."""


@contextmanager
def paged(console: Console, environment: Mapping[str, str] = os.environ) -> Iterator[Console]:
    """Yields ``console``. What was printed on it goes to $PAGER, else less, if it is a terminal and too low for it."""
    command = _pager(environment)
    if not console.is_terminal or not command:
        yield console
        return
    with console.capture() as captured:
        yield console
    text = captured.get()
    if text.count("\n") < console.height or not _read(text, command, environment):
        console.file.write(text)
        console.file.flush()


def _pager(environment: Mapping[str, str]) -> list[str]:
    """Return the pager's command line; empty where there is none."""
    wanted = environment.get("PAGER", "less").strip()
    try:
        command = [] if wanted in PLAIN else shlex.split(wanted)
    except ValueError:
        return []
    return command if command and shutil.which(command[0], path=environment.get("PATH")) else []


def _read(text: str, command: list[str], environment: Mapping[str, str]) -> bool:
    """Return whether the pager could be started."""
    try:
        subprocess.run(command, input=text, text=True, check=False, env={"LESS": LESS, **environment})
    except OSError:
        return False
    return True
