"""Files written whole or not at all: a full disk or a killed process leaves what was there before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from linkscope.errors import LinkscopeError


def put_whole(path: Path, data: bytes) -> None:
    """Puts ``data`` there in place of what was. Raises OSError; then ``path`` is as before, and nothing lies beside it.

    A pipe or a device such as /dev/stdout is written to as it is; of a link, what it leads to.
    """
    if path.exists() and not path.is_file():  # of a pipe, /dev/stdout leads to a name that no folder has
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
        beside = Path(stream.name)
        try:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            beside.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def write_whole(path: Path, text: str) -> None:
    """The same of a text, in UTF-8, into a folder that exists. Raises LinkscopeError."""
    try:
        put_whole(path, text.encode())
    except OSError as error:
        raise LinkscopeError(f"cannot write {path}: {error.strerror or error}") from error


def _umask() -> int:
    """Which can only be read by setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found
