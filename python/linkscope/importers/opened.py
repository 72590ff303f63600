"""Opened: the run that a file holds, whether linkscope or another tool wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linkscope.messages.catalog import problem
from linkscope.results.run_file import RunFile

_HEADER = b'{"record"'
"""Beginning of a run file; `linkscope` writes the header first."""
_INSPECTOR = b'{"header"'
"""Beginning of NCCL Inspector's files, whose names also end in .jsonl."""
_STANDARD_INPUT = Path("-")


def opened(path: Path, *more: Path) -> RunFile:
    """Return the run of a run file, or of one or several pastes, read as one. Raises LinkscopeError."""
    if not more and not is_paste(path):
        return RunFile.read(path)
    runs = [one for one in (path, *more) if not is_paste(one) and (one.suffix == ".jsonl" or _start(one))]
    if runs:
        raise problem("run-file.several", path=str(runs[0]))
    return pasted((path, *more))


def pasted(paths: Sequence[Path]) -> RunFile:
    """Return the run that pastes are. Raises LinkscopeError where they are no output that is known."""
    from linkscope.importers.imported_run import pasted as read  # the readers load for pastes alone

    return read(paths)


def is_paste(path: Path) -> bool:
    """Return whether a file is none of linkscope's; one that cannot be read, or is empty, is none of another tool's."""
    if path == _STANDARD_INPUT:
        return True
    start = _start(path)
    if path.suffix == ".jsonl":
        return start.startswith(_INSPECTOR)
    return bool(start) and not start.startswith(_HEADER)


def _start(path: Path) -> bytes:
    """Return how a file begins; nothing of one that cannot be read."""
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 12).lstrip()
    except OSError:
        return b""
