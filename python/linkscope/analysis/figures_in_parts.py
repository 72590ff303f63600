"""Figures in parts: the name by which older analyses ask for the frame of any run."""

from __future__ import annotations

import polars

from linkscope.analysis.figures import figures as figures_of
from linkscope.results.run_file import RunFile

__all__ = ["figures_of", "is_modelled"]


def is_modelled(run: RunFile, figures: polars.DataFrame) -> bool:
    """Return whether any figure of the run was computed and not measured."""
    return bool(figures["modelled"].any()) or run.node.modelled
