"""The virtual environment: linkscope itself (editable) and the Python packages it needs."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import system
from shell import SetupError, capture, find_program, say

EXTRAS = ("", "test", "dev")
"""Of pyproject.toml; each holds those before it."""


@dataclass(frozen=True)
class Environment:
    """The checkout's virtual environment."""

    root: Path

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
        return next(self.folder.glob("lib/python*/site-packages"))

    def ensure(self, extra: str) -> None:
        """Makes the environment and installs what pyproject.toml names, with an extra ("": none).

        Returns at once when that was done before.
        """
        if sys.version_info < (3, 10):  # noqa: UP036 - an older Python is what this line is for
            raise SetupError(f"Python {sys.version.split()[0]} is too old: linkscope needs 3.10 or later")
        if not self._works():
            self._create()
        project = (self.root / "pyproject.toml").read_bytes()
        done = f"{self.root} {hashlib.sha256(project).hexdigest()}"
        stamps = [self.folder / f"linkscope-{name}.stamp" for name in EXTRAS[EXTRAS.index(extra) :]]
        if any(stamp.exists() and stamp.read_text() == done for stamp in stamps):
            return
        target = f"{self.root}[{extra}]" if extra else str(self.root)
        say(f"installing Python packages into .venv: linkscope{f' with its extra {extra}' if extra else ''}")
        self.pip("install", "--editable", target)
        stamps[0].write_text(done)

    def missing_packages(self) -> list[str]:
        """The system package that making the environment needs, where it is still to be made and Python lacks it."""
        if self._works() or capture([sys.executable, "-c", "import venv, ensurepip"]).returncode == 0:
            return []
        return [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]

    def pip(self, *arguments: str) -> None:
        """Raises SetupError with pip's own reason. linkscope itself is installed without its engine, in place."""
        command = [str(self.python), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
        in_place = {"SKBUILD_WHEEL_CMAKE": "false", "SKBUILD_EDITABLE_MODE": "inplace"}
        outcome = capture(command, {**os.environ, **in_place})
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

    def _works(self) -> bool:
        return capture([str(self.python), "-m", "pip", "--version"]).returncode == 0

    def _create(self) -> None:
        say("making the virtual environment .venv")
        outcome = capture([sys.executable, "-m", "venv", "--clear", str(self.folder)])
        if outcome.returncode:
            lines = (outcome.stderr + outcome.stdout).strip().splitlines() or ["no reason given"]
            raise SetupError(f"python3 -m venv failed: {lines[-1]}")

    def _cmake_version(self) -> tuple[int, int]:
        program = find_program("cmake", self.bin)
        words = capture([str(program), "--version"]).stdout.split() if program else []
        version = next((word for word in words if word[:1].isdigit()), "0.0")
        major, minor = version.split(".")[:2]
        return int(major), int(minor)
