"""Engines: finding the compiled programs that measure, and choosing the one for this machine."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.modelled_methods import BACKEND
from linkscope.machine.modelled_methods import description as modelled_description
from linkscope.machine.traits import MemoryTraits, MethodTraits
from linkscope.messages.near_names import unknown
from linkscope.plan.engine_catalog import EngineCatalog

Json = dict[str, Any]
Variables = tuple[tuple[str, str], ...]
"""Names and values of an environment."""

ENGINES = ("cuda", "hip", "host")
"""In order of preference."""
NO_DESCRIPTION: Json = {"devices": [], "methods": [], "memories": []}
"""Description where there is no engine."""
DIRECTORY_VARIABLE = "LINKSCOPE_ENGINE_DIR"
PYTHON_VARIABLE = "LINKSCOPE_PYTHON"
"""Folders in whose lib/ this Python's packages are, joined by colons: engines look there for libraries (NCCL, MPI)."""
PROGRAM_VARIABLE = "LINKSCOPE_PYTHON_PROGRAM"
"""The Python that engines start for what only Python can do (linkscope.torch_child)."""
DESCRIBE_TIMEOUT_S = 60.0
_PACKAGE = Path(__file__).resolve().parents[1]
_DRIVER_SIGNS = {"cuda": ("/proc/driver/nvidia/version",), "hip": ("/dev/kfd", "/sys/module/amdgpu")}


@dataclass(frozen=True)
class Engine:
    """A program and what it says of itself; ``gpu_problem``: why no GPU can be used although a driver is there.

    ``path`` None: a machine model, which no program plays.
    """

    name: str
    path: Path | None
    description: Json
    gpu_problem: str | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """Return the command that starts it, without its task; empty for a machine model."""
        return () if self.path is None else (str(self.path),)

    @property
    def backend(self) -> str:
        """Return the backend as rows name it: host, cuda, hip or modelled."""
        return str(self.description["backend"])

    @property
    def methods(self) -> list[str]:
        """Names of its catalog's methods."""
        return [entry["name"] for entry in self.description["methods"]]

    def catalog(self) -> EngineCatalog:
        """Return what expansion needs to know of it."""
        methods = {entry["name"]: frozenset(entry.get("parameters", ())) for entry in self.description["methods"]}
        memories = frozenset(entry["name"] for entry in self.description["memories"])
        absent = [entry for entry in self.description["methods"] if not entry["available"]]
        lacking = {entry["name"]: entry.get("reason", "the engine does not have it here") for entry in absent}
        return EngineCatalog(
            self.name,
            methods,
            memories,
            self.gpu_problem,
            lacking,
            {name: MethodTraits.of(stated) for name, stated in _stated(self.description["methods"])},
            {name: MemoryTraits.of(stated) for name, stated in _stated(self.description["memories"])},
        )


