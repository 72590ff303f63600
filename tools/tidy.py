"""Runs clang-tidy over the engine's host files, several at a time. Takes the build folder that holds their commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    build = Path(sys.argv[1])
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    files = sorted({Path(command["file"]) for command in commands if is_ours(Path(command["file"]))})
    clang_tidy = Path(sys.executable).with_name("clang-tidy")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda file: tidy(clang_tidy, build, file), files))
    for outcome in outcomes:
        print(outcome, end="")
    return 1 if any(outcomes) else 0


def is_ours(file: Path) -> bool:
    """Engine sources that a C++ compiler reads (not nvcc's and hipcc's)."""
    return file.suffix == ".cpp" and (ROOT / "engine") in file.parents


def tidy(clang_tidy: Path, build: Path, file: Path) -> str:
    """What clang-tidy has to say of one file; empty when it is content."""
    command = [str(clang_tidy), "-p", str(build), "--quiet", str(file)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return outcome.stdout or outcome.stderr if outcome.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
