"""Consoles: where commands print, with what names of files may do to a terminal made harmless."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment

from linkscope.documents.escaped import escaped


class PlainNames(Console):
    """A console that escapes the control characters of what it prints: names of files may hold any."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(_harmless(segment) for segment in buffer)


def _harmless(segment: Segment) -> Segment:
    if segment.control or segment.text.isprintable() or segment.text == "\n":
        return segment
    lines = (escaped(line) for line in segment.text.split("\n"))
    return Segment("\n".join(lines), segment.style)
