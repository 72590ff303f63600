"""Exported: the runs and results that a file is made of, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars

from linkscope.figures.joined import joined
from linkscope.figures.run import Run
from linkscope.results.row import origin_name
from linkscope.version import __version__

_MOST_FILES = 3
"""Run files that are named one by one."""
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Exported:
    """One run, or several of one node."""

    runs: tuple[Run, ...]

    @cached_property
    def results(self) -> polars.DataFrame:
        """Return the results that a file may be made of: those without other traffic. Raises LinkscopeError where runs
        do not belong together."""
        return joined(self.runs).filter(status="ok", background=0)

    @property
    def modelled(self) -> bool:
        """Return whether any result comes from a machine model."""
        return any(run.modelled for run in self.runs)

    @property
    def origin(self) -> list[str]:
        """Return short lines for a comment, without control characters."""
        last = self.runs[-1]
        versions = last.header.get("engine", {}).get("versions", {})
        named = ", ".join(f"{name} {versions[name]}" for name in ("nccl", "CUDA runtime") if name in versions)
        tool = origin_name(last.header)
        files = [run.path.name for run in self.runs]
        listed = ", ".join(files) if len(files) <= _MOST_FILES else f"{len(files)} runs, the last {files[-1]}"
        words = [
            f"Written by linkscope {__version__} from {listed}, {last.header['started']}",
            f"Node: {last.node.name}{f' ({named})' if named else ''}",
            *([f"Figures imported from {tool}"] if tool else []),
        ]
        return ["".join(c if c.isprintable() else "?" for c in word)[:_MOST_CHARACTERS] for word in words]

    @property
    def comment(self) -> list[str]:
        """Return these lines behind a "#"."""
        return [f"# {line}" for line in self.origin]
