"""Two tools in turn at the same thing: what differs from process to process, or with time, then meets both."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from ratios import Ratio
from rich.console import Console
from rich.table import Table

Key = TypeVar("Key", bound=Hashable)
Figures = dict[Key, float]
Turns = dict[Key, list[float]]
"""Of each turn."""


def take_turns(
    turns: int,
    ours: Callable[[int], Figures[Key]],
    theirs: Callable[[int], Figures[Key]],
    deadline: float = math.inf,
) -> tuple[Turns[Key], Turns[Key]]:
    """What both tools gave in each turn, whose number they are told; the other goes first in every other one.

    No turn begins that, as long as the longest so far, would end after ``deadline`` (time.monotonic()).
    """
    longest = 0.0
    mine: Turns[Key] = defaultdict(list)
    peers: Turns[Key] = defaultdict(list)
    sides = [(mine, ours), (peers, theirs)]
    for turn in range(turns):
        begun = time.monotonic()
        if begun + longest > deadline:
            break
        for found, measure in sides if turn % 2 == 0 else reversed(sides):
            for key, value in measure(turn).items():
                found[key].append(value)
        longest = max(longest, time.monotonic() - begun)
    return mine, peers


def missing(asked: Collection[Key], found: Turns[Key], turns: int) -> int:
    """How many figures a tool was asked for and did not give, in all turns."""
    return sum(turns - len(found.get(key, ())) for key in asked)


def print_missing(lacking: Counter[str], console: Console) -> int:
    """A line for each tool that lacks figures, by how many; the exit code that this makes."""
    for tool, count in (+lacking).items():
        console.print(f"missing: {count} figures of {tool}'s")
    return 1 if +lacking else 0


def ratio_of(case: str, cell: str, unit: str, mine: list[float], peers: list[float]) -> Ratio:
    """Of the medians over the turns. The margin is half of linkscope's range over them; one turn has none."""
    middle = statistics.median(mine)
    margin = (max(mine) - min(mine)) / 2 / middle if len(mine) > 1 else math.nan
    return Ratio(case, cell, middle, statistics.median(peers), unit, margin)


def best_of(case: str, cell: str, unit: str, mine: list[float], peers: list[float]) -> Ratio:
    """The same of each tool's best turn: on a machine that others disturb, what was disturbed least."""
    best: Callable[[list[float]], float] = max if unit == "GB/s" else min
    return Ratio(case, cell, best(mine), best(peers), unit, math.nan)


def table_of(title: str, peer: str, medians: list[Ratio], bests: list[Ratio]) -> Table:
    """A line per cell: both tools' medians and best turns."""
    table = Table(title=title)
    for column in ("", "median", peer, "ratio", "best", peer, "ratio"):
        table.add_column(column, justify="right")
    for median, best in zip(medians, bests, strict=True):
        figures = [f for one in (median, best) for f in (f"{one.ours:.3f}", f"{one.theirs:.3f}", f"{one.value:.3f}")]
        table.add_row(median.cell, *figures)
    return table


def note_of(turns: int) -> str:
    """What stands below tables of ``ratio_of``."""
    return f"medians over {turns} turn(s) of each tool; +- is half of linkscope's range over them"
