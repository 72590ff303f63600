"""Bars: the methods of a workload, each a bar as long as its time, in pieces for the parts of that time."""

from __future__ import annotations

from linkscope.answers.app import MOST_METHODS, Workload
from linkscope.displayed import Picture
from linkscope.messages import numbers
from linkscope.messages.catalog import message
from linkscope.messages.template import fill
from linkscope.render.svg.colours import SERIES
from linkscope.render.svg.drawing import LETTER, LINE, element, framed, text, titled
from linkscope.results.member_time import PARTS

_WIDTH, _VALUES, _STEP, _BAR = 560, 90, 26, 16
"""Pixels: of the longest bar, of its time beside it, from bar to bar, and of a bar."""


def draw(one: Workload) -> Picture:
    """Return the methods of a workload as a picture, the fastest first."""
    shown = one.methods.head(MOST_METHODS)
    labels = LETTER * max(map(len, shown["name"]), default=0) + 16
    longest = max(shown["seconds"], default=1.0)
    body, top = "", 0.0
    for line in shown.iter_rows(named=True):
        middle, left = top + _STEP / 2, labels
        body += text(labels - 8, middle + 4, line["name"], anchor="end")
        length = _WIDTH * line["seconds"] / longest
        shares = [(part, line[part]) for part in PARTS if line[part]] or [("", 1.0)]
        for part, share in shares:
            body += _piece(left, middle, length * share, part, share)
            left += length * share
        body += text(left + 8, middle + 4, numbers.time(line["seconds"]))
        top += _STEP
    at = labels
    for part in PARTS:
        if shown[part].is_not_null().any():
            body += _piece(at, top + LINE, 10, part, 1.0) + text(at + 14, top + LINE + 4, part, 12, "dim")
            at += LETTER * len(part) + 30
    facts = fill(message("app.methods").title, one.facts)
    mark = message("app.modelled").line if shown["modelled"].any() else ""
    title = f"{one.facts['workload']}, {numbers.count(one.facts['ranks'], 'rank')}"
    return framed(title, mark, facts, body, labels + _WIDTH + _VALUES, top + 2 * LINE)


def _piece(x: float, middle: float, width: float, part: str, share: float) -> str:
    colour = f"s{PARTS.index(part) % SERIES}" if part else "grey"
    told = titled(f"{part} {numbers.percent(share)}")
    return element("rect", told, x=x, y=middle - _BAR / 2, width=width, height=_BAR, fill=colour)
