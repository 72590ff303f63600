"""A matrix as a heat map: its cells with their colours for a page, and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from linkscope.answers.answer import Column, Table
from linkscope.displayed import Picture
from linkscope.messages import numbers
from linkscope.render import cells
from linkscope.render.svg.colours import heat_step
from linkscope.render.svg.drawing import LETTER, element, framed, text

FLOOR = 0.7
"""The palest colour stands for at most this share of the largest value, so that noise looks like noise."""
_WIDTH, _HEIGHT, _HEAD = 76, 44, 24


@dataclass(frozen=True)
class HeatCell:
    """``colour``: "h0" to "h10", "" for none. ``share``: of the peak. ``told``: interval or reason, for who asks."""

    text: str
    colour: str = ""
    slow: bool = False
    share: str = ""
    told: str = ""


@dataclass(frozen=True)
class HeatMap:
    """``rows``: name and cells, None where nothing was measured. ``shares``, ``slow``: whether any cell has one."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell | None, ...]], ...]
    shares: bool
    slow: bool


def heat_map(table: Table) -> HeatMap:
    """Return the cells of a table of layout "matrix"."""
    value = table.columns[2]
    names, columns, lines = cells.matrix_lines(table)
    known = [line[value.name] for line in lines.values() if isinstance(line[value.name], (int, float))]
    low, high = min([*known, FLOOR * max(known)]) if known else 0.0, max(known, default=0.0)
    found = {place: _cell(line, value, low, high) for place, line in lines.items()}
    rows = [(name, tuple(found.get((name, other)) for other in columns)) for name in names]
    shares, slow = (any(getattr(cell, name) for cell in found.values()) for name in ("share", "slow"))
    return HeatMap(tuple(columns), tuple(rows), shares, slow)


def _cell(line: Mapping[str, Any], column: Column, low: float, high: float) -> HeatCell:
    value = line[column.name]
    if value is None:
        return HeatCell(str(line.get("status") or "-"), told=str(line.get("reason") or ""))
    share = line.get("of_peak")
    ratio, interval = line.get("ratio"), cells.interval(line, column)
    told = [f"95% interval {interval}"] if interval else []
    told += [f"{numbers.percent(ratio)} of expected"] if ratio is not None else []
    return HeatCell(
        cells.cell(line, column).removesuffix("!"),
        f"h{heat_step(value, low, high)}" if isinstance(value, (int, float)) else "",
        bool(column.mark and line[column.mark] in (True, "!")),
        numbers.percent(share) if share is not None else "",
        ", ".join(told),
    )


def draw(table: Table, title: str, mark: str, facts: str) -> Picture:
    """Return the heat map as a picture of its own."""
    found = heat_map(table)
    left = 7.4 * max((len(name) for name, _ in found.rows), default=0) + 14
    texts = [cell.text for _, line in found.rows for cell in line if cell is not None]
    step = max(_WIDTH, 7.4 * max(map(len, (*found.columns, *texts)), default=0) + 10)
    parts = [
        text(left + (j + 0.5) * step, _HEAD - 8, name, 13, "dim", 400, "middle") for j, name in enumerate(found.columns)
    ]
    for i, (name, line) in enumerate(found.rows):
        top = _HEAD + i * _HEIGHT
        parts.append(text(left - 8, top + _HEIGHT / 2 + 4, name, 13, "dim", 400, "end"))
        parts += [_drawn(cell, left + j * step, top, step) for j, cell in enumerate(line) if cell is not None]
    height = _HEAD + _HEIGHT * len(found.rows) + 20
    legend = "; ".join([*(["small: % of peak"] if found.shares else []), *(["framed: slow"] if found.slow else [])])
    parts.append(text(left, height - 4, legend, 12, "dim"))
    width = left + max(step * len(found.columns), LETTER * len(legend))
    return framed(title, mark, facts, "".join(parts), width, height)


def _drawn(cell: HeatCell, x: float, y: float, width: float) -> str:
    middle = x + width / 2
    place = {"x": x + 1.0, "y": y + 1.0, "width": width - 2.0, "height": _HEIGHT - 2, "rx": 3}
    frame = {"stroke": "bad", "stroke_width": 2} if cell.slow else {"stroke": "line"}
    box = element("rect", **place, fill=cell.colour or "card", **frame)
    value = text(middle, y + _HEIGHT / 2 + (-2 if cell.share else 4), cell.text, 13, "ink", 600, "middle")
    share = text(middle, y + _HEIGHT - 9, cell.share, 11, "ink", 400, "middle") if cell.share else ""
    return box + value + share
