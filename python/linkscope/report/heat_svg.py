"""A matrix as an SVG of its own: the page's heat map for a notebook or a paper."""

from __future__ import annotations

from html import escape

from linkscope.analysis.matrices import Matrix
from linkscope.report import wording
from linkscope.report.heat import Ink, classes
from linkscope.report.html_sections import Heat, Section

CELL_WIDTH, CELL_HEIGHT = 76, 44
LETTER = 7.2
"""Pixels that a letter of a label takes."""
HEAD, LEGEND, SWATCH = 24, 44, 44
SHORT = "framed: less than expected"
_ARROWS = {"->": "row → column", "<-": "row ← column", "<->": "row ↔ column"}
_DIM, _LINE, _SHORT = "#5c6670", "#d9dde2", "#b3261e"
_NONE = Ink("#ffffff", _DIM)


def heat_svg(section: Section) -> tuple[str, float, float]:
    """(Elements, width, height in pixels) of a matrix's section: figures over their percentage of the peak."""
    table = section.table
    assert isinstance(table, Matrix)
    left = LETTER * max(map(len, table.row_ids)) + 14
    step = max(CELL_WIDTH, LETTER * max(map(len, table.column_ids)) + 10)
    colours = classes("light")
    parts = [_text(left + (j + 0.5) * step, HEAD - 8, name, _DIM, "middle") for j, name in enumerate(table.column_ids)]
    for i, name in enumerate(table.row_ids):
        top = HEAD + i * CELL_HEIGHT
        parts.append(_text(left - 8, top + CELL_HEIGHT / 2 + 4, name, _DIM, "end"))
        parts += [
            _cell(heat, left + j * step, top, step, colours)
            for j, heat in enumerate(section.heat[i])
            if heat is not None
        ]
    width, height = left + step * len(table.column_ids), HEAD + CELL_HEIGHT * len(table.row_ids)
    parts.append(_legend(section, table, left, height, colours))
    return "".join(parts), max(width, left + 560), height + LEGEND


def _cell(heat: Heat, x: float, y: float, width: float, colours: dict[str, Ink]) -> str:
    ink = colours.get(heat.colour, _NONE)
    frame = _SHORT if heat.short else _LINE
    parts = [
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{width - 2:.1f}" height="{CELL_HEIGHT - 2}" rx="3" '
        f'fill="{ink.background}" stroke="{frame}" stroke-width="{2 if heat.short else 1}"/>'
    ]
    middle = x + width / 2
    figure = heat.cell.headline
    if figure is None:
        word = "n/a" if heat.cell.status == "ok" else heat.cell.status
        return "".join([*parts, _text(middle, y + CELL_HEIGHT / 2 + 4, word, ink.text, "middle")])
    share = wording.share(heat.cell) if heat.cell.share is not None else ""
    parts.append(
        _text(
            middle,
            y + CELL_HEIGHT / 2 + (-2 if share else 4),
            wording.value(figure.value.median),
            ink.text,
            "middle",
            600,
        )
    )
    if share:
        parts.append(_text(middle, y + CELL_HEIGHT - 9, share, ink.text, "middle", size=11))
    return "".join(parts)


def _legend(section: Section, table: Matrix, left: float, top: float, colours: dict[str, Ink]) -> str:
    """What the colours, the two axes and the frames mean."""
    y = top + 14
    words = [_ARROWS[table.arrow]] if table.arrow else []
    words += [table.orientation] if table.orientation else []
    words += [SHORT] if any(heat is not None and heat.short for line in section.heat for heat in line) else []
    told = _text(left, y + 30, "; ".join(words), _DIM)
    if section.scale is None:
        return told
    parts = []
    for place, (colour, text) in enumerate(section.scale.ticks):
        x, ink = left + SWATCH * place, colours[colour]
        parts.append(f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="{SWATCH}" height="18" fill="{ink.background}"/>')
        parts.append(_text(x + SWATCH / 2, y + 5, text, ink.text, "middle", size=11))
    meaning = section.scale.words
    return "".join(parts) + _text(left + SWATCH * len(section.scale.ticks) + 8, y + 5, meaning, _DIM) + told


def _text(x: float, y: float, text: str, fill: str, anchor: str = "start", weight: int = 400, size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}">'
        f"{escape(text)}</text>"
    )
