"""Running commands and saying what happens, in one line each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from time import monotonic

A_MOMENT_S = 2.0
A_WHILE_S = 30.0
STEP = re.compile(r"\[(\d+)/(\d+)\]")
"""How Ninja's lines begin."""


class SetupError(Exception):
    """One line: what is missing and what to do about it."""


def say(line: str) -> None:
    """One line of progress."""
    print(f"linkscope setup: {line}", flush=True)


def isolated(python: str | Path) -> tuple[str, ...]:
    """Return the start of a command for that Python: it runs no module of the current folder and of PYTHONPATH."""
    return (str(python), "-I")


def capture(command: Sequence[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command silently and returns its outcome, whatever it is; 127 when it cannot be started."""
    try:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(list(command), 127, "", str(error))


def logged(command: Sequence[str], environment: dict[str, str], log: Path, purpose: str) -> None:
    """Runs a command, appends all it says to `log`, and says its `purpose` where it takes more than a moment; of Ninja,
    how far it is, after a while and again.

    Raises SetupError with the command's first error.
    """
    with log.open("a") as file:
        file.write(f"$ {' '.join(command)}\n")
    try:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except OSError as error:
        raise SetupError(f"cannot start {command[0]}: {error.strerror}") from error
    assert process.stdout is not None
    announcement = Timer(A_MOMENT_S, say, (purpose,))
    announcement.start()
    said: list[str] = []
    told = monotonic()
    for line in process.stdout:
        said.append(line)
        step = STEP.match(line)
        if step and monotonic() - told >= A_WHILE_S:
            told = monotonic()
            say(f"{purpose}: {step[1]} of {step[2]}")
    process.wait()
    announcement.cancel()
    with log.open("a") as file:
        file.write(f"{''.join(said)}\n")
    if process.returncode:
        errors = [line.strip() for line in said if "error" in line.lower()]
        reason = errors[0] if errors else f"{command[0]} ended with exit code {process.returncode}"
        raise SetupError(f"{reason} (everything it said: {log})")


def find_program(name: str, *folders: Path) -> Path | None:
    """The program in `folders` or on PATH, or None."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", "")])
    found = shutil.which(name, path=path)
    return Path(found) if found else None
