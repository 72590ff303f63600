"""Sides: the settings that `linkscope ab` measures beside each other, and what an engine loads under each."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import PROGRAM_VARIABLE, surroundings
from linkscope.launch.launcher.launch_options import MPI_VARIABLE
from linkscope.machine.traits import memory_traits, method_traits
from linkscope.messages.catalog import problem
from linkscope.plan.flows import ends_of

Json = dict[str, Any]

AS_IS = "as-is"
"""The setting of a side that changes nothing."""
XCCL_VARIABLE = "LINKSCOPE_XCCL"
"""The library of NCCL or RCCL that engines load, instead of looking for one."""
_MPI, TORCH = "mpi", "torch"
_VARIABLES = {"nccl": XCCL_VARIABLE, "rccl": XCCL_VARIABLE, _MPI: MPI_VARIABLE, TORCH: PROGRAM_VARIABLE}
_LOADED = {"nccl": "nccl library", "rccl": "rccl library", _MPI: "MPI library"}
"""Key of an engine's versions that names the loaded file, by kind of library."""
_OWN = ("LINKSCOPE_CONTROL", "LINKSCOPE_TOKEN", "LINKSCOPE_RANK", "LINKSCOPE_KNOWN_HOSTS", "LINKSCOPE_ENGINE_DIR")
"""Variables that linkscope itself sets, or reads."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRELOAD = "LD_PRELOAD"
_IGNORED = "cannot be preloaded"
"""Words of glibc's loader about a file in LD_PRELOAD that it leaves out."""
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Side:
    """One side. ``name``: "a". ``settings``: as they were typed. ``variables``: what the measuring processes find in
    their environment. ``files``: the libraries asked for, by kind (nccl, rccl, mpi, torch)."""

    name: str
    settings: tuple[str, ...]
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, Path], ...] = ()


def mpiexec_of(side: Side, description: Mapping[str, Any]) -> str | None:
    """Return the mpiexec that is installed with the MPI that an engine has loaded for a side; None where there is none,
    and where the side asks for no MPI."""
    loaded = description.get("versions", {}).get(_LOADED[_MPI]) if _MPI in dict(side.files) else None
    program = Path(loaded).parent.parent / "bin" / "mpiexec" if loaded else None
    return str(program) if program is not None and os.access(program, os.X_OK) else None


def uses(case: Json, kinds: Sequence[str]) -> bool:
    """Return whether a case calls a library of these kinds, or lies in memory of its allocator."""
    traits = [method_traits(case, flow["method"]) for flow in case["flows"]]
    by_kind = {_MPI: any(one.by_mpi for one in traits), TORCH: any(one.by_python for one in traits)}
    ends = [end for flow in case["flows"] for end in ends_of(flow)]
    by_xccl = any(one.by_xccl for one in traits) or any(memory_traits(case, end["memory"]).by_library for end in ends)
    return any(by_kind.get(kind, by_xccl) for kind in kinds)


def side_of(name: str, words: Sequence[str], scratch: Callable[[], Path]) -> Side:
    """Return the side that ``words`` ask for: NAME=VALUE, nccl=FILE, rccl=FILE, mpi=FILE, torch=PYTHON, or as-is.

    ``scratch`` makes a folder in which another Python finds linkscope. Raises LinkscopeError, one line, for a word that
    is none of these, and for a file that is not there.
    """
    variables: dict[str, str] = {}
    files: dict[str, Path] = {}
    for word in words:
        if word == AS_IS:
            if len(words) > 1:
                raise problem("ab.as-is-alone", side=name)
            continue
        key, separator, value = word.partition("=")
        if not separator or _NAME.fullmatch(key) is None:
            raise problem("ab.malformed", side=name, word=word)
        if key in _VARIABLES:
            files[key] = _file(name, word, value, key)
            value, key = str(files[key]), _VARIABLES[key]
        if key in _OWN or "\0" in value:
            raise problem("ab.own-variable", name=key)
        if key in variables:
            raise problem("ab.twice", side=name, name=key)
        if key == _PRELOAD:
            for one in re.split(r"[:\s]+", value):
                if "/" in one and not Path(one).is_file():
                    raise problem("ab.no-file", side=name, word=word)
        variables[key] = value
    if TORCH in files:
        variables.setdefault("PYTHONPATH", os.pathsep.join(_findable(scratch() / "python")))
    return Side(name, tuple(words), tuple(variables.items()), tuple(files.items()))


def _file(name: str, word: str, value: str, kind: str) -> Path:
    path = Path(value).absolute()
    if not path.is_file() or (kind == TORCH and not os.access(path, os.X_OK)):
        raise problem("ab.no-program" if kind == TORCH else "ab.no-file", side=name, word=word)
    return path


def _findable(folder: Path) -> Iterator[str]:
    """Yield a folder that holds linkscope and nothing else, then what the user has: this Python's packages would hide
    those of the other."""
    folder.mkdir()
    (folder / _PACKAGE.name).symlink_to(_PACKAGE)
    yield str(folder)
    yield from filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))


def check_loaded(side: Side, command: Sequence[str], description: Mapping[str, Any]) -> None:
    """Raise LinkscopeError unless the engine, as it describes itself under the side's settings, has loaded every
    library of the side. ``command``: what starts the engine."""
    versions: Mapping[str, str] = description.get("versions", {})
    for kind, path in side.files:
        if kind == TORCH:
            if "PyTorch" not in versions:
                raise problem("ab.no-torch", side=side.name, path=str(path))
            continue
        loaded = versions.get(_LOADED[kind])
        if loaded is None:
            raise problem("ab.not-loaded", side=side.name, path=str(path), why=_why(kind, path, description))
        if not _is_adapter(path) and not _same(Path(loaded), path):
            raise problem("ab.other-loaded", side=side.name, path=str(path), loaded=loaded)
    _check_preloaded(side, command)


def _why(kind: str, path: Path, description: Mapping[str, Any]) -> str:
    """Return why the engine has not loaded a library of a kind, in its words without the file's name."""
    trait = "by_mpi" if kind == _MPI else "by_xccl"
    for one in description.get("methods", ()):
        if one.get("traits", {}).get(trait):
            reason = str(one.get("reason", "the engine does not say which file it loads: build it anew"))
            return reason.removeprefix(f"{_VARIABLES[kind]}: ").removeprefix(f"{path}: ")
    return f"this engine has no {kind.upper()}"


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_adapter(path: Path) -> bool:
    """Return whether a file is an adapter of linkscope's, which loads the MPI that it was built with."""
    return path.name.startswith("liblinkscope-mpi")


def _check_preloaded(side: Side, command: Sequence[str]) -> None:
    """Raise LinkscopeError where the loader says that it ignores what shall be preloaded."""
    if _PRELOAD not in dict(side.variables):
        return
    environment = {**surroundings(), **dict(side.variables)}
    try:
        said = subprocess.run(
            [*command, "describe"], capture_output=True, text=True, timeout=60, check=False, env=environment
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LinkscopeError(f"side {side.name}: cannot start {command[0]}: {error}") from error
    for line in said.splitlines():
        if _IGNORED in line:
            raise problem("ab.ignored", side=side.name, said=" ".join(line.split()))
