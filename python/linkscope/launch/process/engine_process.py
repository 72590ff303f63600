"""EngineProcess: one engine at work on one plan: its lines with a limit on silence, and its certain end."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.launch.explanation import Explanation
from linkscope.launch.process.child import Child, ShutdownDeadline, signal_name
from linkscope.launch.process.scratch import Scratch
from linkscope.launch.process.threads import thread_states
from linkscope.launch.worker import (
    GarbageError,
    InterruptedRunError,
    RefusedPlanError,
    SilenceError,
    engine_plan,
)

Json = dict[str, Any]

_POLL_S = 0.1


class EngineProcess:
    """A Worker of one process. Use as a context manager: leaving it kills its whole group and waits for it."""

    def __init__(self, engine: Sequence[str], plan: Json, environment: Mapping[str, str]) -> None:
        self._scratch = Scratch()
        folder = self._scratch.path
        try:
            (folder / "plan.json").write_text(json.dumps(engine_plan(plan)), encoding="utf-8")
            command = [*engine, "run", str(folder / "plan.json")]
            self._child = Child(command, environment, folder / "stderr", subprocess.PIPE)
        except OSError as error:
            self._scratch.close()
            raise LinkscopeError(f"cannot write a plan to {folder}: {error.strerror or error}; set TMPDIR") from error
        except LinkscopeError:
            self._scratch.close()
            raise
        self._shutdown = ShutdownDeadline()
        self._pending = b""
        self._lines: list[bytes] = []

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(self._shutdown)
        self._scratch.close()

    def next_record(self, silence_s: float, interrupted: Callable[[], bool]) -> Json | None:
        """See Worker."""
        self._shutdown.urgent = interrupted
        deadline = time.monotonic() + silence_s
        while not self._lines:
            if interrupted():
                raise InterruptedRunError
            if time.monotonic() >= deadline:
                doing = thread_states(self._child.pid)
                silence = f"no sign of life for {silence_s:g} s{f' ({doing})' if doing else ''}"
                raise SilenceError(f"the engine hung: {silence}; it was killed")
            if not self._read(min(_POLL_S, max(deadline - time.monotonic(), 0.0))):
                return None
        if interrupted():
            raise InterruptedRunError
        return parse_record(self._lines.pop(0), "the engine")

    def ending(self) -> Explanation:
        """See Worker."""
        code, words = self._child.exit_code(self._shutdown), self._child.last_words()
        if code == 2:
            raise RefusedPlanError(f"the engine refused the plan: {words or 'it did not say why'}")
        ended = f"the engine died of {signal_name(-code)}" if code < 0 else f"the engine ended with exit code {code}"
        return Explanation((f"{ended}: {words}" if words else ended,))

    def _read(self, timeout_s: float) -> bool:
        """Takes what the engine printed within the time; False at the end of its output."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return True
        data = os.read(self._child.stdout.fileno(), 1 << 16)
        *whole, self._pending = (self._pending + data).split(b"\n")
        self._lines += [line for line in whole if line.strip()]
        return bool(data) or bool(self._lines)


def parse_record(line: bytes, who: str) -> Json:
    """The line's object. Raises GarbageError, which names ``who`` printed it."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise GarbageError(f"{who} printed a line that is not a record: {line[:80].decode(errors='replace')}")
    return record