def _stated(entries: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Names with the traits that their entries state."""
    return ((entry["name"], entry["traits"]) for entry in entries if "traits" in entry)


def surroundings(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment that engines are given: ``environment``, this Python, and where its packages are."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    packages = [Path(folder) for folder in (*site.getsitepackages(), *own)]
    prefixes = dict.fromkeys([sys.prefix, *(str(folder.parents[2]) for folder in packages if folder.is_dir())])
    return {PYTHON_VARIABLE: ":".join(prefixes), PROGRAM_VARIABLE: sys.executable, **environment}


def find_engines(environment: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Programs by name, found in LINKSCOPE_ENGINE_DIR alone where it is set, else in the package, else a checkout."""
    found: dict[str, Path] = {}
    for directory in _directories(environment):
        for name in ENGINES:
            path = directory / f"linkscope-engine-{name}"
            if name not in found and path.is_file() and os.access(path, os.X_OK):
                found[name] = path
    return found


def command_of(name: str) -> tuple[str, ...] | None:
    """Return what starts the engine of that name here; None where there is none."""
    path = find_engines().get(name)
    return None if path is None else (str(path),)


def choose_engine(wanted: str | None = None, variables: Variables = ()) -> Engine:
    """The first of cuda, hip, host that can measure here, or the one of that name.

    A GPU engine that finds no GPU gives way to the next. ``variables`` are in its environment besides. Raises
    LinkscopeError where there is no engine, no engine of that name, or none that answers.
    """
    found = find_engines()
    if wanted is not None and wanted not in found:
        if wanted not in ENGINES:
            raise unknown("engine", wanted, ENGINES)
        raise LinkscopeError(f"no engine {wanted!r}: built here: {', '.join(found) or 'none'}; run `make setup`")
    if not found:
        raise _none_built()
    if wanted is not None:
        return Engine(wanted, found[wanted], describe(found[wanted], variables=variables))
    return _first_usable(found, variables)


def machine_description() -> Json:
    """Return the chosen engine's description of this machine. Where no engine is built it is empty: the topology is
    then read from the system. Raises LinkscopeError where there are engines and none answers.
    """
    return choose_engine().description if find_engines() else NO_DESCRIPTION


def modelling_engine() -> Engine:
    """Return the stand-in for an engine where a machine model is played (linkscope/modelled)."""
    return Engine(BACKEND, None, modelled_description())


@cache
def describe(path: Path, variables: Variables = ()) -> Json:
    """The engine's description record (schema/result.schema.json), with ``variables`` besides in its environment. Asked
    once per process, program and environment.

    Raises LinkscopeError where it does not answer within ``DESCRIBE_TIMEOUT_S`` or with anything else.
    """
    command, name = [str(path), "describe"], path.name
    try:
        environment = {**surroundings(), **dict(variables)}
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=DESCRIBE_TIMEOUT_S, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        limit = f"{DESCRIBE_TIMEOUT_S:.0f} s"
        raise LinkscopeError(f"{name} did not answer within {limit}: is the driver hung?") from error
    except OSError as error:
        raise LinkscopeError(f"cannot start {path}: {error.strerror or error}") from error
    last_words = (answer.stderr.strip().splitlines() or ["no output"])[-1]
    try:
        record = json.loads(answer.stdout.strip().splitlines()[0])
    except (ValueError, IndexError, RecursionError) as error:
        raise LinkscopeError(f"{name} describe failed (exit {answer.returncode}): {last_words}") from error
    if not isinstance(record, dict) or record.get("record") != "description" or record.get("schema") != 1:
        raise LinkscopeError(f"{name} speaks another schema than this linkscope: build both from one version")
    return record


def _none_built() -> LinkscopeError:
    named = os.environ.get(DIRECTORY_VARIABLE)
    if named:
        return LinkscopeError(f"no engine in {named}, where {DIRECTORY_VARIABLE} points: unset it, or correct it")
    return LinkscopeError(f"no engine is built: run `make setup` in the checkout, or set {DIRECTORY_VARIABLE}")


def _directories(environment: Mapping[str, str]) -> list[Path]:
    named = environment.get(DIRECTORY_VARIABLE)
    if named:
        return [Path(named)]
    checkout = _PACKAGE.parents[1]
    build = checkout / "build"
    nested = sorted(path for path in build.glob("*") if path.is_dir()) if (checkout / "engine").is_dir() else []
    return [_PACKAGE / "_engine", build, *nested]


def _first_usable(found: dict[str, Path], variables: Variables) -> Engine:
    gpu_problem: str | None = None
    trouble: LinkscopeError | None = None
    for name, path in sorted(found.items(), key=lambda item: ENGINES.index(item[0])):
        try:
            description = describe(path, variables=variables)
        except LinkscopeError as error:
            trouble = error
            if _driver_present(name):
                gpu_problem = gpu_problem or str(error)
            continue
        if name == "host" or has_gpu(description):
            return Engine(name, path, description, gpu_problem)
        if _driver_present(name):
            gpu_problem = gpu_problem or description.get("problem", "the driver shows no GPU")
    if trouble is None:
        only = next(iter(found))
        return Engine(only, found[only], describe(found[only], variables=variables), gpu_problem)
    raise trouble


def has_gpu(description: Json) -> bool:
    """Return whether the machine that an engine describes has one."""
    return any(device["id"].startswith("gpu:") for device in description["devices"])


def _driver_present(name: str) -> bool:
    return any(Path(sign).exists() for sign in _DRIVER_SIGNS.get(name, ()))
