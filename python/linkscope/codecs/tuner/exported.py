"""Exported: the runs and results that a file is made of, and where they come from, in a few lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars

from linkscope import __version__
from linkscope.figures.joined import joined
from linkscope.figures.run import Run
from linkscope.results.row import origin_name

_MOST_FILES = 3
"""Run files that are named one by one."""
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Exported:
    """One run, or several of one node."""

    runs: tuple[Run, ...]

    @cached_property
    def results(self) -> polars.DataFrame:
        """Return the results of all runs. Raises LinkscopeError where they do not belong together."""
        return joined(self.runs)

    @property
    def modelled(self) -> bool:
        """Return whether any result comes from a machine model."""
        return any(run.modelled for run in self.runs)

    @property
    def last(self) -> Run:
        """Return the last run, whose header and node count."""
        return self.runs[-1]

    @property
    def origin(self) -> list[str]:
        """Return short lines for a comment, without control characters."""
        header = self.last.header
        versions = header.get("engine", {}).get("versions", {})
        named = ", ".join(f"{name} {versions[name]}" for name in ("nccl", "CUDA runtime") if name in versions)
        tool = origin_name(header)
        files = [run.path.name for run in self.runs]
        listed = ", ".join(files) if len(files) <= _MOST_FILES else f"{len(files)} runs, the last {files[-1]}"
        words = [
            f"Written by linkscope {__version__} from {listed}, {header['started']}",
            f"Node: {self.last.node.name}{f' ({named})' if named else ''}",
            *([f"Figures imported from {tool}"] if tool else []),
        ]
        return ["".join(c if c.isprintable() else "?" for c in word)[:_MOST_CHARACTERS] for word in words]
