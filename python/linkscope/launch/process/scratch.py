"""Scratch: a folder of this process's own among temporary files, and the end of those that killed linkscopes left."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from linkscope.launch.process import shared_memory

_PREFIX = "linkscope-"
_HELD = "held"
"""A file that the process which made the folder keeps locked: the kernel lets go of it, however that ends. It names the
start of the kernel: on a file system of several hosts a lock need not be seen, or go, where another host looks."""
_SEGMENTS = "segments"


class Scratch:
    """A new folder. Its end is this process's, or the next run's (``sweep_abandoned``). Raises OSError."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX)
        self.path = Path(self._folder.name)
        self._held: int | None = None
        with contextlib.suppress(OSError):  # without locks nobody can know that it was left
            self._held = _hold(self.path)

    @property
    def segments(self) -> Path:
        """Return where ``SharedMemory`` notes what would be left."""
        return self.path / _SEGMENTS

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes it with all that it holds."""
        self._folder.cleanup()
        if self._held is not None:
            os.close(self._held)
            self._held = None


def sweep_abandoned() -> None:
    """Removes what linkscopes of this user that were killed have left on this host: their folders, and the shared
    memory that is noted there and that nobody maps any more.
    """
    for folder in _abandoned(Path(tempfile.gettempdir())):
        if shared_memory.remove_noted(folder / _SEGMENTS):
            shutil.rmtree(folder, ignore_errors=True)


def _hold(folder: Path) -> int:
    """Locked before it has the name by which others look for it."""
    new = folder / f"{_HELD}-new"
    held = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(held, shared_memory.boot().encode())
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(folder / _HELD)
    except OSError:
        os.close(held)
        raise
    return held


def _abandoned(among: Path) -> Iterator[Path]:
    """Folders of this user's and this host's, made since it started, whose lock nobody holds; it is held while the
    caller has one of them.
    """
    for folder in among.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            about = folder.lstat()
            if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
                continue
            with (folder / _HELD).open("r+b") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if held.read().decode(errors="replace") == shared_memory.boot():
                    yield folder
