"""HTML: an answer as an element for notebooks, and runs as one self-contained page, both by one template."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import polars
import polars.selectors
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from linkscope.answers.answer import Answer, Column, Table
from linkscope.messages.catalog import commands, message, sentence, verdict
from linkscope.messages.finding import Level
from linkscope.messages.numbers import count
from linkscope.messages.template import fill
from linkscope.render import cells, terminal
from linkscope.render.data import frame_csv
from linkscope.render.svg import curve
from linkscope.render.svg.colours import DARK, LIGHT, variables
from linkscope.render.svg.matrix import heat_map

MOST_ROWS, MOST_FIRST = 200, 40
"""Rows of a table on the page, and of one of a first screen; the CSV has all."""
_WORDS = re.compile(r"[\d.-]+ [KMG]iB|\S*-\S*")
_TONES = {
    **dict.fromkeys(("OK", "SAME", "FASTER", "{side} FASTER", "PASSED"), "fine"),
    **dict.fromkeys(("SLOW", "SLOWER", "{beside} FASTER", "MIXED", "FAILED", "DIFFERS"), "bad"),
}


def part(answer: Answer) -> str:
    """Return an answer as an element that needs nothing around it: its first screen."""
    return template("part.jinja").render(answer=answer, style=_part_style())


def template(name: str) -> Template:
    """Return a template of this folder."""
    return _environment().get_template(name)


def who(answer: Answer) -> str:
    """Return whose results these are: "4 x NVIDIA H200 (h200x4) · 20 Nov 2026 10:04 UTC · 266 cases, data verified"."""
    if not answer.runs:
        return ""
    return " · ".join(filter(None, (terminal.node_name(answer.run), *terminal.about(answer.runs, answer.base))))


@cache
def _environment() -> Environment:
    """Return the templates, compiled once in a process."""
    found = Environment(
        loader=PackageLoader("linkscope.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.filters.update(unbroken=_unbroken, label=lambda code: message(code).label)
    found.globals.update(sentence=sentence, commands=commands, message=message, fill=fill, cells=cells, Level=Level)
    found.globals.update(
        tone=tone, word_of=verdict, rows=_rows, shown_columns=_columns, left_out=_left_out, packed=packed_frame
    )
    found.globals.update(heat_map=heat_map, curves_of=_curves, palette=_palette, who=who, terminal=terminal)
    return found


def _unbroken(text: str) -> Markup:
    """Return a text that is never broken within a size, an arrow or a word with a hyphen; two speeds may be."""
    whole = _WORDS.sub(r'<span class="unbroken">\g<0></span>', str(escape(text)))
    return Markup(f'<span class="speeds">{whole}</span>' if "), " in text else whole)


def tone(answer: Answer) -> str:
    """Return the class of an answer's headline: fine, bad or unknown."""
    return _TONES.get(message(answer.headline.code).verdict, "unknown")


def _columns(table: Table, whole: bool) -> list[Column]:
    """Return the columns that the page shows, without the one that groups its rows."""
    return [one for one in table.columns if one.name != table.group and (whole or not one.detail)]


def _rows(table: Table, whole: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows that the page shows with their texts, and which of them begin a group or are slow."""
    last: dict[str, Any] = {}
    for line in table.frame.head(MOST_ROWS if whole else MOST_FIRST).iter_rows(named=True):
        begins = bool(table.group) and line[table.group] != last.get(table.group)
        texts = {column.name: cells.cell(line, column) for column in _columns(table, whole)}
        blank = {column.name for column in table.columns if column.once and last.get(column.name) == line[column.name]}
        slow = any(column.mark and line[column.mark] in (True, "!") for column in table.columns)
        yield {
            "cells": line,
            "texts": {name: "" if name in blank else text for name, text in texts.items()},
            "group_begins": begins,
            "slow": slow,
        }
        last = line


def _left_out(table: Table, whole: bool) -> str:
    most = MOST_ROWS if whole else MOST_FIRST
    return f"{most} of {count(table.frame.height, 'row')}: CSV has all" if most < table.frame.height else ""


def packed_frame(frame: polars.DataFrame) -> str:
    """Return a frame as packed CSV, with numbers to seven digits."""
    return packed(frame_csv(frame.with_columns(polars.selectors.float().round_sig_figs(7))))


def packed(text: str) -> str:
    """Return a text as gzip in base64, which the page's script unpacks when it is asked for."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _curves(table: Table) -> dict[str, Any]:
    found = curve.curves(table, fill(message(table.key).title, table.facts))
    names = [(number, name, Markup(sample)) for number, name, sample in curve.names(found)]
    return {"svg": Markup(curve.svg(found)), "names": names, "legend": curve.legend(found)}


@cache
def _part_style() -> Markup:
    """Return the style of an element that stands alone: dark on white, as a notebook may be light or dark."""
    card = "padding:10px 14px;font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:#fff"
    sheet = (files("linkscope.render") / "templates" / "answer.css").read_text(encoding="utf-8")
    return Markup(f".linkscope{{color-scheme:light;{variables(LIGHT)}{card};{sheet}}}")


@cache
def _palette() -> Markup:
    """Return the colours of both schemes as CSS; pictures, drawn for light, follow them."""
    pictures = "".join(
        f'svg [fill="{colour}"]{{fill:var(--{name})}}svg [stroke="{colour}"]{{stroke:var(--{name})}}'
        for name, colour in LIGHT.items()
    )
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    return Markup(f":root{{color-scheme:light dark;{variables(LIGHT)}}}{dark}{pictures}")
