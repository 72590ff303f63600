"""Notebooks: show results, and the progress of a run."""
