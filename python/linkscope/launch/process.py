"""EngineProcess: one engine at work on one plan: its lines with a limit on silence, and its certain end."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from linkscope.errors import LinkscopeError

Json = dict[str, Any]

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.1
_END_S = 10.0


class SilenceError(Exception):
    """The engine printed nothing for as long as it was given."""


class GarbageError(Exception):
    """The engine printed a line that is not a JSON object."""


class EngineProcess:
    """Starts the program in a process group of its own, which dies with this process whatever happens.

    Use as a context manager: leaving it kills the whole group and waits for it.
    """

    def __init__(self, program: Path, plan: Json, environment: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="linkscope-")
        folder = Path(self._folder.name)
        try:
            (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
            self._stderr = (folder / "stderr").open("w+b")
        except OSError as error:
            self._folder.cleanup()
            raise LinkscopeError(f"cannot write a plan to {folder}: {error.strerror or error}; set TMPDIR") from error
        try:
            self._process = subprocess.Popen(
                [str(program), "run", str(folder / "plan.json")],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),
            )
        except OSError as error:
            self._stderr.close()
            self._folder.cleanup()
            raise LinkscopeError(f"cannot start {program}: {error.strerror or error}") from error
        self._pending = b""
        self._lines: list[bytes] = []

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._stderr.close()
        self._folder.cleanup()

    def next_record(self, silence_s: float, interrupted: Callable[[], bool]) -> Json | None:
        """The next line's object; None at the end of output, or as soon as ``interrupted`` says so.

        Raises SilenceError after ``silence_s`` seconds without a line, GarbageError for a line that is no object.
        """
        deadline = time.monotonic() + silence_s
        while not self._lines:
            if interrupted():
                return None
            if time.monotonic() >= deadline:
                raise SilenceError
            if not self._read(min(_POLL_S, max(deadline - time.monotonic(), 0.0))):
                return None
        line = self._lines.pop(0)
        try:
            record = json.loads(line)
        except ValueError as error:
            raise GarbageError(line[:80].decode(errors="replace")) from error
        if not isinstance(record, dict):
            raise GarbageError(line[:80].decode(errors="replace"))
        return record

    def kill(self) -> None:
        """Ends every process of the group, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # stuck in the kernel: it dies when the driver lets go
            self._process.wait(_END_S)

    def exit_code(self) -> int:
        """Waits for an engine that has closed its output; kills one that then lingers. Negative: minus the signal."""
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.returncode if self._process.returncode is not None else -signal.SIGKILL

    def last_words(self) -> str:
        """The last line of its standard error; empty where there is none."""
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(self._stderr.tell() - 4096, 0))
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines[-1].split()) if lines else ""

    def _read(self, timeout_s: float) -> bool:
        """Takes what the engine printed within the time; False at the end of its output."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return True
        data = os.read(self._process.stdout.fileno(), 1 << 16)
        *whole, self._pending = (self._pending + data).split(b"\n")
        self._lines += [line for line in whole if line.strip()]
        return bool(data) or bool(self._lines)


def _die_with(parent: int) -> Callable[[], None]:
    """What a child runs before its program: ask the kernel to kill it when ``parent`` is gone (prctl(2))."""
    libc = ctypes.CDLL(None, use_errno=True)

    def bind() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was gone before the kernel was asked
            os._exit(1)

    return bind
