"""What a model has nothing for, in words: before it runs, and above its figures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from linkscope.analysis.model_gaps import ModelGaps


def lines(gaps: ModelGaps, node: str, machine: str) -> list[str]:
    """Which suite rows are not modelled, why, and what to do, each in a line; none where all are modelled. ``machine``:
    the name of the description of ``node``, or its file."""
    if not gaps.lacking:
        return []
    most = f"at most {len(gaps.modelled)}" if gaps.modelled else "none"
    head = f"{node}'s model has {most} of {gaps.asked} suite rows"
    head += f": {_few(gaps.modelled, 1)}" if gaps.modelled else ""
    ask = f"`linkscope list machines {shlex.quote(machine)}` says what it has, and how to add a figure"
    return [head, *(f"not modelled: {_few(rows, 1)}: {_short(why, node)}" for why, rows in gaps.lacking.items()), ask]


def sentence(gaps: ModelGaps, node: str) -> str:
    """The same of a run, without what to do; empty where all are modelled."""
    if not gaps.lacking:
        return ""
    parts = "; ".join(f"{_few(rows, 2)} ({_short(why, node)})" for why, rows in gaps.lacking.items())
    return f"Not modelled: {parts}."


def _few(rows: Sequence[str], most: int) -> str:
    """The first rows; one more than ``most`` takes no more room than its count."""
    left = len(rows) - most
    return ", ".join(rows) if left <= 1 else f"{', '.join(rows[:most])} and {left} more"


def _short(reason: str, node: str) -> str:
    """Without the words that name the node again."""
    return reason.removeprefix(f"the description of {node} ").removeprefix("has ")
