"""The virtual environment: linkscope itself, from the checkout, and the Python packages it needs."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock

import system
from shell import SetupError, capture, find_program, isolated, say

EXTRAS = {"": (), "test": ("test",), "dev": ("test", "dev"), "docs": ("docs",)}
"""What can be asked for, and the extras of pyproject.toml that it installs."""
READ_PROJECT = """
import json, sys
try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib
print(json.dumps(tomllib.load(open(sys.argv[1], "rb"))["project"]))
"""
COMMAND = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
from linkscope.cli import main
main()
"""
"""The command `linkscope`: for the shell a line that starts Python with this file, for Python a string and the program.

Python then looks for modules beside the file and not in the current folder, as it would for `python -m linkscope`. The
path of Python may be longer than the kernel takes behind `#!`, and hold spaces."""


@dataclass(frozen=True)
class Environment:
    """The checkout's virtual environment. Threads may share it: pip works for one at a time."""

    root: Path
    _turn: RLock = field(default_factory=RLock, compare=False)

    @property
    def folder(self) -> Path:
        return self.root / ".venv"

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        return self.bin / "python"

    @property
    def site_packages(self) -> Path:
        return self.folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def ensure(self, extra: str) -> None:
        """Makes the environment and installs what pyproject.toml names, with an extra ("": none).

        Returns at once when that was done before. Raises SetupError.
        """
        with self._turn:
            self._make()
            project = (self.root / "pyproject.toml").read_bytes()
            done = f"{self.root} {hashlib.sha256(project + Path(__file__).read_bytes()).hexdigest()}"
            enough = [name for name, held in EXTRAS.items() if {*EXTRAS[extra]} <= {*held}]
            stamps = {name: self.folder / f"linkscope-{name}.stamp" for name in enough}
            if any(stamp.exists() and stamp.read_text() == done for stamp in stamps.values()):
                return
            say(f"installing Python packages into .venv: what linkscope needs{f', extra {extra}' if extra else ''}")
            self.pip("install", "--no-compile", "--prefer-binary", *self.requirements(extra))
            self._link()
            stamps[extra].write_text(done)

    def requirements(self, extra: str) -> list[str]:
        """The packages that pyproject.toml names, with those of what ``EXTRAS`` has for an extra."""
        outcome = capture([*isolated(self.python), "-c", READ_PROJECT, str(self.root / "pyproject.toml")])
        if outcome.returncode:
            raise SetupError(f"pyproject.toml cannot be read: {outcome.stderr.strip().splitlines()[-1]}")
        project = json.loads(outcome.stdout)
        named = [
            *project["dependencies"],
            *(name for one in EXTRAS[extra] for name in project["optional-dependencies"][one]),
        ]
        return [name for name in named if not name.startswith("linkscope[")]

    def missing_packages(self) -> list[str]:
        """The system package that making the environment needs, where it is still to be made and Python lacks it."""
        if self._works() or capture([*isolated(sys.executable), "-c", "import venv, ensurepip"]).returncode == 0:
            return []
        return [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]

    def pip(self, *arguments: str) -> None:
        """Raises SetupError with pip's own reason."""
        command = [*isolated(self.python), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
        with self._turn:
            self._make()
            outcome = capture(command)
        if outcome.returncode:
            lines = [line for line in outcome.stderr.splitlines() if line.strip().startswith("ERROR")]
            reason = lines[-1].strip().removeprefix("ERROR: ") if lines else "no reason given"
            raise SetupError(f"pip {arguments[0]} failed: {reason}")

    def ensure_build_tools(self) -> None:
        """CMake 3.22 or later and Ninja: the system's, else PyPI's. A JSON header where the system has none."""
        missing = []
        if self._cmake_version() < (3, 22):
            missing.append("cmake>=3.22,<4.2")
        if not find_program("ninja", self.bin):
            missing.append("ninja")
        if not system.has_header("nlohmann/json.hpp") and not (self.site_packages / "nlohmann_json").exists():
            missing.append("nlohmann-json>=3.11")
        if missing:
            say(f"installing {', '.join(missing)} into .venv")
            self.pip("install", *missing)

    def _link(self) -> None:
        """The command and the modules from where they are: an editable installation, without building one."""
        (self.site_packages / "linkscope.pth").write_text(f"{self.root / 'python'}\n")
        command = self.bin / "linkscope"
        command.write_text(COMMAND.format(python=self.python))
        command.chmod(0o755)

    def _works(self) -> bool:
        return capture([*isolated(self.python), "-c", "import pip"]).returncode == 0

    def _make(self) -> None:
        if self._works():
            return
        if sys.version_info < (3, 10):  # noqa: UP036 - an older Python is what this line is for
            raise SetupError(f"Python {sys.version.split()[0]} is too old: linkscope needs 3.10 or later")
        say("making the virtual environment .venv")
        outcome = capture([*isolated(sys.executable), "-m", "venv", "--clear", str(self.folder)])
        if outcome.returncode:
            lines = (outcome.stderr + outcome.stdout).strip().splitlines() or ["no reason given"]
            raise SetupError(f"python3 -m venv failed: {lines[-1]}")

    def _cmake_version(self) -> tuple[int, int]:
        program = find_program("cmake", self.bin)
        words = capture([str(program), "--version"]).stdout.split() if program else []
        version = next((word for word in words if word[:1].isdigit()), "0.0")
        major, minor = version.split(".")[:2]
        return int(major), int(minor)
