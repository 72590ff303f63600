"""Curves as SVG: median line, band of its 95 % interval, p5-p95 whiskers of light, peak lines, log axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from linkscope.analysis.cell import Cell, Heading
from linkscope.analysis.curves import Curve, CurveSet
from linkscope.analysis.headline import in_unit
from linkscope.report import wording
from linkscope.report.series_band import Band

WIDTH, HEIGHT = 800, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 18, 30, 48
COLOURS = 8
"""Distinct colours of the style sheet (classes c0 to c7)."""
DASHES = ("", "7 4", "2 3", "9 3 2 3", "1 5", "12 4")
LOG_FROM = 8.0
_TURNS = ' data-turns=""'
"""Marks a picture that can be drawn over times, too."""


@dataclass(frozen=True)
class Axis:
    """Maps values in [low, high] to pixels in [start, end]; logarithmic where ``log``: what is less stands at start."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def at(self, value: float) -> float:
        """Pixel of a value."""
        share = _position(max(value, self.low) if self.log else value, self.low, self.high, self.log)
        return self.start + (self.end - self.start) * share


def curve_svg(table: CurveSet, index_of: Callable[[Cell], int], band: Band | None = None) -> str:
    """The picture; every point carries ``data-i``, its index among the page's cells. "" without an ok point.

    ``band``: of all series, of which the table then has but some. ``data-turns`` stands where size over figure is the
    other figure: the time of a rate, the rate of a time."""
    points = [point for point in table.flat if point.headline is not None and point.x is not None]
    if not points:
        return ""
    xs = sorted({*table.xs, *(spread.x for spread in band.points)}) if band else list(table.xs)
    x_axis = _x_axis(xs)
    y_axis = _y_axis(table, points, band)
    parts = [
        f'<svg class="curves" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'data-area="{LEFT} {WIDTH - RIGHT} {TOP} {HEIGHT - BOTTOM}" data-log="{int(y_axis.log)}" '
        f'data-unit="{escape(table.heading.unit)}"{_TURNS if _turns(table, points) else ""}>',
        f"<title>{escape(table.heading.title)}</title><desc>{escape(_description(table, band))}</desc>",
        _x_ticks(x_axis, xs, table.heading),
        _y_ticks(y_axis, table.heading.unit),
        _origin(table.heading),
        _peaks(table.curves, y_axis),
        _bounds(table.heading, y_axis),
        _of_all(band, x_axis, y_axis) if band else "",
        *(
            _series(curve, number, style, x_axis, y_axis, index_of)
            for number, (curve, style) in enumerate(zip(table.curves, styles(table), strict=True))
        ),
        "</svg>",
    ]
    return "\n".join(parts)


@dataclass(frozen=True)
class Style:
    """``colour``: class c0 to c7; ``dash``: a stroke pattern, empty for a solid line."""

    colour: int
    dash: str


def styles(table: CurveSet) -> list[Style]:
    """A style per curve: each its colour while they last, else a colour per way of moving and a dash per place.

    Where all have one place, a dash for each turn of the colours. Of several runs a colour per series and a dash per
    run, of one series alone a colour per run. Curves without a figure use none up.
    """
    drawn = [curve for curve in table.curves if any(point.headline is not None for point in curve.points)]
    found = iter(_styles(drawn))
    return [next(found) if curve in drawn else Style(0, "") for curve in table.curves]


