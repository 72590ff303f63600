"""Curves: a table of layout "curve" as a picture: medians, bands of their 95% intervals, peaks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import median
from typing import Any, TypeVar

from linkscope.answers.answer import Kind, Table
from linkscope.displayed import Picture
from linkscope.messages import numbers
from linkscope.render import cells
from linkscope.render.svg.axis import PixelAxis, ticks, x_axis, y_axis
from linkscope.render.svg.colours import SERIES
from linkscope.render.svg.drawing import LETTER, LINE, element, framed, text, titled

WIDTH, HEIGHT = 800, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 18, 30, 48
DASHES = ("", "7 4", "2 3", "9 3 2 3", "1 5", "12 4")
MOST_SERIES = 12
"""More series are a band from the lowest to the highest, their median, and those that stand apart."""
MOST_APART = 4
_APART = 0.05
"""Mean distance from the median, as a logarithm, from which a series stands apart."""
MOST_POINTS = 64
"""Points of one series that are drawn."""
RUN = "run"
"""Column of a table with curves of several runs: a series has one colour in all, a run one dash."""


Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class CurvePoint:
    """One result in the picture's unit. ``other``: the time of a rate, or the rate of a time, with its interval."""

    x: float
    y: float
    low: float
    high: float
    other: tuple[float, float, float] | None


@dataclass(frozen=True)
class Series:
    """Points by x. ``colour``: a name of the palette; ``dash``: a stroke pattern, "" for a solid line."""

    name: str
    run: str
    points: tuple[CurvePoint, ...]
    peak: float | None
    colour: str = "s0"
    dash: str = ""


@dataclass(frozen=True)
class Curves:
    """Hold the curves of a picture. ``span``: of all ``many`` series at each x the lowest, median and highest, where
    these are too many to be drawn; ``series`` are then those that stand apart.
    """

    title: str
    unit: str
    x_head: str
    sizes: bool
    series: tuple[Series, ...]
    many: int = 0
    span: tuple[CurvePoint, ...] = ()


def curves(table: Table, title: str) -> Curves:
    """Return what a picture of the table shows; its columns are series, x and y."""
    x, y = (column.name for column in table.columns[1:3])
    frame = table.frame.drop_nulls([x, y])
    lines = list(frame.iter_rows(named=True))
    unit = "s" if table.columns[2].kind is Kind.TIME else str(lines[0].get("unit", "")) if lines else ""
    shown = numbers.shared_time_unit(frame[y].to_list()) if unit == "s" else unit
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault((cells.cell(line, table.columns[0]), str(line.get(RUN, ""))), []).append(line)
    found = [_series(*key, some, x, y, shown) for key, some in groups.items()]
    base = Curves(title, shown, cells.heading(table.columns[1]), table.columns[1].kind is Kind.SIZE, ())
    if len(found) <= MOST_SERIES:
        return replace(base, series=tuple(_styled(found)))
    apart, span = _collapsed(found)
    return replace(base, series=tuple(_styled(apart)), many=len(found), span=span)


def _series(name: str, run: str, lines: Sequence[Mapping[str, Any]], x: str, y: str, unit: str) -> Series:
    def scaled(value: float) -> float:
        return value if unit not in ("ns", "us", "ms", "s") else numbers.in_unit(value, unit)

    points = []
    for line in _evenly(sorted(lines, key=lambda line: float(line[x]))):
        low, high = (scaled(line[y] if line.get(name) is None else line[name]) for name in (f"{y}_low", f"{y}_high"))
        points.append(CurvePoint(float(line[x]), scaled(line[y]), low, high, _other(line, unit)))
    peaks = {line.get("peak_gbps") for line in lines} - {None} if unit == "GB/s" else set()
    return Series(name, run, tuple(points), peaks.pop() if len(peaks) == 1 else None)


def _other(line: Mapping[str, Any], unit: str) -> tuple[float, float, float] | None:
    """Return time in us of a rate, or rate in GB/s of a time."""
    name, factor = ("seconds", 1e6) if unit == "GB/s" else ("gbps", 1.0)
    found = [line.get(f"{name}{side}") for side in ("", "_low", "_high")]
    return None if None in found else (found[0] * factor, found[1] * factor, found[2] * factor)  # type: ignore[operator]


def _evenly(points: Sequence[Drawn]) -> Sequence[Drawn]:
    if len(points) <= MOST_POINTS:
        return points
    picked = dict.fromkeys(round(i * (len(points) - 1) / (MOST_POINTS - 1)) for i in range(MOST_POINTS))
    return [points[i] for i in picked]


