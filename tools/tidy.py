"""Runs clang-tidy over the engine's files that a C++ compiler reads, several at a time.

usage: tidy.py BUILD    a folder of CMake's with their commands, configured without CMAKE_UNITY_BUILD
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLANG_TIDY = Path(sys.executable).with_name("clang-tidy")
UNIT = 8
"""So many files clang-tidy reads as one."""
LESS_DEEP = [f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "max-nodes=40000")]
"""The static analyzer takes four fifths of the time at its own limit, 225000 states a function, at this two thirds."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=Path)
    units = units_of(commands_of(parser.parse_args().build))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda unit: of_unit(Path(tempfile.mkdtemp(dir=folder)), *unit), units))
    for outcome in outcomes:
        print(outcome, end="")
    return 1 if any(outcomes) else 0


def commands_of(build: Path) -> dict[Path, tuple[str, ...]]:
    """The words by which the folder compiles each of our files: once, where several engines share it."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return {
        Path(command["file"]): tuple(shlex.split(command["command"]))
        for command in reversed(commands)
        if is_ours(Path(command["file"]))
    }


def units_of(commands: dict[Path, tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], list[Path]]]:
    """Files that are compiled alike, a few at a time, with the words that do it: half the time is their headers'."""
    alike: dict[tuple[str, ...], list[Path]] = {}
    for file, words in sorted(commands.items()):
        output = words.index("-o")
        flags = tuple(word for word in words[:output] + words[output + 2 :] if word not in ("-c", str(file)))
        alike.setdefault(flags, []).append(file)
    for flags, files in alike.items():
        yield from ((flags, files[start : start + UNIT]) for start in range(0, len(files), UNIT))


def of_unit(folder: Path, flags: tuple[str, ...], files: list[Path]) -> str:
    """What clang-tidy says of these files: of all as one, where it is not content of each half, and last of each file
    by its own name. Names of two files that are of no other may clash; halves tell that from a finding."""
    if len(files) == 1:
        return tidy(folder, flags, files[0])
    together = folder / f"{files[0].stem}-{len(files)}.cpp"
    together.write_text("".join(file.read_text(encoding="utf-8") for file in files), encoding="utf-8")
    if not tidy(folder, flags, together, "--checks=-readability-duplicate-include"):
        return ""
    half = len(files) // 2
    return of_unit(folder, flags, files[:half]) + of_unit(folder, flags, files[half:])


def is_ours(file: Path) -> bool:
    """Engine sources that a C++ compiler reads (not nvcc's and hipcc's)."""
    return file.suffix == ".cpp" and (ROOT / "engine") in file.parents


def tidy(folder: Path, flags: tuple[str, ...], file: Path, *options: str) -> str:
    """What clang-tidy has to say of one file that is compiled by these words; empty when it is content."""
    entry = {"directory": str(folder), "file": str(file), "arguments": [*flags, "-c", str(file)]}
    (folder / "compile_commands.json").write_text(json.dumps([entry]), encoding="utf-8")
    command = [
        str(CLANG_TIDY),
        "-p",
        str(folder),
        "--quiet",
        f"--config-file={ROOT / '.clang-tidy'}",
        *LESS_DEEP,
        *options,
        str(file),
    ]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return outcome.stdout or outcome.stderr if outcome.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
