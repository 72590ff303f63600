"""Trial: a program run once, in a process of its own that may crash or hang, and what it printed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkscope.launch.process.child import Child
from linkscope.launch.process.scratch import Scratch

_PAUSE_S = 0.02


@dataclass(frozen=True)
class Trial:
    """Hold how a program ended. ``status``: exit code, minus the signal it died of, None after a timeout."""

    status: int | None
    printed: str
    complaints: str

    @property
    def last_words(self) -> str:
        """Return the last line that it complained with; empty where it did not."""
        lines = self.complaints.strip().splitlines()
        return lines[-1].strip() if lines else ""


def trial(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> Trial:
    """Return what a program printed; it is killed after ``limit_s`` seconds. Raises LinkscopeError where it cannot be
    started, OSError without a folder for temporary files."""
    with Scratch() as scratch, (scratch.path / "stdout").open("w+b") as printed:
        child = Child(command, environment, scratch.path / "stderr", printed.fileno())
        deadline = time.monotonic() + limit_s
        try:
            while (status := child.status()) is None and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)
        finally:
            child.close()
        printed.seek(0)
        return Trial(status, printed.read().decode(errors="replace"), child.text())
