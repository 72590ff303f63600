"""The command line: argument handling and nothing else."""

from __future__ import annotations

from linkscope.cli.main import main

__all__ = ["main"]
