"""Every table of the run in one line: a line for each path, with a figure for each method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from linkscope.analysis.cell import Cell
from linkscope.analysis.curves import Curve, CurveSet
from linkscope.analysis.saturation import Rate, reaching
from linkscope.report import wording
from linkscope.report.html_sections import Section, family

MOST_METHODS = 3
"""Columns; figures of other methods stand under "all methods"."""
EVEN = 0.03
"""A table whose figures are within that of one another is one figure."""


@dataclass(frozen=True)
class Entry:
    """One table's figure: ``text`` such as "396.1 – 396.4", ``low`` to ``high`` its shares of peak, if known."""

    anchor: str
    text: str
    unit: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GlanceLine:
    """``entries`` by the columns of the table (None where there is none); ``odd``: what to know besides."""

    title: str
    entries: tuple[Entry | None, ...]
    odd: str


@dataclass(frozen=True)
class Glance:
    """``methods``: names of the columns; the last one, "all methods", only where a table needs it."""

    methods: tuple[str, ...]
    lines: tuple[GlanceLine, ...]


ALL = "all methods"


def glance(sections: Sequence[Section]) -> Glance:
    """Of all tables with a figure, in their order."""
    told = [one for one in sections if one.line is not None]
    counts = Counter(method for one in told if (method := _method(one)) != ALL)
    named = [method for method, _ in counts.most_common(MOST_METHODS)]
    used = [*named, *([ALL] if any(_method(one) not in named for one in told) else [])]
    groups: dict[tuple[str, str], dict[str, Section]] = {}
    for one in told:
        column = _method(one) if _method(one) in named else ALL
        title = family(one.table) if column != ALL else one.table.heading.title
        same = (title, one.anchor if column in groups.get((title, ""), {}) else "")
        groups.setdefault(same, {})[column] = one
    lines = [
        GlanceLine(
            title,
            tuple(_entry(group[column]) if column in group else None for column in used),
            "; ".join(dict.fromkeys(text for one in group.values() if (text := _odd(one)))),
        )
        for (title, _), group in groups.items()
    ]
    return Glance(tuple(used), tuple(lines))


def _method(one: Section) -> str:
    heading = one.table.heading
    return heading.methods[0] if family(one.table) != heading.title else ALL


def _entry(one: Section) -> Entry:
    line = one.line
    assert line is not None
    best, worst = (cell.headline for cell in (line.best, line.worst))
    assert best is not None
    assert worst is not None
    value = wording.value(best.value.median)
    low, high = line.lowest_share, line.highest_share
    if _sweeps(one):
        text = f"up to {value}" if best.higher_is_better else f"from {value}"
        low = high
    elif line.spread <= EVEN:
        text = wording.value(line.mean)
    else:
        text = " – ".join(wording.value(number) for number in (line.min, line.max))
    return Entry(one.anchor, text, line.heading.unit, low, high)


def _sweeps(one: Section) -> bool:
    """Whether its figures are of several sizes, or numbers of threads: the lowest then says nothing."""
    return isinstance(one.whole, CurveSet) or len({cell.bytes for cell in one.whole.flat}) > 1


def _odd(one: Section) -> str:
    line, table = one.line, one.whole
    assert line is not None
    if isinstance(table, CurveSet):
        return _of_sweep(table, line.best)
    if line.spread <= EVEN or line.ok < 2 or _sweeps(one):
        return ""
    word = "lowest" if line.worst.headline and line.worst.headline.higher_is_better else "longest"
    return f"{word}: {wording.place(line.worst, line.heading)}"


def _of_sweep(table: CurveSet, best: Cell) -> str:
    """Where the best curve has half of its best, and where another one takes over."""
    parts = []
    curve = next(one for one in table.curves if best in one.points)
    half = half_size(curve) if table.heading.x_name == "bytes" else None
    if half is not None:
        parts.append(f"half of it from {wording.size(half)}")
    changes = [lead.first for lead, before in zip(table.leads[1:], table.leads, strict=False) if _same(lead, before)]
    if changes:
        parts.append(f"another way is best from {wording.either([wording.size(size) for size in changes])}")
    return ", ".join(parts)


def _same(lead: object, before: object) -> bool:
    return all(getattr(lead, name) == getattr(before, name) for name in ("place", "regime"))


def half_size(curve: Curve) -> int | None:
    """Smallest measured bytes from which every rate is half of the one at the largest size; None where times are shown
    or the rates at all sizes are."""
    rates = [
        Rate(int(point.x), value.median, value.low, value.high)
        for point in curve.points
        if point.x and point.headline and point.headline.higher_is_better and (value := point.headline.value)
    ]
    if len(rates) < 2 or min(rate.low for rate in rates) <= 0:
        return None
    found = reaching(rates, 0.5)
    return None if found is None else next(rate.size for rate in rates if rate.size >= found[0])
