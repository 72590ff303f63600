"""Workload text: what a run of a workload found. Stand-in until branch analysis is merged."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from linkscope.machine.node import Node
from linkscope.results.row import Row


def show(rows: Sequence[Row], node: Node, console: Console) -> None:
    """One line for each row."""
    del node
    for row in rows:
        took = f"{row.flows[0].seconds.median:.6f} s" if row.flows else f"{row.status}: {row.reason}"
        modelled = "modelled " if row.modelled else ""
        console.print(f"{row.id}  {modelled}{took}", highlight=False, markup=False, soft_wrap=True)
