"""The frame of a picture of its own: title, what a reader must know, and the drawing below, on white."""

from __future__ import annotations

import textwrap
from html import escape

from linkscope.displayed import Picture
from linkscope.report.curve_sheet import light_colours

FONT = "'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', 'Liberation Sans', sans-serif"
EDGE, TITLE, LINE = 14, 22, 17
"""Pixels: around the picture, of a line of the title, and of a line of small letters."""
LETTER, TITLE_LETTER = 6.3, 8.2
"""Pixels that a letter takes."""
WIDEST = 800
"""To which a long title may widen a small picture."""


def framed(title: str, mark: str, facts: str, body: str, width: float, height: float) -> Picture:
    """``body``: SVG elements of that size. ``mark``: that the figures are modelled or imported; may be empty."""
    colours = light_colours()
    width = max(width, min(TITLE_LETTER * len(title), WIDEST))
    lines = [(text, TITLE, 15, "ink", 600) for text in textwrap.wrap(title, int(width / TITLE_LETTER))]
    lines += [(mark, LINE, 12, "warn", 600)] if mark else []
    lines += [(text, LINE, 12, "dim", 400) for text in textwrap.wrap(facts, int(width / LETTER))]
    top, texts = EDGE, []
    for text, step, size, colour, weight in lines:
        top += step
        texts.append(
            f'<text x="{EDGE}" y="{top - 5}" font-size="{size}" font-weight="{weight}" fill="{colours[colour]}">'
            f"{escape(text)}</text>"
        )
    top += 6
    whole = f"{width + 2 * EDGE:.0f}", f"{top + height + EDGE:.0f}"
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" width="{whole[0]}" '
        f'height="{whole[1]}" font-family="{FONT}" role="img" aria-label="{escape(title)}">'
        f'<rect width="100%" height="100%" fill="{colours["card"]}"/>{"".join(texts)}'
        f'<g transform="translate({EDGE} {top})">{body}</g></svg>'
    )
    return Picture(title, svg)
