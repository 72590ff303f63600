"""Displays: how each result is shown in a notebook, said in a line, drawn, and written as a page."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from pathlib import Path

from linkscope.answers.answer import Answer
from linkscope.answers.app import workloads
from linkscope.answers.calibrate import Calibration
from linkscope.answers.questions import ask
from linkscope.answers.topology import topology
from linkscope.displayed import Picture
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.messages.catalog import message, sentence
from linkscope.messages.finding import note
from linkscope.render import page
from linkscope.render.html import part
from linkscope.render.svg import bars, node
from linkscope.render.svg.plot import plot
from linkscope.results.run_file import RunFile


@singledispatch
def html(found: object) -> str:
    """Return what a notebook shows of a result, self-contained."""
    raise TypeError(type(found).__name__)


@html.register
def _(found: Answer) -> str:
    return part(found)


@html.register
def _(found: RunFile) -> str:
    return part(replace(ask("show", found), next=(note("page.python"),)))


@html.register
def _(found: Node) -> str:
    return part(topology(found))


@html.register
def _(found: Calibration) -> str:
    return part(found.answer)


@singledispatch
def words(found: object) -> str:
    """Return a result in a line."""
    raise TypeError(type(found).__name__)


@words.register
def _(found: Answer) -> str:
    return " ".join(filter(None, (message(found.headline.code).verdict, sentence(found.headline))))


@words.register
def _(found: RunFile) -> str:
    return f"{len(found.rows)} cases on {found.node.name}, {found.path}"


@words.register
def _(found: Node) -> str:
    return sentence(topology(found).headline)


@words.register
def _(found: Calibration) -> str:
    return str(words(found.answer))


@singledispatch
def picture(found: object, table: str | None = None) -> Picture:
    """Return a result as a picture; of a run the first table whose title has the word ``table``.

    Raises LinkscopeError where there is nothing to draw.
    """
    raise TypeError(type(found).__name__)


@picture.register
def _(found: RunFile, table: str | None = None) -> Picture:
    run = Run.of(found)
    timed = [one for one in workloads(run) if one.methods.height] if table is None else []
    return bars.draw(timed[0]) if timed else plot(run, table)


@picture.register
def _(found: Node, table: str | None = None) -> Picture:
    del table
    return node.draw(found)


@singledispatch
def write_page(found: object, path: Path, *beside: object) -> None:
    """Write a result as a page, side by side with those ``beside``. Raises LinkscopeError."""
    raise TypeError(type(found).__name__)


@write_page.register
def _(found: RunFile, path: Path, *beside: RunFile) -> None:
    page.write_page([Run.of(run) for run in (found, *beside)], path)


@write_page.register
def _(found: Answer, path: Path, *beside: object) -> None:
    del beside
    page.write(page.page_of(found), path)
