"""Child: a program started in a process group of its own, its last words, and its certain end."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from linkscope.errors import LinkscopeError

_PR_SET_PDEATHSIG = 1
_END_S = 10.0
_LAST_BYTES = 1 << 16


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
        """Its standard output, where that is a pipe."""
        assert self._process.stdout is not None
        return self._process.stdout

    def close(self) -> None:
        """Kills what is left of it and closes its output."""
        self.kill()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def status(self) -> int | None:
        """Its exit code, or minus the signal it died of; None while it runs."""
        return self._process.poll()

    def exit_code(self) -> int:
        """Waits for one that should be ending; kills it when it lingers. Negative: minus the signal."""
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode if self._process.returncode is not None else -signal.SIGKILL

    def dismiss(self, patience_s: float) -> None:
        """Asks it to end and to clean up after itself; where it has not within the time, kills it and all that it
        started, whichever group or session that went to.
        """
        started = descendants(self.pid)
        try:
            if self._process.poll() is None:
                self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience_s)
            self.kill()
        finally:
            for held in started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    signal.pidfd_send_signal(held, signal.SIGKILL)
                os.close(held)

    def kill(self) -> None:
        """Ends every process of the group, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it dies when the driver lets go
            self._process.wait(_END_S)

    def text(self) -> str:
        """The end of what it printed on standard error."""
        with self._words.open("rb") as words:
            words.seek(max(words.seek(0, os.SEEK_END) - _LAST_BYTES, 0))
            return words.read().decode(errors="replace")

    def last_words(self) -> str:
        """The last line of its standard error; empty where there is none."""
        lines = self.text().strip().splitlines()
        return " ".join(lines[-1].split()) if lines else ""


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
    """What a child runs before its program: its CPUs, and to be sent ``dying`` when ``parent`` is gone (prctl(2))."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, dying)
        if os.getppid() != parent:  # it was gone before the kernel was asked
            os._exit(1)
        if cpus:
            with contextlib.suppress(OSError):  # a CPU that went offline: the engine binds its threads itself
                os.sched_setaffinity(0, cpus)

    return bind
