"""Origin: where the figures of an exported file come from, in a few lines."""

from __future__ import annotations

from linkscope import __version__
from linkscope.results.row import origin_name
from linkscope.results.run_file import RunFile
from linkscope.results.run_stream import Run

MOST_FILES = 3
"""Run files that are named one by one."""


def origin(run: Run) -> list[str]:
    """Short lines for a comment, without control characters."""
    versions = run.header.get("engine", {}).get("versions", {})
    named = ", ".join(f"{name} {versions[name]}" for name in ("nccl", "CUDA runtime") if name in versions)
    tool = origin_name(run.header)
    files = (run.joined if isinstance(run, RunFile) else ()) or (run.path.name,)
    named_files = ", ".join(files) if len(files) <= MOST_FILES else f"{len(files)} runs, the last {files[-1]}"
    words = [
        f"Written by linkscope {__version__} from {named_files}, {run.header['started']}",
        f"Node: {run.node.name}{f' ({named})' if named else ''}",
        *([f"Figures imported from {tool}"] if tool else []),
    ]
    return ["".join(c if c.isprintable() else "?" for c in word)[:200] for word in words]
