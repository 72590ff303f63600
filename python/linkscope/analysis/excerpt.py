"""Excerpt: the name by which older reports read a run with its frame. It is always the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars

from linkscope.analysis.figures import figures
from linkscope.results.run_file import RunFile


@dataclass(frozen=True)
class Excerpt:
    """A run and its frame."""

    run: RunFile
    figures: polars.DataFrame


def readable(path: Path) -> RunFile:
    """Return the run at ``path``. Raises LinkscopeError where it is none."""
    return RunFile.read(path)


def opened(path: Path) -> Excerpt:
    """Return the run at ``path`` with its frame. Raises LinkscopeError where it is none."""
    return all_of(RunFile.read(path))


def all_of(run: RunFile) -> Excerpt:
    """Return a run with its frame."""
    return Excerpt(run, figures(run))
