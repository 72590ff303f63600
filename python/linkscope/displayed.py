"""Displayed: results that a notebook shows and that draw themselves, and the picture that they give.

Results know no page and no picture: notebook/displays.py does, and is loaded when something is shown.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from linkscope.documents.typed_call import typed_call
from linkscope.documents.whole_file import put_whole
from linkscope.errors import LinkscopeError

_NO_XML = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")
"""Characters that a text may have and XML may not; control characters are none of a run's texts."""


@dataclass(frozen=True)
class Picture:
    """A whole SVG document that needs no style sheet, font or script. ``title`` says what it shows."""

    title: str
    svg: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "svg", self.svg.translate(_NO_XML))

    def _repr_svg_(self) -> str:
        return self.svg

    @typed_call()
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the SVG to ``path``, which ends in .svg. Raises LinkscopeError."""
        place = Path(path)
        if place.suffix != ".svg":
            raise LinkscopeError(f"cannot save the picture as {place}: choose a name that ends in .svg")
        try:
            put_whole(place, self.svg.encode())
        except OSError as error:
            raise LinkscopeError(f"cannot write {place}: {error.strerror or error}") from error


class Displayed:
    """A result that a notebook shows as HTML, and a shell in a line: its fields would fill screens."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{': '.join(filter(None, (type(self).__name__, displays().words(self))))}>"

    def _repr_html_(self) -> str:
        html: str = displays().html(self)
        return html


def displays() -> Any:
    """Return the module that shows results."""
    return import_module("linkscope.notebook.displays")
