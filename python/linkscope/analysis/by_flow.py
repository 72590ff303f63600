"""A case in which every measured flow has a figure of its own, taken apart into one row for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkscope.analysis.by_figure import by_figure
from linkscope.results.row import Row


def apart(rows: Iterable[Row]) -> list[Row]:
    """Every row taken apart, in order: a row per figure that its labels ask for, and per flow that has its own."""
    return [part for row in rows for one in by_figure(row) for part in by_flow(one)]


def by_flow(row: Row) -> list[Row]:
    """A row per place of ``labels.cells``, that flow first and its place in the labels; [row] where there are none.

    The flows keep their roles, so the load that each was measured under stays visible to ``headline`` and ``peak``.
    Another tool's row has no results of its background, which comes last.
    """
    places = row.labels.get("cells")
    if not places:
        return [row]
    flows = row.case["flows"]
    measured = [index for index, flow in enumerate(flows) if flow.get("role", "measured") == "measured"]
    parts = []
    for first, place in zip(measured, places, strict=True):
        order = [first, *(index for index in range(len(flows)) if index != first)]
        labels = {key: value for key, value in row.labels.items() if key != "cells"} | place
        case = row.case | {"flows": [flows[index] for index in order], "labels": labels}
        results = tuple(row.flows[index] for index in order if index < len(row.flows))
        parts.append(replace(row, case=case, flows=results))
    return parts
