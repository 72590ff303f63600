"""The program's start and end: every fault, from the first import on, is one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from linkscope.cli.standard_streams import outlive_readers
from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError

INTERNAL_ERROR = 70
"""Exit code, as sysexits.h has it: neither an answer nor bad input."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code. Whatever goes wrong is one line on standard error."""
    outlive_readers()
    if os.environ.get("LINKSCOPE_DEBUG") == "1":
        sys.exit(_run(arguments))
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except LinkscopeError as error:
        _leave(str(error), error.exit_code)
    except KeyboardInterrupt:
        _leave("interrupted", 130)
    except OSError as error:
        _close_stdout()
        _leave(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2)
    except MemoryError:
        _leave("this process is out of memory: free some, or read a smaller run", 2)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        _leave(f"internal error, please report it: {what} (LINKSCOPE_DEBUG=1 shows where)", INTERNAL_ERROR)
    sys.exit(code)


def __getattr__(name: str) -> Any:
    """Load the application on first use: an interrupt of its imports, which take long, ends like any other."""
    if name == "app":
        from linkscope.cli.program import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _run(arguments: Sequence[str] | None) -> int:
    from linkscope.cli.program import run

    return run(arguments)


def _leave(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"linkscope: {escaped(' '.join(message.split()))}\n")
    sys.exit(code)


def _close_stdout() -> None:
    """Lead standard output to the null device, or the interpreter tries again at exit what has just failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
