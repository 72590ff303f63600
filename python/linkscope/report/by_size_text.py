"""By size, on a terminal: sizes down, ways across, the fastest marked; times of small sizes, rates of large ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from linkscope.analysis.by_size import BySize
from linkscope.analysis.cell import MODELS_CLOCK
from linkscope.analysis.choose import ANY, Question
from linkscope.analysis.launch_cost import KERNELS, mixes_launches
from linkscope.report import wording
from linkscope.report.choose_caveats import LAUNCHES_ASIDE, MAY_BE_FASTER, ONE_WAY, by_host, meanings, one_way
from linkscope.report.choose_text import title
from linkscope.report.grid import GAP

MOST_SIZES = 7
MOST_NAMED = 9
"""Sentences on what words mean: all that there are."""
RATES_FROM = 256 << 10
"""Bytes. Below it a time says more than a rate."""
LEAST_WIDTH = 9
"""Of a way's column, its mark included."""
FASTEST = " *"
UNDECIDED = " ?"
ASSUMED = f" {wording.ASSUMED}"
"""As wide."""
_NUMBER = re.compile(r"\d+", re.ASCII)
_BREAKS = re.compile(r"(?<!\bin)(?<!\bto)(?<!\bfrom) ")
"""Where a way's name may be broken: not before its memory."""


def lines(
    found: Sequence[BySize], console: Console, most: int = MOST_SIZES, most_named: int = MOST_NAMED
) -> list[Text]:
    """The first of ``found``, of which there is one at least, as a table of at most so many sizes, at most so many
    sentences on what its words mean, and what is not in it, with what shows it."""
    one = found[0]
    sizes = one.picks(most)
    labels = _aligned([(wording.size(size), _unit(size)) for size in sizes])
    columns = _columns(one, sizes, console.width - max(map(len, labels)))
    height = max(len(column.head) for column in columns)
    heads = [[""] * (height - len(column.head)) + list(column.head) for column in columns]
    told = [Text(line, style="bold") for line in wrap(_titled(one.question), console.width)]
    blank = " " * len(labels[0])
    for number in range(height):
        cells = [head[number] + " " * len(FASTEST) for head in heads]
        told.append(_line(blank, [cell.rjust(column.width) for cell, column in zip(cells, columns, strict=True)]))
    told.append(Text("─" * (len(blank) + sum(column.width + GAP for column in columns))))
    for number, label in enumerate(labels):
        told.append(_line(label, [column.cells[number].rjust(column.width) for column in columns]))
    below = (part for text in _below(found, sizes, len(columns), most_named) for part in wrap(text, console.width))
    return [*told, *(Text(part, style="dim") for part in below)]


@dataclass(frozen=True)
class _Column:
    """A way's name in lines, and its figure at each size."""

    head: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(LEAST_WIDTH, *(len(word) + len(FASTEST) for word in self.head), *map(len, self.cells))


def _columns(one: BySize, sizes: Sequence[int], room: int) -> list[_Column]:
    """Those of the best ways that fit, at least one; those that differ in a number alone in its order, whichever was
    best this time."""
    columns: dict[str, _Column] = {}
    for name in one.ways:
        column = _Column(tuple(_BREAKS.split(name)), tuple(_figure(one, name, size) for size in sizes))
        if columns and sum(other.width + GAP for other in columns.values()) + column.width + GAP > room:
            break
        columns[name] = column
    found: dict[str, list[str]] = {}
    for way in columns:
        found.setdefault(_NUMBER.sub("", way), []).append(way)
    ordered = {name: iter(sorted(ways, key=_numbers)) for name, ways in found.items()}
    return [columns[next(ordered[_NUMBER.sub("", way)])] for way in columns]


def _numbers(way: str) -> list[int]:
    """Sort key that puts threads=2 before threads=10."""
    return list(map(int, _NUMBER.findall(way)))


def _figure(one: BySize, way: str, size: int) -> str:
    cost = one.ways[way].get(size)
    if cost is None:
        return "-" + " " * len(FASTEST)
    figure = size / cost.median / 1e9 if size >= RATES_FROM else cost.median * 1e6
    return wording.value(figure) + _mark(one, way, size)


def _mark(one: BySize, way: str, size: int) -> str:
    if size in one.assumed.get(way, ()):
        return ASSUMED
    if one.rivals(size) > 1 and way in one.fastest(size):
        return FASTEST
    return UNDECIDED if way in one.undecided(size) else " " * len(FASTEST)


def _unit(size: int) -> str:
    return "GB/s" if size >= RATES_FROM else "us"


def _aligned(corner: Sequence[tuple[str, str]]) -> list[str]:
    sizes, units = (max(map(len, column)) for column in zip(*corner, strict=True))
    return [f"{size:<{sizes}}  {unit:>{units}}" for size, unit in corner]


def _line(label: str, cells: Sequence[str]) -> Text:
    line = Text(label)
    for cell in cells:
        line.append(" " * GAP).append(cell, style="bold" if cell.endswith(FASTEST) else "")
    line.rstrip()
    return line


def _titled(question: Question) -> str:
    """Memory that differs from way to way stands with them."""
    return title(replace(question, memory="") if question.memory == ANY else question)


def _waits_for(one: BySize, other: BySize) -> bool:
    """Whether the other has the answer to the question of this one with a launch for every copy."""
    _, *conditions = other.question.conditions
    same = replace(one.question, conditions=()) == replace(other.question, conditions=())
    kernels = {name.startswith(KERNELS) for name in other.ways}
    return by_host(other.question) and same and conditions == [*one.question.conditions[1:]] and len(kernels) > 1


def _below(found: Sequence[BySize], sizes: Sequence[int], shown: int, most_named: int) -> list[str]:
    one = found[0]
    left = len(one.ways) - shown
    marks = ["* fastest, or within 1 %"] if len(one.ways) > 1 else []
    undecided = any(one.undecided(size) for size in sizes)
    marks += ["? cannot tell from it"] if undecided else []
    assumed = any(size in some for some in one.assumed.values() for size in sizes)
    marks += [f"{wording.ASSUMED} {wording.OF_NO_SOURCE}"] if assumed else []
    lacking = any(size not in costs for size in sizes for costs in one.ways.values())
    modelled = one.question.conditions[0].startswith(MODELS_CLOCK)
    marks += [f"-: not {'modelled' if modelled else 'measured'}"] if lacking else []
    of_nccl = any("xccl-collective" in name for name in one.ways)
    algorithm = ", as nccl-tests' algbw" if of_nccl else ""
    rates = [f"GB/s: size over time{algorithm}"] if any(size >= RATES_FROM for size in sizes) else []
    ways = [wording.count(left, "more way")] if left else []
    others = [wording.count(len(found) - 1, "more question")] if len(found) > 1 else []
    settings = [f"{setting}: {MAY_BE_FASTER}" for setting in one.settings]
    more = [f"and {'; '.join((*ways, *others))}: see --full"] if ways or others else []
    named = meanings(list(one.ways)[:shown], (one.question,))
    named += [ONE_WAY] if one_way(one.question) and by_host(one.question) else []
    if mixes_launches(one.question.conditions, one.ways):
        waited = any(map(partial(_waits_for, one), found))
        named.append(f"{LAUNCHES_ASIDE}: `{'linkscope choose RUN' if waited else 'run --clock host'}`.")
    return [*filter(None, ["; ".join((*marks, *rates))]), *named[:most_named], *settings, *more]
