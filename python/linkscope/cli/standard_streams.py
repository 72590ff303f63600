"""Standard output and error that outlive their readers: a closed pipe changes nothing of what a command does."""

from __future__ import annotations

import io
import os
import sys
from typing import Any


class OutlivingOutput(io.FileIO):
    """A descriptor that leads to the null device from the first write on that finds its pipe closed."""

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        """Write bytes. Return how many were taken, all of them where nobody reads."""
        try:
            return super().write(data)
        except BrokenPipeError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, self.fileno())
            os.close(null)
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """Put such outputs in the place of this process's standard ones; those that something else stands for stay."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed before the start: its number must not become that of a run file
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - for as long as the process lives
        elif isinstance(stream, io.TextIOWrapper):
            buffer: Any = stream.buffer
            if type(getattr(buffer, "raw", buffer)) is io.FileIO:
                output = OutlivingOutput(stream.fileno(), "w", closefd=False)
                kept = {key: getattr(stream, key) for key in ("encoding", "errors", "line_buffering", "write_through")}
                own: Any = output if buffer is getattr(buffer, "raw", buffer) else io.BufferedWriter(output)
                setattr(sys, name, io.TextIOWrapper(own, **kept))
