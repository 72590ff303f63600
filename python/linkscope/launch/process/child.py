"""Child: a program started in a process group of its own, its last words, and its certain end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from linkscope.errors import LinkscopeError

Urgent = Callable[[], bool]
"""Returns whether linkscope has been asked to stop."""

URGENT_S = 1.0
"""Seconds that it then waits for processes to end by themselves, and again for those that it killed.
"""
_PR_SET_PDEATHSIG = 1
_END_S = 10.0
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.0005, 0.02
_LAST_BYTES = 1 << 16


def never() -> bool:
    """Nothing is urgent."""
    return False


@dataclass
class ShutdownDeadline:
    """Cut waits short once it is ``urgent``. All count from the moment when that was first seen, so that several in a
    row end together.
    """

    urgent: Urgent = never
    since: float | None = None

    def cut(self, deadline: float, killed: float | None = None) -> float:
        """``deadline``, by time.monotonic(), or ``URGENT_S`` after it became urgent where that is sooner: of what was
        ``killed`` then, after that, but no later than twice the time after it became urgent.
        """
        if self.since is None and self.urgent():
            self.since = time.monotonic()
        if self.since is None:
            return deadline
        begin = self.since if killed is None else min(max(killed, self.since), self.since + URGENT_S)
        return min(deadline, begin + URGENT_S)


class Child:
    """A process whose whole group ends with this process, whatever happens to it.

    ``stderr`` is the file that its standard error goes to; its standard output goes there too, unless ``stdout`` is
    subprocess.PIPE or a descriptor. ``cpus``: those it may run on; empty: as this process. ``files``: descriptors that
    stay open in it. ``dying``: what it is sent when this process is gone. Raises LinkscopeError where it cannot be
    started.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stderr: Path,
        stdout: int | None = None,
        cpus: Sequence[int] = (),
        files: Sequence[int] = (),
        dying: signal.Signals = signal.SIGKILL,
    ) -> None:
        self._words = stderr
        with stderr.open("wb") as words:
            try:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=words if stdout is None else stdout,
                    stderr=words,
                    env=dict(environment),
                    pass_fds=tuple(files),
                    start_new_session=True,
                    preexec_fn=_bound_to(os.getpid(), tuple(cpus), dying),
                )
            except OSError as error:
                raise LinkscopeError(f"cannot start {command[0]}: {error.strerror or error}") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> IO[bytes]:
        """Return its standard output, where that is a pipe."""
        assert self._process.stdout is not None
        return self._process.stdout

    def close(self, shutdown: ShutdownDeadline | None = None) -> None:
        """Kills what is left of it and closes its output."""
        end_all([self], shutdown)

    def status(self) -> int | None:
        """Return its exit code, or minus the signal it died of; None while it runs."""
        return self._process.poll()

    def exit_code(self, shutdown: ShutdownDeadline | None = None) -> int:
        """Waits for one that should be ending; kills it when it lingers. Negative: minus the signal."""
        shutdown = shutdown or ShutdownDeadline()
        if not _await_ends([self], _END_S, shutdown):
            self._kill_group()
            _await_ends([self], _END_S, shutdown, time.monotonic())
        status = self.status()
        return status if status is not None else -signal.SIGKILL

    def dismiss(self, limit_s: float, shutdown: ShutdownDeadline | None = None) -> None:
        """Asks it to end and to clean up after itself; where it has not within the time, kills it and all that it
        started, whichever group or session that went to.
        """
        shutdown = shutdown or ShutdownDeadline()
        started = descendants(self.pid)
        try:
            if self._process.poll() is None:
                self._process.terminate()
            _await_ends([self], limit_s, shutdown)
            self._kill_group()
        finally:
            for held in started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(held, signal.SIGKILL)
                os.close(held)
        _await_ends([self], _END_S, shutdown, time.monotonic())

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def text(self) -> str:
        """The end of what it printed on standard error."""
        with self._words.open("rb") as words:
            words.seek(max(words.seek(0, os.SEEK_END) - _LAST_BYTES, 0))
            return words.read().decode(errors="replace")

    def last_words(self) -> str:
        """The last line of its standard error; empty where there is none."""
        lines = self.text().strip().splitlines()
        return " ".join(lines[-1].split()) if lines else ""


def end_all(children: Sequence[Child], shutdown: ShutdownDeadline | None = None) -> None:
    """Kills every process of their groups, all of them at once, and closes their output. One that is stuck in the
    kernel dies when the driver lets go: that is waited for within limits.
    """
    for child in children:
        child._kill_group()
    _await_ends(children, _END_S, shutdown or ShutdownDeadline(), time.monotonic())
    for child in children:
        if child._process.stdout is not None:
            child._process.stdout.close()


def _await_ends(
    children: Sequence[Child], limit_s: float, shutdown: ShutdownDeadline, killed: float | None = None
) -> bool:
    """Return whether all of them have ended within the time, cut where it is urgent; ``killed``: when they were."""
    deadline, pause_s = time.monotonic() + limit_s, _FIRST_PAUSE_S
    while any(child.status() is None for child in children):
        if time.monotonic() >= shutdown.cut(deadline, killed):
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LAST_PAUSE_S)
    return True


def descendants(ancestor: int) -> list[int]:
    """A hold (pidfd) on each process that ``ancestor`` or one of its descendants started and that still runs."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(_parent_of(int(entry.name)), []).append(int(entry.name))
    held: list[int] = []
    parents = [ancestor]
    while parents:
        parent = parents.pop()
        for pid in children.get(parent, ()):
            with contextlib.suppress(OSError):
                held.append(os.pidfd_open(pid))
                if _parent_of(pid) == parent:
                    parents.append(pid)
                else:  # the number has passed to another
                    os.close(held.pop())
    return held


def _parent_of(pid: int) -> int:
    """0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def signal_name(number: int) -> str:
    """SIGKILL for 9; "signal 99" for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _bound_to(parent: int, cpus: tuple[int, ...], dying: signal.Signals) -> Callable[[], None]:
    """Return what a child runs before its program: it sets its CPUs, and the signal ``dying`` for the end of
    ``parent`` (prctl(2)).
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, dying)
        if os.getppid() != parent:  # it was gone before the kernel was asked
            os._exit(1)
        if cpus:
            with contextlib.suppress(OSError):  # a CPU that went offline: the engine binds its threads itself
                os.sched_setaffinity(0, cpus)

    return bind
