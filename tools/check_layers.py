"""Rejects what breaks the project's shape: imports that go up or sideways, stray vendor conditionals, junk drawers.

Run without arguments on this checkout, or with the root of another tree. One line per offence, exit code 1 if any.
docs/architecture.md explains the layers.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Who may include or import whom; a layer always may use itself.
ENGINE: dict[str, set[str]] = {
    "base": set(),
    "model": {"base"},
    "backend/host": {"base", "model"},
    "backend/gpu": {"base", "model", "backend/host"},  # a GPU node has a host: its pages are placed once
    "backend/mpi": {"base", "model", "backend/host"},  # its callers are the host's threads
    "backend/xccl": {"base", "model", "backend/host", "backend/gpu"},  # the library works on a GPU's streams
    "backend/python": {"base", "model"},  # its child has the memory
    "collective": {"base", "model", "backend/host", "backend/gpu"},  # kernels on a GPU's streams, over its peers
    # What carries schedules out: on CPUs and by MPI; its GPU part on streams, over peers and by NCCL.
    "workload/gpu": {"base", "model", "backend/host", "backend/gpu", "backend/xccl", "workload"},
    "workload": {"base", "model", "backend/host", "backend/mpi"},
    "comm": {"base", "model", "record"},
    "measure": {"base", "model"},
    "record": {"base", "model"},
    "run": {
        *("base", "model", "measure", "record", "collective", "comm", "workload", "workload/gpu"),
        *("backend/host", "backend/gpu", "backend/mpi", "backend/python", "backend/xccl"),
    },
}
FOUNDATION = {"documents", "messages", "statistics"}
PYTHON: dict[str, set[str]] = {
    "messages": set(),
    "documents": {"messages"},
    "statistics": {"messages"},
    "machine": FOUNDATION,
    "workload": FOUNDATION,
    "plan": FOUNDATION | {"machine", "workload"},
    "results": FOUNDATION | {"machine"},
    "modelled": FOUNDATION | {"machine", "plan", "workload"},
    "launch": FOUNDATION | {"machine", "plan", "results", "workload", "modelled"},
    "importers": FOUNDATION | {"machine", "plan", "results", "workload"},
    "figures": FOUNDATION | {"machine", "results", "importers"},
    "answers": FOUNDATION | {"machine", "results", "figures", "workload", "importers"},
    "render": FOUNDATION | {"machine", "results", "figures", "answers", "workload"},
    "codecs": FOUNDATION | {"machine", "results", "figures", "answers"},
    "cli": {
        *(FOUNDATION | {"machine", "plan", "results", "launch", "importers", "workload"}),
        *("figures", "answers", "render", "codecs"),
    },
    "notebook": FOUNDATION | {"machine", "plan", "results", "launch", "figures", "answers", "render"},
    "torch_child": set(),  # a program of its own, which the engine starts
}

# The package's faces, which show what is below.
FACES = {"__init__.py", "__main__.py", "api.py"}

VENDOR_FILE = "engine/backend/gpu/vendor.hpp"
VENDOR_CONDITIONAL = re.compile(r"^\s*#\s*(el)?if.*\b(__HIP|__CUDA|__NVCC__|LINKSCOPE_(CUDA|HIP))")
VENDOR_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"](cuda|hip/|nv/|nvml)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
JUNK_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}
MOST_LINES = 500
CODE = {".cpp", ".hpp", ".cu", ".cuh", ".h", ".py"}
TREES = ("engine", "python", "tools", "tests", "bench", "apps")


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    offences = sorted(check(root))
    for offence in offences:
        print(offence)
    return 1 if offences else 0


def check(root: Path) -> Iterator[str]:
    """Every offence in the tree, as `path:line: what is wrong`."""
    for path in code_files(root):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8").splitlines()
        yield from file_offences(name, lines)
        if name.startswith("engine/"):
            yield from include_offences(name, lines)
        if name.startswith("python/linkscope/"):
            yield from import_offences(name, "\n".join(lines))


def code_files(root: Path) -> list[Path]:
    """Source files of the project's own folders."""
    return [path for tree in TREES for path in (root / tree).rglob("*") if path.is_file() and path.suffix in CODE]


def file_offences(name: str, lines: list[str]) -> Iterator[str]:
    """What any source file must not be: a junk drawer, too long, or home to a vendor's name."""
    junk = JUNK_NAMES & {part.split(".")[0] for part in name.split("/")}
    if junk:
        yield f"{name}:1: `{junk.pop()}` names no noun: name the file after what it holds"
    if len(lines) > MOST_LINES:
        yield f"{name}:{len(lines)}: {len(lines)} lines, more than {MOST_LINES}: split it by noun"
    if name == VENDOR_FILE or not name.startswith("engine/"):
        return
    for number, line in enumerate(lines, 1):
        if VENDOR_CONDITIONAL.match(line):
            yield f"{name}:{number}: vendor conditional outside {VENDOR_FILE}"
        if VENDOR_INCLUDE.match(line):
            yield f"{name}:{number}: vendor header outside {VENDOR_FILE}"


def include_offences(name: str, lines: list[str]) -> Iterator[str]:
    """Includes from a layer that this file's layer must not know."""
    layer = engine_layer(name.removeprefix("engine/"))
    if layer is None:
        yield f"{name}:1: belongs to no layer: tools/check_layers.py lists them"
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = engine_layer(match[1])
        if target is None:
            yield f'{name}:{number}: "{match[1]}": includes are written from engine/, e.g. "model/flow.hpp"'
        elif target != layer and target not in ENGINE[layer]:
            yield f"{name}:{number}: {layer} must not include {target}"


def engine_layer(path: str) -> str | None:
    """The layer of a path below engine/; None where it is in none."""
    return next((layer for layer in ENGINE if path.startswith(f"{layer}/")), None)


def import_offences(name: str, text: str) -> Iterator[str]:
    """Imports from a layer that this file's layer must not know."""
    parts = name.removeprefix("python/linkscope/").split("/")
    if len(parts) == 1 and parts[0] in FACES:
        return
    layer = parts[0] if len(parts) > 1 else None
    if layer is not None and layer not in PYTHON:
        if layer != "suites":
            yield f"{name}:1: belongs to no layer: tools/check_layers.py lists them"
        return
    for number, module in imported_modules(text, ["linkscope", *parts[:-1]]):
        target = module.split(".")[1] if module.count(".") else ""
        if target not in PYTHON or target == layer:
            continue
        if target not in (FOUNDATION if layer is None else PYTHON[layer]):
            yield f"{name}:{number}: {layer or 'the package root'} must not import {target}"


def imported_modules(text: str, package: list[str]) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import of linkscope's, also inside functions; `package` holds the file."""
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Import):
            modules = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            above = package[: len(package) - statement.level + 1] if statement.level else []
            base = ".".join([*above, *filter(None, [statement.module])])
            modules = [f"{base}.{alias.name}" for alias in statement.names]
        else:
            continue
        yield from ((statement.lineno, module) for module in modules if module.split(".")[0] == "linkscope")


if __name__ == "__main__":
    sys.exit(main())
