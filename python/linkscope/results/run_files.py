"""Run files by name: files, and folders that hold them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import Run, open_run


def named(paths: Iterable[Path]) -> list[Path]:
    """The files themselves, and all *.jsonl of the folders, by name; each once, in order."""
    found = (file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path]))
    return list(dict.fromkeys(found))


def open_all(paths: Iterable[Path]) -> list[Run]:
    """The runs of all ``named``, large ones as streams. Raises LinkscopeError where one is no run file."""
    return [open_run(path) for path in named(paths)]


def read_all(paths: Iterable[Path]) -> list[RunFile]:
    """Likewise, all of them whole."""
    return [RunFile.read(path) for path in named(paths)]
