"""Recorded HTML: what a report prints on a terminal, as an element of HTML that needs no style sheet."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console
from rich.terminal_theme import TerminalTheme

WIDTH = 100
"""Characters."""
_INK, _FADED = (27, 31, 36), (157, 167, 177)
_NORMAL = [(27, 31, 36), (179, 38, 30), (0, 116, 90), (122, 75, 0), (11, 90, 148), (140, 60, 115), (0, 105, 120)]
_THEME = TerminalTheme(_FADED, _INK, [*_NORMAL, (92, 102, 112)], [*_NORMAL, (92, 102, 112)])
"""Dark enough to be read on white, since a notebook's own ground may be light or dark. What is dim lies halfway between
ink and the theme's ground: with white as the ground it would be too pale."""
_MARKED = "background-color: #7a4b00", "background-color: #ffe9a8"
"""What is marked is black on yellow, and the theme's yellow is for letters."""
_ELEMENT = (
    '<pre style="margin:0;padding:10px 14px;overflow-x:auto;white-space:pre;color:{foreground};background:#fff;'
    "font:13px/1.45 ui-monospace,'DejaVu Sans Mono','Liberation Mono',monospace\">{code}</pre>"
)


def recorded_html(show: Callable[[Console], object]) -> str:
    """What ``show`` prints, its colours kept and whatever it prints escaped."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=False, force_jupyter=False)
    show(console)
    return console.export_html(theme=_THEME, inline_styles=True, code_format=_ELEMENT).replace(*_MARKED)
