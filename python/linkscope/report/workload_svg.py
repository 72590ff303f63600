"""A workload's ways as bars as long as their time, in pieces for its parts; an SVG that says all in words, too."""

from __future__ import annotations

from html import escape

from linkscope.analysis.workloads import TimedWay, WorkloadTable
from linkscope.report import wording
from linkscope.report.workload_text import name, part_words, shown_ways
from linkscope.results.member_time import PARTS

_WIDTH, _LABELS, _VALUES = 900, 300, 110
_STEP, _BAR = 26, 16
_LETTERS = 42
"""Of a label that fits beside the bars."""


def workload_svg(one: WorkloadTable) -> str:
    """Bars of the ways that the table shows; "" where none has a time."""
    ways = shown_ways(one)
    if not ways:
        return ""
    longest = max(way.seconds.median for way in ways)
    room = _WIDTH - _LABELS - _VALUES
    rows = [_row(way, number * _STEP, room * way.seconds.median / longest) for number, way in enumerate(ways)]
    height = len(ways) * _STEP
    return (
        f'<svg class="ways" viewBox="0 0 {_WIDTH} {height}" role="img">'
        f"<title>{escape(_title(one))}</title><desc>{escape(_in_words(ways))}</desc>{''.join(rows)}</svg>"
    )


def parts_shown(one: WorkloadTable) -> list[tuple[int, str]]:
    """Colour (class c0 to c7) and name of every part that any bar has."""
    present = {part for way in shown_ways(one) for part, _ in way.shares}
    return [(number, part) for number, part in enumerate(PARTS) if part in present]


def _row(way: TimedWay, top: float, length: float) -> str:
    middle = top + _STEP / 2
    label = way.name if len(way.name) <= _LETTERS else f"{way.name[: _LETTERS - 1]}…"
    time = wording.time(way.seconds.median)
    pieces = [
        f'<text x="{_LABELS - 8}" y="{middle + 4:g}" text-anchor="end"><title>{escape(way.name)}</title>'
        f"{escape(label)}</text>",
        f'<text x="{_LABELS + length + 8:.1f}" y="{middle + 4:g}" class="value">{escape(time)}</text>',
    ]
    left = float(_LABELS)
    shares = way.shares or (("", 1.0),)
    for part, share in shares:
        width = length * share
        colour = f"c{PARTS.index(part)}" if part else "whole"
        told = f"{way.name}: {part} {wording.percent(share)}" if part else f"{way.name}: {time}"
        pieces.append(
            f'<rect class="{colour}" x="{left:.1f}" y="{middle - _BAR / 2:g}" width="{width:.1f}" height="{_BAR}">'
            f"<title>{escape(told)}</title></rect>"
        )
        left += width
    return "".join(pieces)


def _title(one: WorkloadTable) -> str:
    return f"{name(one)}{', modelled' if one.modelled else ''}"


def _in_words(ways: list[TimedWay]) -> str:
    told = (
        f"{way.name} {wording.time(way.seconds.median)}" + (f" ({part_words(way)})" * bool(way.shares)) for way in ways
    )
    return "; ".join(told)
