"""A row that is shown by several figures, taken apart into one for each."""

from __future__ import annotations

from dataclasses import replace

from linkscope.results.row import Row

WORDS = {"first": "rate", "latency": "time", "algorithm": "algorithm bandwidth", "bus": "bus bandwidth"}
"""What is added to the titles; other figures go by their own names."""


def by_figure(row: Row) -> list[Row]:
    """A row per figure of ``labels.figures``, which its title then names; [row] where there are none."""
    figures = row.labels.get("figures")
    if not figures:
        return [row]
    parts = []
    for figure in figures:
        labels = {key: value for key, value in row.labels.items() if key != "figures"}
        labels |= {"figure": figure, "title": f"{labels.get('title', row.name)}: {WORDS.get(figure, figure)}"}
        parts.append(replace(row, case=row.case | {"labels": labels}))
    return parts