def _styled(series: Sequence[Series]) -> list[Series]:
    """Return series, each with its colour and dash.

    Each has a colour while these last; then what is named first has one, "quad: gpu:0 > gpu:1", and the method a dash.
    Of several runs a series has a colour and a run a dash; a run has a colour where all have one name.
    """
    parts = [(one.name, one.run) for one in series]
    if len({run for _, run in parts}) == 1:
        halves = [one.name.rpartition(", ") for one in series]
        parts = [(one.name, "") for one in series] if len(series) <= SERIES else [(a, b) for a, _, b in halves]
    elif len({name for name, _ in parts}) == 1:
        parts = [(run, "") for _, run in parts]
    first, second = (list(dict.fromkeys(some)) for some in zip(*parts, strict=True)) if parts else ([], [])
    places = [(first.index(a), second.index(b)) for a, b in parts]
    return [
        replace(one, colour=f"s{colour % SERIES}", dash=DASHES[dash % len(DASHES)])
        for one, (colour, dash) in zip(series, places, strict=True)
    ]


def _collapsed(series: Sequence[Series]) -> tuple[list[Series], tuple[CurvePoint, ...]]:
    """Return the series farthest from the median of all, and what all span at each x."""
    values: dict[float, list[float]] = {}
    for one in series:
        for point in one.points:
            values.setdefault(point.x, []).append(point.y)
    span = [CurvePoint(x, median(some), min(some), max(some), None) for x, some in sorted(values.items())]
    middle = {point.x: point.y for point in span}

    def distance(one: Series) -> float:
        found = [abs(math.log(p.y / middle[p.x])) for p in one.points if p.y > 0 < middle[p.x]]
        return sum(found) / len(found) if found else 0.0

    far = sorted((one for one in series if distance(one) > _APART), key=distance, reverse=True)
    return far[:MOST_APART], tuple(_evenly(span))


def svg(found: Curves) -> str:
    """Return the picture as an SVG element for a page; "" without a point. Points bear their numbers for scripts."""
    points = [point for one in found.series for point in one.points] + list(found.span)
    if not points:
        return ""
    limits = sorted({one.peak for one in found.series if one.peak is not None})
    x = x_axis(sorted({point.x for point in points}), LEFT + 10, WIDTH - RIGHT - 10)
    low = min([point.low for point in points] + limits)
    y = y_axis(low, max([point.high for point in points] + limits), HEIGHT - BOTTOM, TOP)
    turns = all(point.other is not None for one in found.series for point in one.points)
    return element(
        "svg",
        titled(found.title),
        f"<desc>{escape(_description(found))}</desc>",
        _x_ticks(x, sorted({point.x for point in points}), found),
        _y_ticks(y, found.unit),
        *(_limit(y, limit) for limit in limits),
        _span(found.span, x, y) if found.span else "",
        *(_drawn(one, number, found, x, y) for number, one in enumerate(found.series)),
        **{"class": "curves", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img", "data-log": int(y.log)},
        **{"data-area": f"{LEFT} {WIDTH - RIGHT} {TOP} {HEIGHT - BOTTOM}", "data-unit": found.unit},
        **{"data-turns": "" if found.span else int(turns)},
    )


def _x_ticks(axis: PixelAxis, xs: Sequence[float], found: Curves) -> str:
    marks = []
    for x in xs[:: max(1, math.ceil(len(xs) / 9))]:
        at = axis.at(x)
        marks.append(_grid(at, at, TOP, HEIGHT - BOTTOM))
        marks.append(text(at, HEIGHT - BOTTOM + 18, _x_text(x, found), 12, "dim", 400, "middle"))
    return "".join(marks) + text(WIDTH - RIGHT, HEIGHT - 8, found.x_head, 12, "dim", 600, "end")


def _x_text(x: float, found: Curves) -> str:
    return numbers.size(x) if found.sizes else f"{x:g}"


def _y_ticks(axis: PixelAxis, unit: str) -> str:
    marks = []
    for value in ticks(axis):
        at = axis.at(value)
        marks.append(_grid(LEFT, WIDTH - RIGHT, at, at))
        marks.append(text(LEFT - 8, at + 4, f"{value:g}", 12, "dim", 400, "end"))
    return f'<g class="y-axis">{"".join(marks)}</g><g class="unit">{text(4, 14, unit, 12, "dim", 600)}</g>'


def _grid(x1: float, x2: float, y1: float, y2: float) -> str:
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, stroke="hair")


def _limit(axis: PixelAxis, value: float) -> str:
    line = element("line", x1=LEFT, x2=WIDTH - RIGHT, stroke="dim", stroke_dasharray="6 4")
    words = text(LEFT + 6, -5, f"peak {numbers.number(value)}", 12)
    place = f"translate(0 {axis.at(value):.1f})"
    return element("g", line, words, **{"class": "limit", "data-value": f"{value:.6g}", "transform": place})


def _span(span: Sequence[CurvePoint], x: PixelAxis, y: PixelAxis) -> str:
    band = element("path", d=_band(span, x, y), fill="dim", opacity="0.18")
    look = {"fill": "none", "stroke": "dim", "stroke_width": 1.6, "stroke_dasharray": "6 3"}
    return element("g", band, element("polyline", points=_middle(span, x, y), **look))


