"""Figures: from a run file to one frame of results, which every answer reads."""
