"""System packages: installed by apt-get when root, otherwise named in one line."""

from __future__ import annotations

import os
from pathlib import Path

from shell import SetupError, capture, find_program, say


def install(packages: list[str]) -> None:
    """Installs Debian packages (none: nothing to do). Raises SetupError with the command to type where it may not."""
    if not packages:
        return
    names = " ".join(packages)
    if not find_program("apt-get"):
        raise SetupError(f"missing what Debian calls {names}: install it with this system's package manager")
    if os.geteuid() != 0:
        raise SetupError(f"missing system packages, please type: sudo apt-get install -y {names}")
    say(f"installing system packages: {names}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if capture(command, environment).returncode == 0:
        return
    capture(["apt-get", "update"], environment)
    outcome = capture(command, environment)
    if outcome.returncode:
        lines = [line for line in outcome.stderr.splitlines() if line.startswith("E: ")] or ["E: no reason given"]
        raise SetupError(f"apt-get could not install {names}: {lines[0].removeprefix('E: ')}")


def missing_for_engine() -> list[str]:
    """Packages the host engine needs and this machine lacks."""
    compiler = [] if find_program("g++") else ["g++"]
    return compiler + ([] if has_header("numa.h") else ["libnuma-dev"])


def missing_for_tests() -> list[str]:
    """Packages the engine's unit tests need and this machine lacks."""
    return [] if has_header("gtest/gtest.h") else ["libgtest-dev"]


def has_header(name: str) -> bool:
    """Whether a C++ compiler of this machine finds a header; its usual place where there is no compiler yet."""
    compiler = find_program("g++")
    if not compiler:
        return Path("/usr/include", name).exists()
    probe = ["sh", "-c", f"echo '#include <{name}>' | '{compiler}' -x c++ -E - >/dev/null"]
    return capture(probe).returncode == 0
