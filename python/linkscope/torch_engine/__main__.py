"""`python -m linkscope.torch_engine`: the torch engine's command line. Python's supervisor is its user."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from linkscope import __version__
from linkscope.torch_engine import catalog, installation, rows
from linkscope.torch_engine.executor import Executor
from linkscope.torch_engine.faults import EngineError, Fault
from linkscope.torch_engine.joining import LOST, join
from linkscope.torch_engine.plan import parse_plan
from linkscope.torch_engine.rows import Write
from linkscope.torch_engine.world import Alone

SUCCESS, BAD_INPUT = 0, 2
USAGE = """usage: python -m linkscope.torch_engine describe        print what this engine can do, one JSON line
       python -m linkscope.torch_engine run PLAN.json   run a plan, one JSON line per event (schema/)
       python -m linkscope.torch_engine join            run the plan that LINKSCOPE_CONTROL gives, with others
       python -m linkscope.torch_engine --version | --help
environment: LINKSCOPE_SEED  seed of the first data pattern (default 1)
exit codes: 0 done, 2 bad plan or command line, or output not writable, 3 a fault ended the run
"""


def main(arguments: Sequence[str]) -> int:
    """Carries a command out; the exit code. Raises EngineError."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", ())
    if command == "describe" and not rest:
        return _describe()
    if command == "run" and len(rest) == 1:
        return _run(Path(rest[0]))
    if command == "join" and not rest:
        return _join()
    if command == "--version":
        sys.stdout.write(f"linkscope.torch_engine {__version__}\n")
        return SUCCESS
    if command in ("--help", "-h"):
        sys.stdout.write(USAGE)
        return SUCCESS
    raise EngineError(Fault.BAD_INPUT, "say describe, run PLAN.json or join (--help tells more)")


def _describe() -> int:
    write = _own_output()
    write(catalog.description())
    return SUCCESS


def _run(path: Path) -> int:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(Fault.BAD_INPUT, f"cannot read the plan '{path}': {error.strerror or error}") from error
    plan = parse_plan(text)
    write = _own_output()
    executor = Executor(plan, Alone(), write)
    write(rows.hello(installation.backend()))
    return SUCCESS if executor.run() else LOST


def _join() -> int:
    return SUCCESS if join(lambda plan, world, write: Executor(plan, world, write).run()) else LOST


def _own_output() -> Write:
    """Writes lines to what was standard output; what libraries print from now on goes to standard error."""
    descriptor = os.dup(1)
    os.dup2(2, 1)

    def write(record: rows.Json) -> None:
        line = rows.line_of(record)
        try:
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError as error:
            raise EngineError(Fault.BAD_INPUT, f"cannot write the results: {error.strerror or error}") from error

    return write


def _leave(code: int) -> None:
    """Without waiting for threads and communicators of a process that has lost its partners."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    if code == LOST:
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    try:
        status = main(sys.argv[1:])
    except EngineError as error:
        sys.stderr.write(f"linkscope.torch_engine: {error}\n")
        status = BAD_INPUT if error.fault is Fault.BAD_INPUT else LOST
    _leave(status)
