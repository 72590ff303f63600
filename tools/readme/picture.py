"""README.md's picture: bandwidth by size of a recorded run, one line for each way of moving."""

from __future__ import annotations

from pathlib import Path

import linkscope

TABLE = "GPU to GPU by size"


def picture(run_file: Path) -> str:
    """A self-contained SVG document, the same for the same run file."""
    return linkscope.read(run_file).plot(TABLE).svg
