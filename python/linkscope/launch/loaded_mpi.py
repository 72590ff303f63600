"""LoadedMpi: which MPI library engines load on this machine, and its version, without starting it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from linkscope.escaped import escaped
from linkscope.launch.engines import PYTHON_VARIABLE, surroundings
from linkscope.launch.launcher.launch_options import MPI_VARIABLE
from linkscope.launch.launcher.mpiexec import ABI_LIBRARIES

QUESTION = Path(__file__).with_name("mpi_question.py")
TIMEOUT_S = 20.0
MOST_TEXT = 200
"""Characters of what a library says of itself, and of a reason."""
_ENVIRONMENTS = (PYTHON_VARIABLE, "VIRTUAL_ENV", "CONDA_PREFIX")
_SITE_ADAPTER = "liblinkscope-mpi-site.so"


@dataclass(frozen=True)
class LoadedMpi:
    """``file``: the library; where it can't be asked the file that could not, "" where none was found. ``version``: the
    first of its own words, such as "Open MPI v5.0.11", "" where it can't be asked; ``problem`` then says why."""

    file: str = ""
    version: str = ""
    problem: str = ""


def loaded_mpi(engine: Path, environment: Mapping[str, str] = os.environ) -> LoadedMpi:
    """What that engine would load, in a process of its own that ends after ``TIMEOUT_S``."""
    command = [sys.executable, "-I", str(QUESTION), *_candidates(engine, environment)]
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=False,
            env=surroundings(environment),
        )
    except subprocess.TimeoutExpired as error:
        return _found(error.stdout or b"", f"no answer within {TIMEOUT_S:.0f} s")
    except OSError as error:
        return LoadedMpi(problem=f"cannot start {sys.executable}: {error.strerror or error}")
    return _found(ended.stdout, _ending(ended.returncode))


def _candidates(engine: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """In the order in which engines try them (engine/backend/mpi/search.cpp, engine/run/environment.cpp)."""
    if asked := environment.get(MPI_VARIABLE):
        yield asked
        return
    home = engine.resolve().parent
    yield str(home / _SITE_ADAPTER)
    yield from ABI_LIBRARIES
    given = surroundings(environment)
    prefixes = [prefix for name in _ENVIRONMENTS for prefix in given.get(name, "").split(":") if prefix]
    above = [folder for folder in (home, *home.parents) if folder.name in ("lib", "lib64")]
    for folder in dict.fromkeys([*(Path(prefix) / "lib" for prefix in prefixes), *above]):
        yield from (str(folder / name) for name in ABI_LIBRARIES)


def _found(output: bytes, ending: str) -> LoadedMpi:
    """Of what the child printed; ``ending``: why it says no more, "" where it had its say."""
    trying, refused = "", []
    for line in output.decode(errors="replace").splitlines():
        said = _record(line)
        if "version" in said:
            return LoadedMpi(said.get("file", ""), " ".join(said["version"].partition(",")[0].split()))
        if "refused" in said:
            refused += [said["refused"]] if "/" in trying else []
            trying = ""
        trying = said.get("trying", trying)
    return LoadedMpi(trying, problem="; ".join(filter(None, [*refused, ending])))


def _record(line: str) -> dict[str, str]:
    """A line of the child's; empty of anything else."""
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    if not isinstance(said, dict):
        return {}
    return {str(name): str(escaped(value))[:MOST_TEXT] for name, value in said.items() if isinstance(value, str)}


def _ending(code: int) -> str:
    if code == 0:
        return ""
    return f"the process that loaded it ended with {f'signal {-code}' if code < 0 else f'exit code {code}'}"
