"""Drawing: SVG elements and texts, and the frame of a picture that stands alone: title, facts, the drawing on white."""

from __future__ import annotations

import textwrap
from html import escape

from linkscope.displayed import Picture
from linkscope.render.svg.colours import LIGHT

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', 'Liberation Sans', sans-serif"
EDGE, TITLE, LINE = 14, 22, 17
"""Pixels: around the picture, of a line of the title, and of a line of small letters."""
LETTER, TITLE_LETTER = 6.6, 9.0
"""Pixels that a letter takes."""
WIDEST = 800
"""Pixels to which a long title may widen a small picture."""


def element(tag: str, *inner: str, **attributes: object) -> str:
    """Return an element around ``inner``. Fill and stroke may name a colour of the light palette.

    Floats are rounded to one decimal; an attribute of None is left out.
    """
    texts = {
        name.replace("_", "-"): LIGHT.get(str(value), str(value))
        if name in ("fill", "stroke")
        else f"{value:.1f}".removesuffix(".0")
        if isinstance(value, float)
        else str(value)
        for name, value in attributes.items()
        if value is not None
    }
    words = "".join(f' {name}="{escape(value)}"' for name, value in texts.items())
    return f"<{tag}{words}>{''.join(inner)}</{tag}>" if inner else f"<{tag}{words}/>"


def titled(words: str) -> str:
    """Return what an element says when it is pointed at."""
    return f"<title>{escape(words)}</title>"


def text(
    x: float, y: float, words: str, size: float = 13, colour: str = "ink", weight: int = 400, anchor: str = "start"
) -> str:
    """Return a text element."""
    look = {"font_size": f"{size:g}", "font_weight": weight, "fill": colour, "text_anchor": anchor}
    return element("text", escape(words), x=float(x), y=float(y), **look)


def framed(title: str, mark: str, facts: str, body: str, width: float, height: float) -> Picture:
    """Return a picture of SVG elements of that size. ``mark``: that nothing was measured; may be empty."""
    width = max(width, min(TITLE_LETTER * len(title), WIDEST))
    lines = [(words, TITLE, 15, "ink", 600) for words in textwrap.wrap(title, int(width / TITLE_LETTER))]
    lines += [(mark, LINE, 12, "warn", 600)] if mark else []
    lines += [(words, LINE, 12, "dim", 400) for words in textwrap.wrap(facts, int(width / LETTER))]
    top, heads = float(EDGE), []
    for words, step, size, colour, weight in lines:
        top += step
        heads.append(text(EDGE, top - 5, words, size, colour, weight))
    top += 6
    inner = f'{"".join(heads)}<g transform="translate({EDGE} {top})">{body}</g>'
    return Picture(title, document(title, "", inner, width + 2 * EDGE, top + height + EDGE))


def document(title: str, description: str, body: str, width: float, height: float) -> str:
    """Return a whole SVG document; title and description are for those who do not see it."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    told = titled(title) + (f"<desc>{escape(description)}</desc>" if description else "")
    paper = element("rect", width="100%", height="100%", fill="card")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" role="img">{told}{paper}{body}</svg>\n'
