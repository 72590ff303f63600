"""Displays: how each result is shown in a notebook, said in a line, drawn, and written as a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, singledispatch
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscope.analysis.reproduce import Reproduction
from linkscope.answers.answer import Answer
from linkscope.answers.calibrate import Calibration
from linkscope.answers.questions import ask
from linkscope.answers.topology import topology
from linkscope.displayed import Picture
from linkscope.documents.whole_file import put_whole
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.messages.catalog import message, sentence
from linkscope.notebook.recorded_html import recorded_html
from linkscope.render import html as page
from linkscope.render.svg.plot import plot
from linkscope.report import (
    reproduce_text,
    wording,
)
from linkscope.results.run_file import RunFile


@singledispatch
def html(found: object) -> str:
    """Return what a notebook shows of a result, self-contained."""
    raise TypeError(type(found).__name__)


@singledispatch
def words(found: object) -> str:
    """Return a result in a line."""
    raise TypeError(type(found).__name__)


@singledispatch
def picture(found: object, table: str | None = None) -> Picture:
    """Return a result as a picture; of a run the first table whose title has the word ``table``.

    Raises LinkscopeError where there is nothing to draw.
    """
    raise TypeError(type(found).__name__)


@singledispatch
def write_page(found: object, path: Path, *beside: object) -> None:
    """Write a result as a page, side by side with those ``beside``. Raises LinkscopeError."""
    raise TypeError(type(found).__name__)


@html.register
def _(found: Answer) -> str:
    return page.part(found)


@html.register
def _(found: Node) -> str:
    return page.part(topology(found))


@html.register
def _(found: RunFile) -> str:
    return page.part(ask("show", found))


_PRINTED: dict[type, Callable[[Any, Console], None]] = {
    Reproduction: reproduce_text.show,
}
"""What a terminal prints of a result, and so a notebook."""


def _shown(printed: Callable[[Any, Console], None], found: object) -> str:
    return recorded_html(partial(printed, found))


for _kind, _printed in _PRINTED.items():
    html.register(_kind, partial(_shown, _printed))


@words.register
def _(found: Answer) -> str:
    return " ".join(filter(None, (message(found.headline.code).verdict, sentence(found.headline))))


@words.register
def _(found: RunFile) -> str:
    return f"{wording.cases_on(len(found.rows), found.node)}, {found.path}"


@words.register
def _(found: Node) -> str:
    return sentence(topology(found).headline)


@html.register
def _(found: Calibration) -> str:
    return page.part(found.answer)


@words.register
def _(found: Calibration) -> str:
    return str(words(found.answer))


words.register(Reproduction, reproduce_text.verdict)


@picture.register
def _(found: RunFile, table: str | None = None) -> Picture:
    from linkscope.answers.app import workloads
    from linkscope.render.svg import bars

    run = Run.of(found)
    timed = [one for one in workloads(run) if one.methods.height] if table is None else []
    return bars.draw(timed[0]) if timed else plot(run, table)


@picture.register
def _(found: Node, table: str | None = None) -> Picture:
    from linkscope.render.svg.node import draw

    del table
    return draw(found)


@write_page.register
def _(found: RunFile, path: Path, *beside: RunFile) -> None:
    from linkscope.report.html import write_report

    write_report([found, *beside], path)


@write_page.register
def _(found: Reproduction, path: Path, *beside: object) -> None:
    from linkscope.report.html_study import render_study

    del beside
    try:
        put_whole(path, render_study(found).encode())
    except OSError as error:
        raise LinkscopeError(f"cannot write the page to {path}: {error.strerror or error}") from error
