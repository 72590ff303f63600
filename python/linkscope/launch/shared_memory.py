"""Shared memory: what processes that were killed leave in /dev/shm, and its end.

MPI libraries and NCCL unlink their segments when they end in order. For a killed process nobody does it, and by and
by a node runs out of memory.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER = Path("/dev/shm")
_LOOK_S = 1.0


class SharedMemory:
    """Segments of one crew on this host: made since it was started, and mapped by one of its processes."""

    def __init__(self) -> None:
        self._before = set(_names())
        self._mapped: set[str] = set()
        self._next_look = 0.0

    def hurry(self) -> None:
        """The next look is due: a case has ended, so whatever the processes map is there by now."""
        self._next_look = 0.0

    def look(self, pids: Iterable[int]) -> None:
        """Notes what they map; once a second at most, for they are being measured."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_S
        for pid in pids:
            self._mapped |= set(_mapped_by(pid)) - self._before

    def sweep(self) -> None:
        """Unlinks what is left, once the processes are gone; what another process maps stays."""
        left = self._mapped.intersection(_names())
        if not left:
            return
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                left -= set(_mapped_by(int(entry.name)))
        for name in left:
            with contextlib.suppress(OSError):
                (FOLDER / name).unlink()


def _names() -> list[str]:
    try:
        return [entry.name for entry in FOLDER.iterdir()]
    except OSError:
        return []


def _mapped_by(pid: int) -> Iterator[str]:
    """Names in /dev/shm; of a deleted one the kernel says so behind the name, which then is nobody's."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            _, found, name = line.partition(f" {FOLDER}/")
            if found:
                yield name
