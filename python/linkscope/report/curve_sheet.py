"""The style of curves that stand outside the page: its style sheets' rules with every variable filled in, so that
programs that know no CSS variables (Inkscape, LibreOffice, TeX) draw them alike."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from linkscope.report.curve_svg import COLOURS

_VARIABLE = re.compile(r"--(\w+):\s*(#[0-9a-fA-F]{3,8})")
_USE = re.compile(r"var\(--(\w+)\)")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_DRAWN = re.compile(r"^(?:svg)?\.(?:curves|series|envelope|middle)[\w .*-]*$")
"""Selectors of what is drawn; those of legends, buttons and states are not."""


def curve_sheet() -> str:
    """The rules, for a light ground."""
    folder = files("linkscope.report") / "templates" / "css"
    colours = light_colours()
    found = _RULE.findall((folder / "curves.css").read_text(encoding="utf-8"))
    return "".join(rule for selectors, body in found for rule in _filled(selectors, body, colours))


def light_colours() -> dict[str, str]:
    """The page's colours by their variables' names."""
    base = (files("linkscope.report") / "templates" / "css" / "base.css").read_text(encoding="utf-8")
    light = base[: base.index("}")]
    return dict(_VARIABLE.findall(light))


def _filled(selectors: str, body: str, colours: dict[str, str]) -> Iterator[str]:
    """A rule, once for each colour of a series where it depends on that."""
    for selector in (one.strip() for one in selectors.split(",")):
        if not _DRAWN.fullmatch(selector) or selector.startswith("svg") or ".off" in selector:
            continue
        if "var(--c)" not in body:
            yield f"{selector}{{{_resolved(body, colours)}}}"
            continue
        for number in range(COLOURS):
            own = selector.replace(".series", f".series.c{number}", 1)
            yield f"{own}{{{_resolved(body, {**colours, 'c': colours[f's{number}']})}}}"


def _resolved(body: str, colours: dict[str, str]) -> str:
    return _USE.sub(lambda use: colours.get(use[1], "currentcolor"), " ".join(body.split()))
