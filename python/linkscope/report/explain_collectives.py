"""Collectives in `explain`: those that were held against what their library is known to reach, in words and a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from linkscope.analysis.conditions import differing
from linkscope.analysis.known_collectives import JudgedCollective
from linkscope.messages.listed import listed
from linkscope.report import wording
from linkscope.report.grid import empty_grid

UNSURE = " ?"
PLAIN, ALLOCATOR = "device", "memory of the library's allocator"
IMPORTED = "If you know, `linkscope import FILE --nvls on|off` takes your word"
MEASURE = '`NCCL_NVLS_ENABLE=0 linkscope run collectives -k "xccl-calls and all-reduce" --sizes 1G`'


def as_known(some: Sequence[JudgedCollective]) -> str:
    """Of those that are as fast as they are known to be that they are: a sentence; empty without any."""
    fine = [one for one in some if not one.short and not one.open]
    if not fine:
        return ""
    names = list(dict.fromkeys(one.name for one in fine))
    are = "are as fast on this node as they are" if len(names) > 1 else "is as fast on this node as it is"
    least = wording.size(min(one.bytes for one in fine))
    return f"{_capital(listed(names))} {are} known to be, from {least} on."


def left_open(some: Sequence[JudgedCollective]) -> str:
    """Of which reductions in the switch leave open whether they are fast: a sentence; empty without any."""
    open_ = [one for one in some if one.faster_known]
    names = dict.fromkeys(one.name for one in open_)
    if not names:
        return ""
    tells = IMPORTED if all(one.tool for one in open_) else MEASURE + " tells"
    return (
        f"without reductions in the switch (NVLS) {listed(names)} is as fast as known; with them it may be faster, and "
        f"nothing says whether they were used. {tells}."
    )


def larger(known_from: int) -> str:
    """Why none could be judged where one of this size could: two sentences."""
    return f"known figures of collectives begin at {wording.size(known_from)}, without NVLS. {MEASURE} measures such."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def print_collectives(shown: Sequence[JudgedCollective], console: Console, taken: int) -> None:
    """A line for each, with the links' rate where there is one of each kind; then their sources, numbered from
    ``taken`` on. Nothing without any."""
    if not shown:
        return
    sources = dict.fromkeys(one.held_against for one in shown)
    marks = {source: number for number, source in enumerate(sources, taken + 1)}
    full = len(shown) > len(worst_of_each(shown))
    ways = _ways(shown)
    grid = empty_grid("collective")
    grid.columns[0].no_wrap = True
    for name in ("by", "size", *([] if full else ["line"]), "expected", "measured", "of it"):
        grid.add_column(name, justify="left" if name in ("by", "expected") else "right", no_wrap=name != "by")
    for one, way in zip(shown, ways, strict=True):
        share = f"{(1 - one.missing) * 100:.1f} %{UNSURE if one.open else ''}"
        grid.add_row(
            one.name,
            Text(way, overflow="fold"),
            wording.size(one.bytes),
            *([] if full else [f"{one.line_gbps:.1f}"]),
            Text(f"{one.expected_gbps:.1f} [{marks[one.held_against]}]"),
            f"{one.measured.median:.1f}",
            Text(share, style="bold red" if one.short else ""),
        )
    console.print(grid)
    words = ["GB/s of bus bandwidth, as nccl-tests defines it"]
    words += [] if full else ["line: rate of a GPU's links"]
    if any(one.conditions["memory"] != PLAIN for one in shown):
        words.append(f"in xccl: {ALLOCATOR}, by which a few percent may differ from a source's")
    words += ["?: cannot be told"] if any(one.open for one in shown) else []
    console.print(Text("; ".join(words), style="dim"))
    for source, number in marks.items():
        below = next((1 - one.tolerance) * 100 for one in shown if one.held_against == source)
        console.print(Text(f"[{number}] {source}; short below {below:.0f} % of it", style="dim"))


def worst_of_each(some: Sequence[JudgedCollective]) -> list[JudgedCollective]:
    """Of each collective and number of GPUs the one furthest below what is expected."""
    worst: dict[tuple[object, ...], JudgedCollective] = {}
    for one in some:
        key = (one.collective, len(one.gpus), one.method)
        if key not in worst or one.missing > worst[key].missing:
            worst[key] = one
    return list(worst.values())


def _ways(some: Sequence[JudgedCollective]) -> list[str]:
    """The library, and what tells each from others of its name and size."""
    alike: dict[tuple[str, int], list[int]] = {}
    for place, one in enumerate(some):
        alike.setdefault((one.name, one.bytes), []).append(place)
    apart = [""] * len(some)
    for places in alike.values():
        for place, word in zip(places, differing([some[place].conditions for place in places]), strict=True):
            apart[place] = word
    return [f"{_library(one)} {word}".rstrip() for one, word in zip(some, apart, strict=True)]


def _library(one: JudgedCollective) -> str:
    """Such as "xccl", "xccl in xccl" of memory of its own."""
    memory = one.conditions["memory"]
    return f"{one.method.removesuffix('-collective')}{'' if memory == PLAIN else f' in {memory}'}"
