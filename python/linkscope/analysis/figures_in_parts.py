"""Figures in parts: those of a large run, by as many processes as there are CPUs, each for some of its cases."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from typing import Any

import polars

from linkscope.analysis.figures import figures
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import RunStream

Json = dict[str, Any]
MOST_PARTS = 4
LEAST_CASES = 10_000
"""In a part: a process takes as long to start as 2,000 cases."""
_CHILD = (
    "import sys; sys.path = [path for path in sys.path if path]; "
    "from linkscope.analysis.figures_in_parts import write_part; write_part()"
)
"""Nothing is imported from the current folder."""
_NEEDED = ("node", "noise")
"""What of a header rows and peaks depend on."""


def figures_of(run: RunFile | RunStream) -> polars.DataFrame:
    """``figures`` of any run, in parts where it is a stream. Raises LinkscopeError where a stream's row is damaged."""
    return figures_in_parts(run) if isinstance(run, RunStream) else figures(run)


def figures_in_parts(stream: RunStream, most: int = MOST_PARTS) -> polars.DataFrame:
    """``figures``, by ``most`` processes at most. Raises LinkscopeError as it does."""
    count = max(1, min(most, len(os.sched_getaffinity(0)), len(stream.places) // LEAST_CASES))
    own, *others = _parts(stream, count)
    started = [(part, _start(part)) for part in others]
    try:
        frames = [figures(own), *(_taken(part, process) for part, process in started)]
    finally:
        for _, process in started:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    return polars.concat(frames)


def _parts(stream: RunStream, count: int) -> list[RunStream]:
    """The stream's cases in ``count`` parts of one size, in order."""
    header = {name: stream.header[name] for name in _NEEDED if name in stream.header}
    places = iter(stream.places.items())
    size = -(-len(stream.places) // count)
    return [replace(stream, header=header, places=dict(islice(places, size))) for _ in range(count)]


def _start(part: RunStream) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            pickle.dump(part, stdin)
    except OSError:  # it could not start: the part is then this process's own
        process.kill()
    process.stdin = None
    return process


def _taken(part: RunStream, process: subprocess.Popen[bytes]) -> polars.DataFrame:
    """What the process found; where it failed, this one says why, or finds it itself."""
    data, _ = process.communicate()
    return polars.read_ipc(io.BytesIO(data)) if process.returncode == 0 else figures(part)


def write_part() -> None:
    """What a process does: its part is on standard input, its figures go to standard output."""
    figures(pickle.load(sys.stdin.buffer)).write_ipc(sys.stdout.buffer)