def _styles(curves: Sequence[Curve]) -> list[Style]:
    of_runs = [curve.beside for curve in curves if curve.beside is not None]
    series = list(dict(of_runs))
    if len(series) > 1:
        return [Style(series.index(name) % COLOURS, DASHES[run % len(DASHES)]) for name, run in of_runs]
    if of_runs:
        return [Style(run % COLOURS, "") for _, run in of_runs]
    if len(curves) <= COLOURS:
        return [Style(number, "") for number in range(len(curves))]
    named = [curve.series.partition(", ") for curve in curves]
    places = list(dict.fromkeys(place for place, _, _ in named))
    ways = list(dict.fromkeys(way for _, _, way in named))
    if len(places) == 1:
        return [Style(number % COLOURS, DASHES[number // COLOURS % len(DASHES)]) for number in range(len(named))]
    return [Style(ways.index(way) % COLOURS, DASHES[places.index(place) % len(DASHES)]) for place, _, way in named]


def _position(value: float, low: float, high: float, log: bool) -> float:
    if high == low:
        return 0.5
    if log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _x_axis(xs: Sequence[float]) -> Axis:
    """Logarithmic from a factor on; a zero then stands a step left of the first that is more."""
    more = [x for x in xs if x > 0]
    log = len(more) > 1 and xs[0] >= 0 and more[-1] / more[0] >= LOG_FROM
    low = more[0] ** 2 / more[1] if log and xs[0] == 0 else xs[0]
    return Axis(low, xs[-1], LEFT + 10, WIDTH - RIGHT - 10, log)


def _y_axis(table: CurveSet, points: Sequence[Cell], band: Band | None) -> Axis:
    stats = [point.headline.value for point in points if point.headline is not None]
    limits = [c.peak_gbps for c in table.curves if c.peak_gbps is not None]
    limits += [in_unit(one.seconds, table.heading.unit) for one in table.heading.bounds]
    limits += [edge for spread in (band.points if band else ()) for edge in (spread.low, spread.high)]
    low = min([min(s.p5, s.low) for s in stats] + limits)
    high = max([max(s.p95, s.high) for s in stats] + limits)
    if low > 0 and high / low >= LOG_FROM:
        return Axis(low / 1.25, high * 1.25, HEIGHT - BOTTOM, TOP, log=True)
    return Axis(0.0, high * 1.08 if high > 0 else 1.0, HEIGHT - BOTTOM, TOP, log=False)


def _origin(heading: Heading) -> str:
    """Where the figures are not measured here the picture says so, wherever it is copied to."""
    mark = wording.mark(heading)
    return f'<text class="origin" x="{WIDTH - RIGHT}" y="14" text-anchor="end">{escape(mark)}</text>' if mark else ""


def _x_ticks(axis: Axis, xs: Sequence[float], heading: Heading) -> str:
    step = max(1, math.ceil(len(xs) / 9))
    marks = []
    for x in xs[::step]:
        at = axis.at(x)
        marks.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
            f"{escape(wording.x_value(x, heading.x_name))}</text>"
        )
    place = f'x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end"'
    name = f'<text class="axis" {place}>{escape(wording.x_title(heading.x_name))}</text>'
    return "".join(marks) + name


def _y_ticks(axis: Axis, unit: str) -> str:
    marks = []
    for number in _log_ticks(axis) if axis.log else _linear_ticks(axis):
        at = axis.at(number)
        marks.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="tick" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{number:g}</text>'
        )
    return f'<g class="y-axis">{"".join(marks)}</g><text class="axis unit" x="4" y="14">{escape(unit)}</text>'


def _log_ticks(axis: Axis) -> list[float]:
    """1, 2 and 5 of each decade; only the ones where that would crowd."""
    exponents = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    for digits in ((1, 2, 5), (1,)):
        ticks = [digit * 10.0**exponent for exponent in exponents for digit in digits]
        inside = [tick for tick in ticks if axis.low <= tick <= axis.high]
        if len(inside) <= 10:
            return inside
    return inside


def _linear_ticks(axis: Axis) -> list[float]:
    rough = axis.high / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough)
    return [step * i for i in range(int(axis.high / step) + 1)]


def _description(table: CurveSet, band: Band | None) -> str:
    """What the picture shows, for those who do not see it."""
    heading = table.heading
    what = f"{heading.unit} over {wording.x_title(heading.x_name)}"
    spans = [text for curve, name in zip(table.curves, table.names, strict=True) if (text := _spoken(curve, name))]
    many = [f"a band of {band.count} series and their median"] if band else []
    return ". ".join([what, *many, *spans])


def _spoken(curve: Curve, name: str) -> str:
    values = [point.headline.value.median for point in curve.points if point.headline is not None]
    return f"{name or 'figures'}: {wording.value(min(values))} to {wording.value(max(values))}" if values else ""


def _turns(table: CurveSet, points: Sequence[Cell]) -> bool:
    """Whether all points are of bytes that one operation moves, and the axis counts them."""
    own = all(point.bytes > 0 and point.headline is not None and point.headline.of_bytes for point in points)
    return own and table.heading.x_name == "bytes"


