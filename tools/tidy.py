"""Runs clang-tidy over the engine's files that a C++ compiler reads, several at a time.

usage: tidy.py BUILD    a folder of CMake's with their commands, configured without CMAKE_UNITY_BUILD
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LESS_DEEP = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=40000")]
"""The static analyzer takes four fifths of the time at its own limit, 225000 states a function, at this a quarter."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    commands = commands_of(parser.parse_args().build)
    files = sorted(commands)
    clang_tidy = Path(sys.executable).with_name("clang-tidy")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        (Path(folder) / "compile_commands.json").write_text(json.dumps([commands[file] for file in files]))
        outcomes = list(pool.map(lambda file: tidy(clang_tidy, Path(folder), file), files))
    for outcome in outcomes:
        print(outcome, end="")
    return 1 if any(outcomes) else 0


def commands_of(build: Path) -> dict[Path, dict[str, str]]:
    """How the folder compiles each of our files: once, where several engines share it."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return {Path(command["file"]): command for command in reversed(commands) if is_ours(Path(command["file"]))}


def is_ours(file: Path) -> bool:
    """Engine sources that a C++ compiler reads (not nvcc's and hipcc's)."""
    return file.suffix == ".cpp" and (ROOT / "engine") in file.parents


def tidy(clang_tidy: Path, build: Path, file: Path) -> str:
    """What clang-tidy has to say of one file; empty when it is content."""
    command = [str(clang_tidy), "-p", str(build), "--quiet", *LESS_DEEP, str(file)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return outcome.stdout or outcome.stderr if outcome.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
