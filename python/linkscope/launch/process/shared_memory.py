"""Shared memory: what processes that were killed leave in /dev/shm, and its end.

MPI libraries and NCCL unlink their segments when they end in order. For a killed process nobody does it, and by and
by a node runs out of memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

FOLDER = Path("/dev/shm")
_LOOK_S = 1.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")

Mark = list[str | int]
"""A segment that no other is: its name, the start of the kernel that it is of, its device and inode."""


class SharedMemory:
    """Segments of one group on this host: made since it was started, and mapped by one of its processes.

    ``noted``: a file that names them, for what runs after a linkscope that was killed.
    """

    def __init__(self, noted: Path | None = None) -> None:
        self._before = set(_names())
        self._mapped: set[str] = set()
        self._noted = noted
        self._next_look = 0.0
        self._fresh: dict[str, float] = {}

    def hurry(self) -> None:
        """The next look is due: a case has ended, so whatever the processes map is there by now."""
        self._next_look = 0.0

    def watch(self, pids: Iterable[int]) -> None:
        """Look, and at once where a segment has come up, until it is known whose it is: for processes that are
        setting themselves up, and may be killed right after.
        """
        now = time.monotonic()
        new = set(_names()) - self._before - self._mapped
        for name in new:
            if name not in self._fresh and _mark_of(name) is not None:  # another user's is no concern of ours
                self._fresh[name] = now + _LOOK_S
        if any(now < self._fresh.get(name, 0.0) for name in new):
            self.hurry()
        self.look(pids)

    def look(self, pids: Iterable[int]) -> None:
        """Notes what they map; once a second at most, for they are being measured."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_S
        found = {name for pid in pids for name in _mapped_by(pid)} - self._before - self._mapped
        self._mapped |= found
        if self._noted is not None and found:
            _note(self._noted, found)

    def sweep(self) -> None:
        """Unlinks what is left, once the processes are gone; what another process maps stays."""
        for name in _unused(self._mapped):
            with contextlib.suppress(OSError):
                (FOLDER / name).unlink()


def remove_noted(noted: Path) -> bool:
    """Unlinks the segments of this user's that the file names, but for what a process maps; whether none is left."""
    try:
        lines = noted.read_text(encoding="utf-8").splitlines()
    except OSError:
        return True
    marks = [_mark_in(line) for line in lines]
    left = {str(mark[0]): mark for mark in marks if mark is not None and _mark_of(str(mark[0])) == mark}
    gone = _unused(left)
    for name in gone:
        with contextlib.suppress(OSError):
            (FOLDER / name).unlink()
    return not left.keys() - gone


def _note(noted: Path, names: Iterable[str]) -> None:
    marks = [mark for name in names if (mark := _mark_of(name)) is not None]
    with contextlib.suppress(OSError), noted.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{json.dumps(mark)}\n" for mark in marks)


def _mark_of(name: str) -> Mark | None:
    """Return the mark of a segment; None where there is none, or it is another user's."""
    if "/" in name:
        return None
    try:
        about = (FOLDER / name).lstat()
    except OSError:
        return None
    return [name, boot(), about.st_dev, about.st_ino] if about.st_uid == os.geteuid() else None


def _mark_in(line: str) -> Mark | None:
    """None where the line was cut short."""
    try:
        mark = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return mark if isinstance(mark, list) and mark else None


@cache
def boot() -> str:
    """Which start of which host's kernel this is: no two are the same. Empty where the kernel does not say."""
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _unused(names: Iterable[str]) -> set[str]:
    """Return those that are there and that no process maps."""
    left = set(names).intersection(_names())
    if not left:
        return left
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            left -= set(_mapped_by(int(entry.name)))
    return left


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