def _of_all(band: Band, x: Axis, y: Axis) -> str:
    """What all series span, and their median at each place; ``data-points`` holds place, x, low, median and high."""
    edges = _band([(x.at(one.x), y.at(one.low), y.at(one.high)) for one in band.points])
    middle = " ".join(f"{x.at(one.x):.1f},{y.at(one.median):.1f}" for one in band.points)
    numbers = (f"[{x.at(one.x):.1f},{one.x:g},{one.low:g},{one.median:g},{one.high:g}]" for one in band.points)
    return (
        f'<g class="of-all" data-points="[{",".join(numbers)}]"><path class="envelope" data-series="span" d="{edges}"/>'
        f'<polyline class="middle" data-series="median" points="{middle}"/></g>'
    )


def _bounds(heading: Heading, axis: Axis) -> str:
    """What a collective's time is held against: one and two passes of the run's best latency."""
    end = f'x="{WIDTH - RIGHT - 6}" text-anchor="end"'  # times grow with the size: there is room on the right
    parts = []
    for one in heading.bounds:
        time = in_unit(one.seconds, heading.unit)
        text = f"{wording.PASSES[one.passes]}, {wording.value(time)} {heading.unit}"
        parts.append(_limit(axis, time, text, end))
    return "".join(parts)


def _limit(axis: Axis, value: float, text: str, place: str = f'x="{LEFT + 6}"') -> str:
    return (
        f'<g class="limit" data-value="{value:.6g}" transform="translate(0 {axis.at(value):.1f})">'
        f'<line class="peak" x1="{LEFT}" x2="{WIDTH - RIGHT}"/>'
        f'<text class="peak" {place} y="-5">{escape(text)}</text></g>'
    )


def _peaks(curves: Sequence[Curve], axis: Axis) -> str:
    limits = sorted({curve.peak_gbps for curve in curves if curve.peak_gbps is not None})
    return "".join(_limit(axis, limit, f"peak {wording.value(limit)}") for limit in limits)


def _series(curve: Curve, number: int, style: Style, x: Axis, y: Axis, index_of: Callable[[Cell], int]) -> str:
    points = [(x.at(p.x), p.headline.value, p) for p in curve.points if p.headline is not None and p.x is not None]
    if not points:
        return ""
    line = " ".join(f"{at:.1f},{y.at(s.median):.1f}" for at, s, _ in points)
    pattern = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    wide = _band([(at, y.at(s.p5), y.at(s.p95)) for at, s, _ in points])
    tight = _band([(at, y.at(s.low), y.at(s.high)) for at, s, _ in points])
    marks = "".join(mark(p.regime, at, y.at(s.median), f' data-i="{index_of(p)}"') for at, s, p in points)
    return (
        f'<g class="series c{style.colour}" data-series="{number}">'
        f'<path class="spread" d="{wide}"/><path class="band" d="{tight}"/>'
        f'<polyline points="{line}"{pattern}/>{marks}</g>'
    )


def mark(regime: str, x: float, y: float, attributes: str = "") -> str:
    """A point's mark, which says by its shape what the figure is timed by: round of the device's clock, square of the
    batch's, a triangle of the host's."""
    clock = regime.partition(" ")[0]
    place = f'class="mark" transform="translate({x:.1f} {y:.1f})"{attributes}'
    if clock == "batch":
        return f'<rect {place} x="-2.8" y="-2.8" width="5.6" height="5.6"/>'
    if clock == "host":
        return f'<path {place} d="M-3.4 2.6h6.8l-3.4 -6Z"/>'
    return f'<circle {place} r="3"/>'


def clocks(table: CurveSet) -> str:
    """What the shapes of the marks mean, where the picture has several: "round: device clock, square: batch clock"."""
    shapes = {"device": "round", "batch": "square", "host": "triangle"}
    found = {point.regime.partition(" ")[0] for point in table.flat if point.headline is not None}
    named = [f"{shape}: {clock} clock" for clock, shape in shapes.items() if clock in found]
    return ", ".join(named) if len(named) > 1 else ""


def _band(edges: Sequence[tuple[float, float, float]]) -> str:
    """Closed path along the lower edge and back along the upper; ``edges``: (x, y of low, y of high)."""
    there = [f"{x:.1f} {low:.1f}" for x, low, _ in edges]
    back = [f"{x:.1f} {high:.1f}" for x, _, high in reversed(edges)]
    return f"M{' L'.join(there + back)}Z"
