"""Displayed: results that a notebook shows, and that draw themselves and write themselves as pages.

The results know nothing of reports. Each kind of report registers here what it makes of a type of result
(notebook/displays.py does so for all), and the results' methods look it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.picture import Picture


@singledispatch
def html_of(found: object) -> str | None:
    """What a notebook shows of a result, self-contained; None, where nothing is registered, is its repr."""
    del found
    return None


@singledispatch
def picture_of(found: object, table: str | None) -> Picture:
    """A result as a picture; of a run one of its tables, the first whose title has the word ``table``.

    Raises LinkscopeError where there is nothing to draw.
    """
    raise _unknown(found, table)


@singledispatch
def write_page(found: object, path: Path, beside: Sequence[object]) -> None:
    """Writes a result as a page, side by side with those ``beside``. Raises LinkscopeError."""
    raise _unknown(found, path, beside)


def _unknown(found: object, *_: object) -> LinkscopeError:
    return LinkscopeError(f"nothing is known that shows a {type(found).__name__}: `import linkscope.api` first")


@singledispatch
def words_of(found: object) -> str:
    """A result in a sentence."""
    del found
    return ""


class Displayed:
    """A result that a notebook shows as HTML, and a shell in a sentence: its fields would fill screens."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{': '.join(filter(None, (type(self).__name__, words_of(self))))}>"

    def _repr_html_(self) -> str | None:
        return html_of(self)
