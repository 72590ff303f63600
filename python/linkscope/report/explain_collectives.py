"""Collectives in `explain`: a table of those that were held against what their library is known to reach."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.listed import listed
from linkscope.report import wording
from linkscope.report.grid import empty_grid


def as_known(some: Sequence[JudgedCollective]) -> str:
    """That they are as fast as they are known to be: a sentence."""
    kinds = list(dict.fromkeys(one.collective for one in some))
    least = wording.size(min(one.bytes for one in some))
    are = "are as fast on this node as they are" if len(kinds) > 1 else "is as fast on this node as it is"
    return f"{listed(kinds).capitalize()} of {least} or more {are} known to be."


def print_collectives(some: Sequence[JudgedCollective], console: Console, full: bool = False) -> None:
    """Those furthest below what is expected, one of each collective and number of GPUs, or all; then their sources."""
    shown = some if full else _worst(some)
    if not shown:
        return
    marks = dict(zip(dict.fromkeys(one.held_against for one in shown), "abcdefgh", strict=False))
    grid = empty_grid("collective")
    grid.columns[0].no_wrap = True
    for name in ("called" if full else "by", "size", *([] if full else ["line"]), "expected", "measured", "of it"):
        left = name in ("by", "called", "expected")
        grid.add_column(name, justify="left" if left else "right", no_wrap=name != "called")
    for one in shown:
        grid.add_row(
            one.name,
            one.settings if full else one.method.removesuffix("-collective"),
            wording.size(one.bytes),
            *([] if full else [f"{one.line_gbps:.1f}"]),
            Text(f"{one.expected_gbps:.1f} [{marks[one.held_against]}]"),
            f"{one.measured.median:.1f}",
            Text(f"{(1 - one.missing) * 100:.1f} %", style="bold red" if one.short else ""),
        )
    console.print(grid)
    line = "" if full else ". line: the most that links allow"
    console.print(Text(f"GB/s of bus bandwidth, as nccl-tests defines it{line}", style="dim"))
    for source, mark in marks.items():
        below = next((1 - one.tolerance) * 100 for one in shown if one.held_against == source)
        console.print(Text(f"[{mark}] {source}; short below {below:.0f} % of it", style="dim"))


def _worst(some: Sequence[JudgedCollective]) -> list[JudgedCollective]:
    worst: dict[tuple[object, ...], JudgedCollective] = {}
    for one in some:
        key = (one.collective, len(one.gpus), one.method)
        if key not in worst or one.missing > worst[key].missing:
            worst[key] = one
    return list(worst.values())