def _drawn(one: Series, number: int, found: Curves, x: PixelAxis, y: PixelAxis) -> str:
    band = element("path", **{"class": "band"}, d=_band(one.points, x, y), fill=one.colour, opacity="0.25")
    look = {"fill": "none", "stroke": one.colour, "stroke_width": 2, "stroke_linejoin": "round"}
    line = element("polyline", points=_middle(one.points, x, y), **look, stroke_dasharray=one.dash or None)
    marks = (_mark(point, one, found, x, y) for point in one.points)
    return element("g", band, line, *marks, **{"class": "line", "data-series": number})


def _mark(point: CurvePoint, one: Series, found: Curves, x: PixelAxis, y: PixelAxis) -> str:
    shown = ",".join(f"{value:.6g}" for value in (point.y, point.low, point.high))
    other = ",".join(f"{value:.6g}" for value in point.other or ())
    name = ", ".join(filter(None, (one.name, one.run)))
    interval = f" (95%: {numbers.number_range(point.low, point.high)})" if point.low < point.high else ""
    told = f"{name or found.title}, {_x_text(point.x, found)}: {numbers.number(point.y)} {found.unit}{interval}"
    place = {"cx": x.at(point.x), "cy": y.at(point.y), "r": 3, "fill": one.colour}
    return element("circle", titled(told), **{"class": "mark"}, **place, data_y=shown, data_other=other)


def _middle(points: Sequence[CurvePoint], x: PixelAxis, y: PixelAxis) -> str:
    return " ".join(f"{x.at(one.x):.1f},{y.at(one.y):.1f}" for one in points)


def _band(points: Sequence[CurvePoint], x: PixelAxis, y: PixelAxis) -> str:
    """Return a closed path along the lower ends of the intervals and back along the upper ones."""
    there = [f"{x.at(one.x):.1f} {y.at(one.low):.1f}" for one in points]
    back = [f"{x.at(one.x):.1f} {y.at(one.high):.1f}" for one in reversed(points)]
    return f"M{' L'.join(there + back)}Z"


def _description(found: Curves) -> str:
    """Return the picture in words."""
    spans = [
        f"{', '.join(filter(None, (one.name, one.run))) or found.title}: "
        f"{numbers.number_range(min(p.y for p in one.points), max(p.y for p in one.points))}"
        for one in found.series
    ]
    return ". ".join([f"{found.unit} over {found.x_head}", *spans])


def names(found: Curves) -> list[tuple[int, str, str]]:
    """Return index, name and a sample of the line for each series; none where one series needs no name."""
    named = [(number, ", ".join(filter(None, (one.name, one.run)))) for number, one in enumerate(found.series)]
    if len(named) == 1 and not named[0][1]:
        return []
    return [(number, name, _sample(found.series[number])) for number, name in named]


def _sample(one: Series) -> str:
    look = {"stroke": one.colour, "stroke_width": 2.5, "stroke_dasharray": one.dash or None}
    line = element("line", x1=1, x2=27, y1=4, y2=4, **look)
    mark = element("circle", cx=14, cy=4, r=3, fill=one.colour)
    return element("svg", line, mark, viewBox="0 0 28 8", width=28, height=8, aria_hidden="true")


def legend(found: Curves) -> str:
    """Return what lines and bands mean."""
    ranged = any(point.low < point.high for one in found.series for point in one.points)
    words = ["line: median, band: 95% interval"] if ranged else []
    words += ["dashed: peak of the path"] if any(one.peak for one in found.series) else []
    if found.many:
        words.append(f"grey: lowest, median and highest of {found.many} series")
    return "; ".join(words)


def draw(table: Table, title: str, mark: str, facts: str) -> Picture:
    """Return the picture with its legend as a picture of its own. The table must have a point."""
    found = curves(table, title)
    drawn = svg(found).replace("<svg ", f'<svg width="{WIDTH}" height="{HEIGHT}" ', 1)
    entries = names(found)
    step = 52 + LETTER * 1.15 * max((len(name) for _, name, _ in entries), default=0)
    columns = max(1, min(len(entries), int(WIDTH / step)))
    parts: list[str] = []
    top = float(HEIGHT + 18)
    for _, name, sample in entries:
        place = len(parts) // 2
        x, y = 8 + place % columns * step, top + place // columns * (LINE + 3)
        parts += [sample.replace("<svg ", f'<svg x="{x:.1f}" y="{y - 8:.1f}" ', 1), text(x + 36, y, name)]
    top += -(-len(entries) // columns) * (LINE + 3)
    parts.append(text(8, top + 2, legend(found), 12, "dim"))
    return framed(title, mark, facts, f"{drawn}{''.join(parts)}", WIDTH, top + 8)
