"""Run streams: the name by which older code opens a run file. All run files are read alike now."""

from __future__ import annotations

from pathlib import Path

from linkscope.results.run_file import RunFile

Run = RunFile


def open_run(path: Path) -> RunFile:
    """Return the run at ``path``. Raises LinkscopeError where it is none."""
    return RunFile.read(path)
