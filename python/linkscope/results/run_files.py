"""Run files by name: files, and folders that hold them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def named(paths: Iterable[Path]) -> list[Path]:
    """Return the files themselves, and all *.jsonl of the folders, by name; each once, in order."""
    found = (file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path]))
    return list(dict.fromkeys(found))
