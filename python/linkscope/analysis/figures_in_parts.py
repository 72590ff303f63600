"""Figures in parts: those of a large run, whose lines as many processes decode as there are CPUs."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import polars

from linkscope.analysis.figures import figures
from linkscope.analysis.folded_figures import folded_figures
from linkscope.analysis.line_figures import LineFigures, line_figures
from linkscope.results.run_stream import Run, RunStream

Json = dict[str, Any]
MOST_PARTS = 4
LEAST_BYTES = 16 << 20
"""In a part: a process takes as long to start as reading this takes."""
_CHILD = (
    "import sys; sys.path = [path for path in sys.path if path]; "
    "from linkscope.analysis.figures_in_parts import write_part; write_part()"
)
"""Nothing is imported from the current folder."""


def figures_of(run: Run) -> polars.DataFrame:
    """``figures`` of any run, in parts where it is a stream. Raises LinkscopeError where a stream's row is damaged."""
    return figures_in_parts(run).frame.drop("at") if isinstance(run, RunStream) else figures(run)


def is_modelled(run: Run, figures: polars.DataFrame) -> bool:
    """Whether any figure of the run was computed and not measured."""
    return bool(figures["modelled"].any()) or run.node.modelled


@dataclass(frozen=True)
class StreamFigures:
    """``frame`` is that of ``figures`` and a column ``at``, where the lines of their cases begin in the file."""

    frame: polars.DataFrame
    states: tuple[Json, ...]


def figures_in_parts(stream: RunStream, most: int = MOST_PARTS) -> StreamFigures:
    """All that a large run holds, by ``most`` processes at most.

    Raises LinkscopeError where a row is damaged.
    """
    count = max(1, min(most, len(os.sched_getaffinity(0)), stream.size // LEAST_BYTES))
    bounds = [stream.size * part // count for part in range(count + 1)]
    own, *others = pairwise(bounds)
    started = [(part, _start(stream, part)) for part in others]
    try:
        found = [line_figures(stream, *own), *(_taken(stream, part, process) for part, process in started)]
    finally:
        for _, process in started:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
    return StreamFigures(folded_figures(stream, found), tuple(state for one in found for state in one.states))


def _start(stream: RunStream, part: Sequence[int]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    )
    assert process.stdin is not None
    try:
        with process.stdin as stdin:
            pickle.dump((replace(stream, header={"node": stream.header["node"]}), *part), stdin)
    except OSError:  # it could not start: the part is then this process's own
        process.kill()
    process.stdin = None
    return process


def _taken(stream: RunStream, part: Sequence[int], process: subprocess.Popen[bytes]) -> LineFigures:
    """What the process found; where it failed, this one says why, or finds it itself."""
    data, _ = process.communicate()
    if process.returncode != 0:
        return line_figures(stream, *part)
    frames, states = pickle.loads(data)
    return LineFigures(**{name: polars.read_ipc(frame) for name, frame in frames.items()}, states=states)


def write_part() -> None:
    """What a process does: its part is on standard input, its frames go to standard output."""
    found = line_figures(*pickle.load(sys.stdin.buffer))
    named = {one.name: getattr(found, one.name) for one in fields(found)}
    frames = {name: frame.write_ipc(None).getvalue() for name, frame in named.items() if name != "states"}
    pickle.dump((frames, found.states), sys.stdout.buffer)
