"""Printed mark: the lines that tell what linkscope printed in a tool's format from what that tool printed."""

from __future__ import annotations

from linkscope.results.row import origin_name
from linkscope.results.run_file import RunFile

_START = "Printed by linkscope "
_FIRST_LINES = 20
MODELLED = "modelled"


def printed_mark(run: RunFile, tool: str) -> list[str]:
    """Two lines, without a comment sign: who printed this, and whose figures they are. ``tool``: "nvbandwidth 0.8"."""
    origin = origin_name(run.header)
    if run.modelled:
        whose = f"{MODELLED.upper()} on {run.node.name}, not a measurement"
    else:
        whose = f"figures of {origin}" if origin else "linkscope's own figures, not that tool's"
    lines = (
        f"{_START}{run.header['version']} in the format of {tool}",
        f"{whose[0].upper()}{whose[1:]}; intervals: linkscope show {run.path}",
    )
    return ["".join(c if c.isprintable() else "?" for c in line) for line in lines]


def is_marked(text: str) -> bool:
    """Return whether linkscope has printed the text."""
    return any(line.lstrip("# ").startswith(_START) for line in text.split("\n", _FIRST_LINES)[:_FIRST_LINES])
