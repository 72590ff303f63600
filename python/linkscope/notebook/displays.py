"""Displays: how each result is shown in a notebook, said in a line, drawn, and written as a page."""

from __future__ import annotations

from dataclasses import replace
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

Shown = Answer | RunFile | Node | Calibration


def html(found: Shown) -> str:
    """Return what a notebook shows of a result, self-contained."""
    return part(_answer(found))


def words(found: Shown) -> str:
    """Return a result in a line."""
    if isinstance(found, RunFile):
        return f"{len(found.rows)} cases on {found.node.name}, {found.path}"
    headline = _answer(found).headline
    return " ".join(filter(None, (message(headline.code).verdict, sentence(headline))))


def _answer(found: Shown) -> Answer:
    if isinstance(found, RunFile):
        return replace(ask("show", found), next=(note("page.python"),))
    if isinstance(found, Node):
        return topology(found)
    return found.answer if isinstance(found, Calibration) else found


def picture(found: RunFile | Node, table: str | None = None) -> Picture:
    """Return a result as a picture; of a run the first table whose title has the word ``table``.

    Raises LinkscopeError where there is nothing to draw.
    """
    if isinstance(found, Node):
        return node.draw(found)
    run = Run.of(found)
    timed = [one for one in workloads(run) if one.methods.height] if table is None else []
    return bars.draw(timed[0]) if timed else plot(run, table)


def write_page(found: RunFile | Answer, path: Path, *beside: RunFile) -> None:
    """Write a result as a page; a run side by side with those ``beside``. Raises LinkscopeError."""
    if isinstance(found, Answer):
        page.write(page.page_of(found), path)
    else:
        page.write_page([Run.of(run) for run in (found, *beside)], path)
